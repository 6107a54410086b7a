"""A claimed step of a plan as those who act for it see it, and what they leave: events for its stream and the run's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from drumline.core import events as ev
from drumline.core.orders import Orders
from drumline.core.state import RunState
from drumline.engine.kit import Kit, Tools
from drumline.record import Record, field

T = TypeVar("T")


class Note(Record):
    """Events for the step's stream and for the run's, recorded together."""

    step: list[ev.Event] = field(default_factory=list)
    run: list[ev.Event] = field(default_factory=list)

    def then(self, other: Note) -> Note:
        """Both notes, in order."""
        return Note(step=[*self.step, *other.step], run=[*self.run, *other.run])


async def forget(event: ev.Event) -> None:
    """Nobody keeps it."""


class StepWork(Record):
    """The step, and what it is worked on with. `note` records what is known before an act is over."""

    kit: Kit
    tools: Tools
    orders: Orders
    run: RunState
    note: Callable[[ev.Event], Awaitable[None]] = forget


def known(value: T | None) -> T:
    """A value that the table of a step's life lets be known by now."""
    if value is None:
        raise AssertionError("the table of a step's life lets this be known by now")
    return value
