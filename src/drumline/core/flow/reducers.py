"""Reducers: how a write to a key joins what the key holds already. A key without one is simply set.

Pure functions over JSON values; neither argument is changed. A current value of null is a value, not an absent one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from drumline.core.flow.model import Json
from drumline.core.flow.values import MISSING, Missing, is_list, name_type
from drumline.errors import InvalidInput

Current: TypeAlias = "Json | Missing"
Reducer: TypeAlias = "Callable[[Current, Json], Json]"


def reduce_value(name: str, current: Current, incoming: Json) -> Json:
    """What the key holds afterwards; InvalidInput if a value has the wrong type for the reducer."""
    return BY_NAME[name](current, incoming)


def _append(current: Current, incoming: Json) -> Json:
    if current is MISSING:
        return [incoming]
    return [*_need_list("append", current, "current"), incoming]


def _extend(current: Current, incoming: Json) -> Json:
    added = _need_list("extend", incoming, "incoming")
    return list(added) if current is MISSING else [*_need_list("extend", current, "current"), *added]


def _concat(current: Current, incoming: Json) -> Json:
    added = _need_text(incoming, "incoming")
    before = "" if current is MISSING else _need_text(current, "current")
    return f"{before}\n{added}" if before else added


def _sum(current: Current, incoming: Json) -> Json:
    added = _need_number("sum", incoming, "incoming")
    return _whole(added if current is MISSING else _need_number("sum", current, "current") + added)


def _max(current: Current, incoming: Json) -> Json:
    added = _need_number("max", incoming, "incoming")
    return _whole(added if current is MISSING else max(_need_number("max", current, "current"), added))


def _min(current: Current, incoming: Json) -> Json:
    added = _need_number("min", incoming, "incoming")
    return _whole(added if current is MISSING else min(_need_number("min", current, "current"), added))


def _merge(current: Current, incoming: Json) -> Json:
    added = _need_object(incoming, "incoming")
    return dict(added) if current is MISSING else {**_need_object(current, "current"), **added}


def _overwrite(current: Current, incoming: Json) -> Json:
    return incoming


BY_NAME: Mapping[str, Reducer] = MappingProxyType(
    {
        "append": _append,
        "extend": _extend,
        "concat": _concat,
        "sum": _sum,
        "max": _max,
        "min": _min,
        "merge": _merge,
        "overwrite": _overwrite,
    }
)


def _whole(number: float) -> int | float:
    """A whole result is stored as an integer; integers themselves are added exactly."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _need_list(name: str, value: Json, side: str) -> Sequence[Json]:
    if is_list(value):
        return value
    raise _mismatch(name, "an array", value, side)


def _need_text(value: Json, side: str) -> str:
    if isinstance(value, str):
        return value
    raise _mismatch("concat", "a string", value, side)


def _need_number(name: str, value: Json, side: str) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise _mismatch(name, "a number", value, side)


def _need_object(value: Json, side: str) -> Mapping[str, Json]:
    if isinstance(value, Mapping):
        return value
    raise _mismatch("merge", "an object", value, side)


def _mismatch(name: str, wanted: str, value: Json, side: str) -> InvalidInput:
    return InvalidInput(
        f"reducer '{name}' requires {wanted} for the {side} value, got {name_type(value)}",
        hint="correct `reducers` or the node that writes the key, then: drumline flow validate FILE",
    )
