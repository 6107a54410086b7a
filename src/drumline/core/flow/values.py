"""JSON values of a flow: how a path finds one and how one is written as text.

Nothing here changes a value: what a node reads is exactly what an event wrote.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias, TypeGuard, cast

from drumline.core.flow.model import Json

Step: TypeAlias = "str | int"


class Missing(Enum):
    """What a path finds where nothing is; None is a value."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING

_PART = re.compile(r"([a-zA-Z0-9_]+)((?:\[[0-9]+\])*)")
_INDEX = re.compile(r"[0-9]+")
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=lambda value: _plain(value))


def is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    """Whether the value is a JSON array: a string is a sequence too, but not that."""
    return isinstance(value, list | tuple)


@lru_cache(maxsize=4096)
def parse_path(text: str) -> tuple[Step, ...] | None:
    """The keys and indexes of `a.b[0].c`; None for a path that can never find anything."""
    steps: list[Step] = []
    for part in text.split("."):
        found = _PART.fullmatch(part)
        if found is None:
            return None
        steps.append(found[1])
        steps.extend(int(index) for index in _INDEX.findall(found[2]))
    return tuple(steps)


def look_up(values: Mapping[str, Json], path: str) -> Json | Missing:
    """The value at a path; MISSING for an unknown key, an index out of range or a step into what has no parts."""
    steps = parse_path(path)
    if steps is None:
        return MISSING
    found: Json = values
    for step in steps:
        inner = _enter(found, step)
        if inner is MISSING:
            return MISSING
        found = inner
    return found


def _enter(value: Json, step: Step) -> Json | Missing:
    if isinstance(step, str):
        return value[step] if isinstance(value, Mapping) and step in value else MISSING
    return value[step] if is_list(value) and step < len(value) else MISSING


def overlay(*layers: Mapping[str, Json]) -> Mapping[str, Json]:
    """All layers as one, to be read only; the first that has a key decides. Nothing is copied."""
    return ChainMap(*cast("tuple[MutableMapping[str, Json], ...]", layers))


def render(value: Json) -> str:
    """Text as it is; everything else as compact JSON, in which 3.0 stays `3.0`."""
    return value if isinstance(value, str) else _JSON.encode(value)


def name_type(value: Json) -> str:
    """The word JSON has for the value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def _plain(value: object) -> object:
    """What the JSON encoder does not know by itself: mappings that are not dicts, such as a view of two."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")
