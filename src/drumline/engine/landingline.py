"""The landing queue of a run as one step sees it: read from the journal, whatever the driver has folded by now.

The rule: what this step has said and not yet recorded counts as well; what others said counts once it is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from drumline.core.event import Event
from drumline.core.ids import StepId, Stream
from drumline.core.queue import KINDS, Line, Queue, fold_queue
from drumline.core.state import RunState
from drumline.ports.journal import Store
from drumline.ports.roster import Roster, Standing

POLL = 0.02
"""Seconds between two looks at the store's position while a step waits for its turn."""
LOOK_ROUND = 2.0
"""Seconds after which a step looks again at who holds claims."""
_NAMES = [kind.__name__ for kind in KINDS]


@dataclass(kw_only=True)
class LandingLine:
    """The queue for one claimed step."""

    store: Store
    roster: Roster
    run: RunState
    _queue: Queue = field(default_factory=Queue)
    _version: int = -1
    _position: int = -1
    _said: list[Event] = field(default_factory=list)

    def look(self) -> Line:
        """The queue as it is now."""
        self._position = self.store.position()
        if self._version < self.run.version:
            self._queue, self._version = self.run.queue, self.run.version
        for entry in self.store.read(Stream(self.run.id), after=self._version, kinds=_NAMES):
            self._queue, self._version = fold_queue(self._queue, entry.event), entry.version
        queue = self._queue
        for event in self._said:
            queue = fold_queue(queue, event)
        return Line(queue=queue, claimed=self._list_held() if queue.tickets else None)

    def _list_held(self) -> frozenset[StepId]:
        """The steps that drivers hold which are there. Some dead ones cannot be evicted: they hold up nobody."""
        claims = self.store.list_claims(self.run.id)
        dead = {
            driver
            for driver in {claim.driver for claim in claims.values()}
            if self.roster.standing(driver) is Standing.DEAD
        }
        return frozenset(step for step, claim in claims.items() if claim.driver not in dead)

    def say(self, events: Sequence[Event]) -> None:
        """Let events count that are recorded with the next append."""
        self._said += [event for event in events if type(event) in KINDS]

    def settle(self) -> None:
        """What was said is recorded."""
        self._said.clear()

    async def wait(self) -> None:
        """Wait until something was recorded since the last look, or it is time to look at claims again."""
        with anyio.move_on_after(LOOK_ROUND):
            while self.store.position() == self._position:  # noqa: ASYNC110 - other processes write, too
                await anyio.sleep(POLL)
