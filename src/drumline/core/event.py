"""What every event is: something that happened. The rule: it is a fact, and is never changed afterwards."""

from __future__ import annotations

from dataclasses import dataclass

PROTOCOL = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happened."""
