"""A clock that never waits."""

from __future__ import annotations

import anyio


class FakeClock:
    """Sleeping moves time; nothing else does."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self.time = start

    def now(self) -> float:
        """Seconds since the epoch, as far as this clock knows."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Move on by `seconds` at once, letting other tasks run."""
        self.time += seconds
        await anyio.lowlevel.checkpoint()
