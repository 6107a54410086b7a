"""What is to be appended, ready to be written: events as rows, and the statements that write them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from drumline.core import codec
from drumline.core.events import Event
from drumline.core.ids import Stream, Token

# A body of more bytes than this goes into the blob table: journal pages stay small, equal bodies are kept once.
BLOB_OVER = 32 * 1024
MOST_AT_ONCE = 50
"""Rows of one statement: an outcome and the next intent go together, a plan's first events stay under every limit."""
ROW = ("run", "step", "version", "kind", "v", "at", "body", "blob")


class Entry(NamedTuple):
    """An event ready to be written; `digest` is set if the body goes into the blob table."""

    kind: str
    body: str
    digest: str | None


class Part(NamedTuple):
    """What a request adds to one stream."""

    stream: Stream
    expected: int | None
    entries: Sequence[Entry]


@dataclass(slots=True)
class Request:
    """One append: it is applied completely or not at all. `outcome` says how it fared once it was written."""

    parts: Sequence[Part]
    token: Token | None
    settles: Sequence[int]
    outcome: int | Exception | None = None


def prepare(event: Event) -> Entry:
    """The event as it will stand in the journal."""
    body = codec.encode(event)
    raw = body.encode() if len(body) * 4 > BLOB_OVER else b""
    digest = hashlib.sha256(raw).hexdigest() if len(raw) > BLOB_OVER else None
    return Entry(type(event).__name__, body, digest)


def row_values(part: Part, version: int) -> list[object]:
    """The columns of a part's events, one after the other."""
    run, step = part.stream
    now = time.time()
    values: list[object] = []
    for number, (kind, body, digest) in enumerate(part.entries, version + 1):
        values += (run, step, number, kind, codec.VERSION, now, body if digest is None else None, digest)
    return values


def small_rows(stream: Stream, version: int, events: Sequence[Event]) -> list[object]:
    """The same for a few small events, at once: nothing if they are not few, or if one might belong into a blob."""
    run, step = stream
    now = time.time()
    values: list[object] = []
    for number, event in enumerate(events if len(events) <= MOST_AT_ONCE else (), version + 1):
        body = codec.encode(event)
        if len(body) * 4 > BLOB_OVER:
            return []
        values += (run, step, number, type(event).__name__, codec.VERSION, now, body, None)
    return values


@cache
def insert_rows(count: int) -> str:
    """One statement for so many events costs less than one for each."""
    return f"INSERT INTO events ({', '.join(ROW)}) {_values(count)}"


@cache
def insert_claimed(count: int) -> str:
    """The same for a step that must be claimed under a token: otherwise nothing is written."""
    claimed = "SELECT 1 FROM claims WHERE run = ? AND step = ? AND token = ?"
    chosen = f"SELECT * FROM ({_values(count)}) WHERE EXISTS ({claimed})"  # noqa: S608 - constants
    return f"INSERT INTO events ({', '.join(ROW)}) {chosen}"


def _values(count: int) -> str:
    places = f"({', '.join('?' * len(ROW))})"
    return f"VALUES {', '.join([places] * count)}"
