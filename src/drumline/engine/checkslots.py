"""Slots for checks: how many run at the same time in one driver, and which of those that wait comes first.

The rule: a free slot goes to the most urgent that waits, and among equals to the one that came first.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import IntEnum
from itertools import count

import anyio


class Urgency(IntEnum):
    """What a check is run for, the most urgent first."""

    LANDING = 0
    STEP = 1
    BASE = 2
    MUTANT = 3


class CheckSlots:
    """As many slots as checks may run at the same time; None for no limit."""

    def __init__(self, number: int | None = None) -> None:
        self._free = number
        self._waiting: list[tuple[int, int, anyio.Event]] = []
        self._ticket = count()

    @asynccontextmanager
    async def take(self, urgency: Urgency) -> AsyncIterator[None]:
        """A slot for the time of the block, waited for."""
        if self._free is None:
            yield
            return
        await self._enter(urgency)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, urgency: Urgency) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        called = anyio.Event()
        entry = (urgency.value, next(self._ticket), called)
        heapq.heappush(self._waiting, entry)
        try:
            await called.wait()
        except BaseException:
            if called.is_set():  # the slot was ours already: somebody else gets it
                self._leave()
            else:
                self._waiting.remove(entry)
                heapq.heapify(self._waiting)
            raise

    def _leave(self) -> None:
        """Give the slot to the most urgent that waits, or free it."""
        if self._waiting:
            heapq.heappop(self._waiting)[2].set()
        elif self._free is not None:
            self._free += 1
