"""Whether a schema is one that a model's API takes as it is. The rule: a schema in doubt is not handed to it."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.agents.reading import read_list, read_map
from drumline.core.flow.model import Json

PLAIN = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
        "enum",
        "const",
        "description",
        "title",
    }
)
"""What may be in such a schema; others are refused by some version of some API."""


def fits_strict_mode(schema: Mapping[str, Json]) -> bool:
    """Whether the schema is an object whose fields are all required and closed, and so on all the way down."""
    return schema.get("type") == "object" and _is_strict(schema)


def _is_strict(schema: Mapping[str, Json]) -> bool:
    if not schema.keys() <= PLAIN:
        return False
    fields = read_map(schema.get("properties"))
    if schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False
        if not closed or set(fields) != {str(name) for name in read_list(schema.get("required"))}:
            return False
    inner = [*fields.values(), *read_list(schema.get("anyOf"))]
    inner += [schema["items"]] if "items" in schema else []
    return all(_is_strict(read_map(part)) for part in inner)
