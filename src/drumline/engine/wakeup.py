"""Waits for a driver until there is something to do. The rule: it polls one number of the store, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from drumline.ports.clock import Clock

POLL = 0.2
"""Seconds between two looks at the store's position while idle."""
LOOK_ROUND = 2.0
"""Seconds between two looks at the plan's files and at other drivers while nothing happens in the store."""


@dataclass(kw_only=True)
class Wakeup:
    """Wakes a driver when one of its walks ends, when somebody writes to the store, and at a time it has set."""

    clock: Clock
    position: Callable[[], int]
    alarm: float | None = None
    _called: anyio.Event = field(default_factory=anyio.Event)

    def call(self) -> None:
        """Wake the driver."""
        self._called.set()

    async def wait_called(self, seconds: float) -> bool:
        """Wait until somebody calls, at most this long; whether somebody did."""
        with anyio.move_on_after(seconds):
            await self._called.wait()
        called = self._called.is_set()
        if called:
            self._called = anyio.Event()
        return called

    async def wait(self) -> None:
        """Wait until somebody calls or writes, the alarm rings, or it is time to look at files and drivers again."""
        if self.alarm is None:
            await self._watch()
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ring, self.alarm)
            await self._watch()
            tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        before = self.position()
        for _ in range(int(LOOK_ROUND / POLL)):
            if await self.wait_called(POLL) or self.position() != before:
                return

    async def _ring(self, at: float) -> None:
        await self.clock.sleep(max(0.0, at - self.clock.now()))
        self.call()
