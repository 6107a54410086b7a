"""Events as JSON and back. An unknown kind or version stops the reader: guessing would corrupt the fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar, cast

from drumline.core import gateevents, planevents, queueevents, reviewevents, runevents, stepevents
from drumline.core.event import Event
from drumline.core.flow import events as flow_events
from drumline.errors import UnknownEvent
from drumline.record import DecodeError, Decoder, Record, ValidationError, convert, encode_json

VERSION = 1
R = TypeVar("R", bound=Record)


def _kinds(module: ModuleType) -> Mapping[str, type[Event]]:
    found = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Event) and value is not Event
    }
    return MappingProxyType(found)


_MODULES = (runevents, planevents, gateevents, queueevents, reviewevents, stepevents)
KINDS = MappingProxyType({name: kind for module in _MODULES for name, kind in _kinds(module).items()})
FLOW_KINDS = _kinds(flow_events)
_KNOWN = {**KINDS, **FLOW_KINDS}
_FORMER: Mapping[str, tuple[type[Event], Mapping[str, object]]] = MappingProxyType(
    {
        "AgentAsked": (stepevents.AttemptStarted, {"attempt": 0, "by_visit": True}),
        "SessionNamed": (stepevents.SessionOpened, {}),
        "NodeSuspended": (stepevents.AttemptEnded, {"attempt": 0, "waits": True}),
    }
)
"""Events of flows in earlier journals, with what stands for them now."""
_RENAMED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"AttemptStarted": {"relayed": "by_visit"}, "GateOpened": {"detail": ""}, "RunStarted": {"config_digest": ""}}
)
"""Fields that have another name in earlier journals, or are not read any more."""


def encode(event: Event) -> str:
    """The event's body as compact JSON, without its kind and without fields that were left at their default."""
    return encode_json(event).decode()


def decode(kind: str, version: int, body: str) -> Event:
    """The event that `encode` wrote, UnknownEvent naming what is unknown, or ValueError if the body is not JSON."""
    if kind in _FORMER and version == VERSION:
        return _upgrade(kind, body)
    if version > VERSION or kind not in _KNOWN:
        raise UnknownEvent(
            f"the journal holds an event this version does not know: {kind!r} version {version}",
            hint="upgrade Drumline; nothing was changed",
        )
    try:
        return _decoder(kind)(body)
    except ValidationError as error:
        if kind in _RENAMED and any(f'"{name}"' in body for name in _RENAMED[kind]):
            return _rename(kind, body)
        raise _unknown_fields(kind, error) from error
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _upgrade(kind: str, body: str) -> Event:
    """An attempt in a flow as journals had it when flows had events of their own for that; it has no number."""
    try:
        raw = Decoder(dict[str, Any]).decode(body)
        return convert({**_FORMER[kind][1], **raw}, _FORMER[kind][0])
    except ValidationError as error:
        raise _unknown_fields(kind, error) from error
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _rename(kind: str, body: str) -> Event:
    """An event whose fields have the names of an earlier journal."""
    names, raw = _RENAMED[kind], Decoder(dict[str, Any]).decode(body)
    known = {names.get(name, name): value for name, value in raw.items()}
    return from_plain(_KNOWN[kind], {name: value for name, value in known.items() if name})


def decode_all(entries: Sequence[tuple[str, int, str]]) -> list[Event]:
    """Many events at once; ValueError if one of the bodies is not JSON."""
    return [decode(*entry) for entry in entries]


def from_plain(kind: type[R], raw: dict[str, Any]) -> R:
    """The record of this kind that `to_plain` took apart."""
    try:
        return convert(raw, kind)
    except ValidationError as error:
        raise _unknown_fields(kind.__name__, error) from error


def _unknown_fields(kind: str, error: ValidationError) -> UnknownEvent:
    return UnknownEvent(
        f"the journal holds a {kind!r} event with fields or values this version does not know: {error}",
        hint="upgrade Drumline; nothing was changed",
    )


@cache
def _decoder(kind: str) -> Callable[[str], Event]:
    """Made when the first event of its kind is read: it looks up the types of all fields."""
    return cast("Callable[[str], Event]", Decoder(_KNOWN[kind]).decode)
