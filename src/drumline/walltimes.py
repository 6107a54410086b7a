"""Wall times as the files of plans write them."""

from __future__ import annotations

from datetime import UTC, datetime


def write_iso(seconds: float) -> str:
    """A wall time as the plan's files write it."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_iso(text: str) -> float | None:
    """The wall time of a claim; a date alone means its beginning; None if it says nothing usable."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
