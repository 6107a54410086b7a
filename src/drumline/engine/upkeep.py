"""What a driver does for a run beside its steps, which differs by kind: a plan has files and a branch, a flow has none.

The rule: what is decided is the same for every kind of run; here is only what there is to look at and to bring up to
date, and how a step that was claimed is walked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Protocol

from drumline.core import events as ev
from drumline.core.commands import SettleBranch
from drumline.core.ids import DriverId, RunId, StepId, Token
from drumline.core.plan import Step
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.engine.trials import Afterwards
from drumline.ports.clock import Clock
from drumline.ports.journal import Claim, Recorded, Store
from drumline.ports.roster import Roster


class StepWalk(Protocol):
    """One driver's hold on one step, under the token of its claim."""

    @property
    def step(self) -> StepId:
        """The step."""
        ...

    @property
    def token(self) -> Token:
        """The claim's token."""
        ...

    @property
    def afterwards(self) -> Afterwards | None:
        """What is left to do once the step is done; None if there is nothing, or if it is not done."""
        ...

    @property
    def was_refused(self) -> bool:
        """Whether a landing was refused."""
        ...

    async def go(self, opening: list[ev.Event]) -> None:
        """Walk until the step is finished or given back. `opening` are events for the run's stream."""
        ...

    async def conclude_landing(self) -> None:
        """Record the landing that a dead driver made and did not record."""
        ...

    def stir(self) -> None:
        """Something was recorded about the run, or said to it, that the walk may wait for."""
        ...


class Upkeep(Protocol):
    """One kind of run as its driver sees it."""

    store: Store
    roster: Roster
    clock: Clock
    keeps_books: bool

    def equip(self, driver: DriverId) -> None:
        """Open what belongs to a driver that has just joined."""
        ...

    def open_walk(self, run: RunState, step: Step, token: Token) -> StepWalk:
        """What walks a step that was claimed under this token."""
        ...

    def note(self, recorded: Sequence[Recorded]) -> None:
        """Take in what happened."""
        ...

    def watch(self, run: RunState, held: Mapping[StepId, Claim]) -> Sequence[ev.Event]:
        """What changed outside since the last look, as events."""
        ...

    def mirror(self, run: RunState, held: Mapping[StepId, Claim], walks: Iterable[StepId]) -> AsyncGenerator[ev.Event]:
        """Bring files up to date; each event says what was written and is recorded before the next is asked for."""
        ...

    async def look(self, run: RunState, claimed: frozenset[StepId]) -> Surroundings:
        """What the world says at this moment."""
        ...

    def look_again(self, step: Step, around: Surroundings) -> Surroundings:
        """The same surroundings with what can have changed about a step since it was found ready."""
        ...

    async def claim(self, run: RunState, step: Step, around: Surroundings) -> list[ev.Event] | None:
        """Say in the files that a step is ours; None if somebody else's mark is there. OSError if that is refused."""
        ...

    async def block(self, run: RunId, step: StepId, token: Token, error: OSError) -> None:
        """Block a claimed step that could not be marked as ours, and give its claim back."""
        ...

    async def settle_branch(self, run: RunState, command: SettleBranch) -> str:
        """Carry out a decision about the run's branch; why that is refused, if it is."""
        ...

    def describe_branch(self, command: SettleBranch) -> ev.Event:
        """The decision as an event."""
        ...

    async def confirm_end(self, run: RunState, state: str) -> bool:
        """Whether the run may end or park so: what has landed is looked for once more."""
        ...

    def is_quiet(self) -> bool:
        """Whether what is committed on the run's branch from here on is a person's."""
        ...

    def end_walk(self, walk: StepWalk) -> None:
        """A walk has ended."""
        ...

    async def clear_away(self, run: RunState, step: StepId) -> None:
        """Remove what a dead driver left of a step that is done."""
        ...

    async def leave(self, run: RunState, driver: DriverId) -> None:
        """Clear up before a driver leaves."""
        ...
