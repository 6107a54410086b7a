"""Time, as an argument."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall time for people, waiting for timers."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...
