"""Looking into JSON that a foreign program printed: what is not of the kind expected counts as not there."""

from __future__ import annotations

import json
from collections.abc import Mapping

from drumline.core.flow.model import Json


def read_map(value: Json) -> Mapping[str, Json]:
    """The object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def read_list(value: Json) -> list[Json]:
    """The list, or an empty one."""
    return list(value) if isinstance(value, list | tuple) else []


def read_text(value: Json) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def read_number(value: Json) -> float:
    """The number, or zero."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def unwrap_error(text: str) -> str:
    """The sentence in an error that a program prints as the JSON that its service answered; else the text itself."""
    error = read_map(read_map(read_value(text)).get("error")) if text.lstrip().startswith("{") else {}
    return read_text(error.get("message")) or text


def read_value(text: str) -> Json:
    """The value that a text is the JSON of, or None; nobody has looked yet whether it fits."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
