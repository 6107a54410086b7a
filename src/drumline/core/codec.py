"""Events as JSON and back. An unknown kind or version stops the reader: guessing would corrupt the fold."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]  # unknown to the stubs
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar, cast

from drumline.core import runevents, stepevents
from drumline.core.event import Event
from drumline.core.flow import events as flow_events
from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Status, Step
from drumline.errors import StoreError

VERSION = 1
_LISTS = frozenset({"needs", "files", "not_run", "manual"})
E = TypeVar("E", bound=Event)


def _kinds(module: ModuleType) -> Mapping[str, type[Event]]:
    found = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Event) and value is not Event
    }
    return MappingProxyType(found)


KINDS = MappingProxyType({**_kinds(runevents), **_kinds(stepevents)})
FLOW_KINDS = _kinds(flow_events)
_KNOWN = {**KINDS, **FLOW_KINDS}


def encode(event: Event) -> str:
    """The event's body as compact JSON, without its kind and without fields at their default."""
    fields = _FIELDS[type(event).__name__]
    return "".join(_chunks({name: value for name, usual in fields if (value := getattr(event, name)) != usual}, 0))


def decode(kind: str, version: int, body: str) -> Event:
    """The event that `encode` wrote, or StoreError naming what is unknown."""
    return _build(kind, version, json.loads(body))


def decode_all(entries: Sequence[tuple[str, int, str]]) -> list[Event]:
    """Many events at once; ValueError if the bodies are not one JSON value each.

    Parsing them in one go costs a third of parsing each by itself, and a long run has ten thousands.
    """
    raws = json.loads(f"[{','.join(body for _, _, body in entries)}]")
    return [_build(kind, version, raw) for (kind, version, _), raw in zip(entries, raws, strict=True)]


def _build(kind: str, version: int, raw: dict[str, Any]) -> Event:
    cls = _KNOWN.get(kind)
    if cls is None or version > VERSION:
        raise StoreError(
            f"the journal holds an event this version does not know: {kind!r} version {version}",
            hint="upgrade Drumline; nothing was changed",
        )
    try:
        for name, convert in _CONVERTERS[kind]:
            if raw.get(name) is not None:
                raw[name] = convert(raw[name])
        return cls(**raw)
    except (TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"the journal holds a {kind!r} event with fields or values this version does not know: {error}",
            hint="upgrade Drumline; nothing was changed",
        ) from error


def to_plain(record: Event | Step | Marks) -> dict[str, Any]:
    """An event, a step or marks as plain data."""
    if isinstance(record, Event):
        fields = _FIELDS[type(record).__name__]
        return {name: _plain(value) for name, usual in fields if (value := getattr(record, name)) != usual}
    found: dict[str, Any] = _plain(record)
    return found


def from_plain(kind: type[E], raw: dict[str, Any]) -> E:
    """The event of this kind that `to_plain` took apart."""
    return cast(E, _build(kind.__name__, VERSION, raw))


def step_to_json(step: Step) -> dict[str, Any]:
    """A step's definition as plain data; fields at their default are left out."""
    found: dict[str, Any] = {}
    for f in dataclasses.fields(Step):
        value = getattr(step, f.name)
        if value != f.default:
            found[f.name] = _plain(value)
    return found


def step_from_json(raw: Mapping[str, Any]) -> Step:
    """The step that `step_to_json` wrote."""
    data = dict(raw)
    if "checks" in data:
        data["checks"] = tuple([Check(**check) for check in data["checks"]])
    for name in _LISTS & data.keys():
        data[name] = tuple(data[name])
    return Step(**data)


def marks_from_json(raw: Mapping[str, Any]) -> Marks:
    """The marks that `encode` wrote."""
    return _marks(**raw)


@lru_cache(maxsize=1024)
def _marks(status: str, assignee: str = "", claimed_at: str = "", reason: str = "") -> Marks:
    """Kept: nearly all steps of a plan have equal marks."""
    return Marks(status=Status(status), assignee=assignee, claimed_at=claimed_at, reason=reason)


def _plain(value: object) -> Any:
    match value:
        case str() | int() | float() | None:
            return value
        case Step():
            return step_to_json(value)
        case Status():
            return value.value
        case tuple() | list():
            return [_plain(v) for v in value]
        case Mapping():
            return {str(k): _plain(v) for k, v in value.items()}
        case _:
            return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}  # type: ignore[arg-type]


def _converters(cls: type[Event]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """How the JSON value of a field becomes the field's value, for the fields where they differ."""
    found: list[tuple[str, Callable[[Any], Any]]] = []
    for f in dataclasses.fields(cls):
        annotation = str(f.type)
        if annotation.startswith("tuple[Step, "):
            found.append((f.name, lambda raw: tuple(step_from_json(s) for s in raw)))
        elif annotation.startswith("tuple[StepId"):
            found.append((f.name, lambda raw: tuple(StepId(s) for s in raw)))
        elif annotation.startswith("tuple["):
            found.append((f.name, tuple))
        elif annotation == "Mapping[str, Marks]":
            found.append((f.name, lambda raw: {k: marks_from_json(v) for k, v in raw.items()}))
        elif annotation == "Marks":
            found.append((f.name, marks_from_json))
    return tuple(found)


def _usual(field: dataclasses.Field[Any]) -> object:
    """The value a field has when nothing is said of it."""
    return field.default_factory() if callable(field.default_factory) else field.default


# Made once: every append pays for encoding. `_plain` is asked only for what JSON itself does not know.
# What `JSONEncoder.encode` makes anew for every call, where the C accelerator is there, and itself where it is not.
_chunks: Callable[[object, int], Iterable[str]] = (
    c_make_encoder(None, _plain, encode_basestring, None, ":", ",", False, False, True)
    if c_make_encoder is not None
    else lambda value, _: json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=_plain).iterencode(value)
)
_FIELDS = {kind: tuple((f.name, _usual(f)) for f in dataclasses.fields(cls)) for kind, cls in _KNOWN.items()}
_CONVERTERS = {kind: _converters(cls) for kind, cls in _KNOWN.items()}
