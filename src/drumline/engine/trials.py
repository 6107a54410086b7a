"""What a driver still does for steps that are done, beside everything else: it tries mutants of what they landed.

The rule: nothing waits for that but the end of the run, and that only for a while. Until then the claim on the step is
held, so that nobody else works in its workspace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from drumline.core.events import Event
from drumline.core.ids import StepId

PATIENCE = 10.0
SHARE = 0.05
"""How long the end of a run waits: so many seconds, or this share of the time that the driver has worked, if longer."""

Record = Callable[[Event], Awaitable[None]]


class Afterwards(Protocol):
    """What is left to do for a step that is done; cancelled, it tells what it knows by then."""

    async def __call__(self, record: Record) -> None:
        """Do it, and record what came of it."""
        ...


@dataclass(kw_only=True)
class Trials:
    """The steps for which something is left to do. `ended` is called whenever one of them is over."""

    began: float
    ended: Callable[[], None]
    _running: dict[StepId, tuple[anyio.CancelScope, anyio.Event]] = field(default_factory=dict)
    _patient_until: float | None = None

    def start(self, tasks: TaskGroup, step: StepId, work: Callable[[], Awaitable[None]]) -> None:
        """Do this for a step; `work` is always called, and gives the step's claim back."""
        self._running[step] = anyio.CancelScope(), anyio.Event()
        tasks.start_soon(self._run, step, work)

    async def _run(self, step: StepId, work: Callable[[], Awaitable[None]]) -> None:
        scope, over = self._running[step]
        try:
            with scope:
                await work()
        finally:
            del self._running[step]
            over.set()
            self.ended()

    def hold_up(self, now: float) -> float | None:
        """Until when the end of the run waits; None if there is nothing to wait for any more."""
        if not self._running:
            self._patient_until = None
            return None
        if self._patient_until is None:
            self._patient_until = now + max(PATIENCE, SHARE * (now - self.began))
        return self._patient_until if now < self._patient_until else None

    async def stop(self) -> None:
        """Let nothing of it go on."""
        running = list(self._running.values())
        for scope, _ in running:
            scope.cancel()
        for _, over in running:
            await over.wait()
