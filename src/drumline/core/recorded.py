"""An event at its place in the journal."""

from __future__ import annotations

from drumline.core.events import Event
from drumline.core.ids import Stream
from drumline.record import Record


class Recorded(Record):
    """An event with its place: `seq` orders all streams, `version` counts within one, `at` is wall time for people."""

    seq: int
    stream: Stream
    version: int
    at: float
    event: Event
