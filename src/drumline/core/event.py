"""What every event is: something that happened. The rule: it is a fact, and is never changed afterwards."""

from __future__ import annotations

from drumline.record import Record

PROTOCOL = 1


class Event(Record, omit_defaults=True, forbid_unknown_fields=True):
    """Something that happened."""
