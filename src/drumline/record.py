"""The record: an immutable value with named fields, and its way to JSON and back.

Events, plans, settings and what functions return are records. This is the only module that knows msgspec, which
defines them: a process that defines hundreds at its start must not spend its time on that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, dataclass_transform

import msgspec
from msgspec import NODEFAULT, DecodeError, ValidationError, convert, field
from msgspec.json import Decoder
from msgspec.structs import FieldInfo, asdict, fields, force_setattr, replace

__all__ = [
    "NODEFAULT",
    "DecodeError",
    "Decoder",
    "FieldInfo",
    "Record",
    "State",
    "ValidationError",
    "asdict",
    "convert",
    "encode_json",
    "field",
    "fields",
    "force_setattr",
    "replace",
    "schema_of",
    "to_plain",
]


class _RecordMeta(msgspec.StructMeta):
    """Fields are given by name: msgspec asks for that in each class, and does not pass it on to subclasses."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        return super().__new__(mcls, name, bases, namespace, **{"kw_only": True, **options})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Record(msgspec.Struct, metaclass=_RecordMeta, frozen=True):
    """Base of all records. It is compared and hashed by its fields; `replace` makes a changed copy."""


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class State(msgspec.Struct, metaclass=_RecordMeta):
    """Base of what changes over time, such as the state of a fold; a dataclass takes thirty times as long to define."""


def to_plain(record: Record) -> dict[str, Any]:
    """The record and everything in it as plain data: mappings, lists, texts and numbers."""
    found: dict[str, Any] = msgspec.json.decode(encode_json(record))
    return found


def _plain(value: object) -> object:
    """What msgspec does not know by itself: views of mappings."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__!r} cannot be written as JSON")


encode_json = msgspec.json.Encoder(enc_hook=_plain).encode


def schema_of(record: type[Record]) -> dict[str, Any]:
    """The JSON Schema of what `to_plain` gives of such records."""
    return msgspec.json.schema(record, schema_hook=lambda kind: {"type": "string"})
