"""Templates: `{{path}}` in text is replaced by the value at that path.

One pass: text that came from a value is never looked at again, so a value cannot smuggle in a reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from drumline.core.flow.model import Json
from drumline.core.flow.values import MISSING, look_up, render
from drumline.errors import InvalidInput

_REFERENCE = re.compile(r"\{\{([a-zA-Z0-9_.\[\]]+)\}\}")
_SHOW_STATE = "drumline logs --state"


@lru_cache(maxsize=4096)
def split_template(text: str) -> tuple[str, ...]:
    """Literal and path in turns, beginning and ending with a literal that may be empty."""
    return tuple(_REFERENCE.split(text))


def list_references(text: str) -> tuple[str, ...]:
    """The paths a template reads, each once, in order."""
    return tuple(dict.fromkeys(split_template(text)[1::2]))


def render_strict(text: str, values: Mapping[str, Json]) -> str:
    """The text with every reference replaced; InvalidInput naming all paths that lead nowhere."""
    missing: list[str] = []
    rendered = _fill(text, values, missing)
    if missing:
        raise _refuse(missing)
    return rendered


def render_lenient(text: str, values: Mapping[str, Json]) -> str:
    """The text with every reference replaced; a path that leads nowhere becomes nothing."""
    return _fill(text, values, [])


def resolve_raw(text: str, values: Mapping[str, Json]) -> Json:
    """The value itself, type and all, if the text is one reference and nothing else; otherwise strict text."""
    parts = split_template(text.strip())
    if len(parts) != 3 or parts[0] or parts[2]:
        return render_strict(text, values)
    found = look_up(values, parts[1])
    if found is MISSING:
        raise _refuse([parts[1]])
    return found


def resolve_all(value: Json, values: Mapping[str, Json]) -> Json:
    """The value with every text inside it resolved as `resolve_raw` does."""
    if isinstance(value, str):
        return resolve_raw(value, values)
    if isinstance(value, Mapping):
        return {key: resolve_all(inner, values) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_all(inner, values) for inner in value]
    return value


def _fill(text: str, values: Mapping[str, Json], missing: list[str]) -> str:
    parts = split_template(text)
    if len(parts) == 1:
        return text
    filled = list(parts)
    for place in range(1, len(parts), 2):
        found = look_up(values, parts[place])
        if found is MISSING:
            filled[place] = ""
            missing.append(parts[place])
        else:
            filled[place] = render(found)
    return "".join(filled)


def _refuse(missing: list[str]) -> InvalidInput:
    names = ", ".join(f"'{path}'" for path in dict.fromkeys(missing))
    return InvalidInput(f"Template interpolation failed: {names} not found in state", hint=_SHOW_STATE)
