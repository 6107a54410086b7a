"""Counts what an agent uses while it works. The rule: it is kept as it comes, also if the work is cut short."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import anyio
import anyio.to_thread

from drumline.core.spending import COST
from drumline.engine.services import Price
from drumline.errors import Conflict, StaleToken
from drumline.ports.agents import Happening, Outcome
from drumline.record import replace

EVERY = 1.0
"""Seconds between two counts that are kept: some agents tell theirs with every word."""

Keep = Callable[[Mapping[str, float], float], Awaitable[None]]
"""Takes what was used so far, with its price if that is known, and the seconds since the work began."""


class Meter:
    """Hears what one agent tells of its usage, and hands it on to be kept."""

    def __init__(self, keep: Keep, *, price: Price, model: str, now: Callable[[], float]) -> None:
        self._keep = keep
        self._price = price
        self._model = model
        self._now = now
        self._began = now()
        self._session = ""
        self._kept_at = float("-inf")
        self._usage: Mapping[str, float] = {}
        self._kept: Mapping[str, float] = {}

    async def hear(self, happening: Happening) -> None:
        """Take in what happened; the text of a usage is the model's name, where the agent knows it."""
        if happening.kind == "session":
            self._session = happening.text
        if happening.kind != "usage":
            return
        self._usage, self._model = happening.usage, happening.text or self._model
        if self._now() - self._kept_at >= EVERY:
            await self._hand_on()

    def describe(self, outcome: Outcome) -> Outcome:
        """The outcome of work that was stopped, with what was told of it on the way."""
        return replace(outcome, usage=self._usage, session=self._session, model=self._model)

    @contextlib.asynccontextmanager
    async def guard(self) -> AsyncIterator[None]:
        """Whatever cuts the work in this block short, what was used by then is kept."""
        try:
            yield
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), contextlib.suppress(Conflict, StaleToken):
                await self._hand_on()
            raise

    async def _hand_on(self) -> None:
        if self._usage == self._kept:
            return
        self._kept, self._kept_at = self._usage, self._now()
        priced = await add_price(self._price, self._model, self._usage)
        await self._keep(priced, round(max(0.0, self._kept_at - self._began), 3))


async def add_price(price: Price, model: str, usage: Mapping[str, float]) -> Mapping[str, float]:
    """The usage with what it cost, if the agent did not say but the price of its model is known."""
    if not model or not usage or COST in usage:
        return usage
    cost = await anyio.to_thread.run_sync(price, model, usage)
    return usage if cost is None else {**usage, COST: cost}
