"""What a run leaves in the ledger of runs."""

from __future__ import annotations

import anyio
import pytest
from tests.unit.builders import Scene, finish, step_of

from drumline.core.events import CorrectionPlanned, Event, PlanChanged, RunEnded, StepStarted
from drumline.core.ids import StepId
from drumline.core.plan import Correction
from drumline.core.vocabulary import PlanCause, RunEnd
from drumline.engine.learning import Learning
from drumline.testing.clock import FakeClock
from drumline.testing.lessons import MemoryLessons

A, AH = StepId("a"), StepId("ah")


def plan(cause: PlanCause) -> list[Event]:
    """A corrective step for step a."""
    correction = Correction(id=AH, title="Another way", what="Do it", why="It failed")
    planned = CorrectionPlanned(correction=correction, helps=A, origin=A, cause=cause, node="heal", visit=1)
    return [planned, PlanChanged(changed=(step_of("ah"),), order=(A, AH), cause=cause, origin=A)]


@pytest.mark.parametrize(
    ("cause", "end", "heals"),
    [
        (PlanCause.HEAL, finish("a", landed_by=AH), (1, 0)),
        (PlanCause.HEAL, finish("a", "blocked"), (0, 1)),
        (PlanCause.REVIEW, finish("a"), (0, 0)),
        (PlanCause.MANUAL, finish("a"), (0, 0)),
    ],
)
def test_only_corrective_steps_for_what_failed_are_heal_cycles(
    cause: PlanCause, end: Event, heals: tuple[int, int]
) -> None:
    events = [StepStarted(step=A), *plan(cause), finish("ah"), end, RunEnded(state=RunEnd.DONE)]
    run = Scene(steps=[step_of("a")], events=events).run()
    lessons = MemoryLessons()

    anyio.run(Learning(lessons=lessons, clock=FakeClock()).note, run)

    assert [row.heals for row in lessons.runs.values()] == [heals]
