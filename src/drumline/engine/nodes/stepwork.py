"""A claimed step of a plan as those who act for it see it, and what they leave: events for its stream and the run's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from drumline.core import events as ev
from drumline.core.orders import Orders
from drumline.core.setups import Setup, read_setup
from drumline.core.sharing import add_shared
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.engine.landingline import LandingLine
from drumline.engine.services import Services, Tools
from drumline.engine.stage import Stage
from drumline.ports.agents import Around
from drumline.record import Record, field

T = TypeVar("T")


class Note(Record):
    """Events for the step's stream and for the run's, recorded together."""

    step: list[ev.Event] = field(default_factory=list)
    run: list[ev.Event] = field(default_factory=list)

    def then(self, other: Note) -> Note:
        """Both notes, in order."""
        return Note(step=[*self.step, *other.step], run=[*self.run, *other.run])


class Ledger(Protocol):
    """Where the effects of a step's nodes are recorded."""

    async def record(self, note: Note) -> None:
        """Append now, together with what was kept."""
        ...

    def keep(self, note: Note) -> None:
        """Append with whatever is appended next, and before anything else is done."""
        ...


async def forget(event: ev.Event) -> None:
    """Nobody keeps it."""


@dataclass(kw_only=True, slots=True)
class Ground:
    """Where the checks of a step run at present: in its own workspace, without the files in `held`, or on a stage.

    `state` is what the step's stream says.
    """

    held: Sequence[str] = ()
    stage: Stage | None = None
    state: StepState | None = None


class StepWork(Record):
    """The step, and what it is worked on with. `line` is the landing queue as it sees that.

    `given` are the orders that it was claimed with; `note` records what is known before an act is over.
    """

    services: Services
    tools: Tools
    given: Orders
    run: RunState
    line: LandingLine
    note: Callable[[ev.Event], Awaitable[None]] = forget
    ground: Ground = field(default_factory=Ground)

    @property
    def orders(self) -> Orders:
        """The step with every check that judges its work as it is now."""
        state = self.ground.state
        return add_shared(self.given, self.run, state.sharing if state is not None else ())

    @property
    def setup(self) -> Setup:
        """How dependencies come into a place."""
        return read_setup(self.run.begun.setup, self.run.begun.provide)

    def describe_around(self) -> Around:
        """What changes around the workspace of the step while an agent works in it."""
        return Around(
            ours=tuple(self.services.planfiles.patterns), branch=self.run.begun.branch, list_idle=self._list_idle
        )

    def _list_idle(self) -> list[Path]:
        """The workspaces of steps that no driver has claimed."""
        claimed = self.services.store.list_claims(self.run.id)
        places = self.services.workspaces.list_places()
        return [place for place, step in places.items() if step is not None and step not in claimed]


def known(value: T | None) -> T:
    """A value that the table of a step's life lets be known by now."""
    if value is None:
        raise AssertionError("the table of a step's life lets this be known by now")
    return value
