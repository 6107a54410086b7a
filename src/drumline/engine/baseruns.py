"""What checks say about trees without any work, known once for all steps of a driver that begin on the same tree.

The rule: a verdict is known by tree, command and setup; whoever wants one that is being found waits for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio

from drumline.core.ids import Tree
from drumline.engine.basecache import BaseCache


class BaseKey(NamedTuple):
    """What a verdict is known by; the environment is that of the driver."""

    tree: Tree
    command: str
    setup: str


@dataclass(kw_only=True)
class BaseRuns:
    """The verdicts that are known, and how long commands took at most; `cache` has those of other drivers."""

    cache: BaseCache | None = None
    _known: dict[BaseKey, object] = field(default_factory=dict)
    _running: dict[BaseKey, anyio.Event] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)

    def is_wanted(self, key: BaseKey) -> bool:
        """Whether nobody knows the verdict or is about to."""
        return key not in self._known and key not in self._running

    async def find(self, key: BaseKey) -> object | None:
        """The verdict, once it is there; None if nobody finds it."""
        if key in self._running:
            await self._running[key].wait()
        return self._known.get(key)

    @asynccontextmanager
    async def finding(self, key: BaseKey) -> AsyncIterator[None]:
        """Let others wait for the verdict within the block."""
        over = self._running[key] = anyio.Event()
        try:
            yield
        finally:
            del self._running[key]
            over.set()

    def keep(self, key: BaseKey, verdict: object) -> None:
        """Remember a verdict."""
        self._known[key] = verdict

    def note(self, command: str, seconds: float) -> None:
        """Remember how long a command took."""
        self._seconds[command] = max(seconds, self._seconds.get(command, 0.0))

    def tell_seconds(self, command: str) -> float:
        """How long a command took at most, as far as this driver knows."""
        return self._seconds.get(command, 0.0)
