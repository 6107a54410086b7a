"""What a progress report says of a failure follows from the events, whatever their sentences are."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, finish, step_of

from drumline.core import events as ev
from drumline.core.event import Event
from drumline.core.ids import Commit, RunId, StepId, Stream, Tree
from drumline.core.recorded import Recorded
from drumline.core.vocabulary import StepEnd
from drumline.engine.progressreports import Failures, ProgressReports
from drumline.ports.planfiles import Trouble
from drumline.record import replace

STEP, TREE = StepId("2"), Tree("t")
BLOCKED = ev.StepFinished(step=STEP, state=StepEnd.BLOCKED, reason="a conflict, a check and a timeout")


def entry(event: Event) -> Recorded:
    return Recorded(seq=1, stream=Stream(RunId("r"), STEP), version=1, at=0.0, event=event)


def attempt(failure: str) -> ev.AttemptEnded:
    return ev.AttemptEnded(
        node="implement", attempt=1, failure=failure, message=f"a conflict in a check timed out (no {failure})"
    )


def failing(failure: str) -> ev.CheckEnded:
    return ev.CheckEnded(check=0, command="make timeout", tree=TREE, tree_after=TREE, exit_code=1, failure=failure)


@pytest.mark.parametrize(
    ("event", "trouble"),
    [
        (attempt("validation"), Trouble.WORK),
        (attempt("timeout"), Trouble.TIME),
        (attempt("crash"), Trouble.OTHER),
        (failing("work"), Trouble.WORK),
        (failing("timeout"), Trouble.TIME),
        (ev.LandingRefused(reason="no check", conflicts=("a",)), Trouble.CONFLICT),
        (ev.LandingRefused(reason="a conflict", behind=Commit("c")), Trouble.OTHER),
    ],
)
def test_the_kind_of_a_failure_is_that_of_its_event(event: Event, trouble: Trouble) -> None:
    failures = Failures()

    failures.note(entry(event))
    failures.note(entry(ev.AttemptStarted(node="implement", attempt=2)))

    assert [one.trouble for one in failures.over] == [trouble]


@pytest.mark.parametrize(
    ("before", "end", "trouble"),
    [
        ([], BLOCKED, Trouble.OTHER),
        ([], replace(BLOCKED, failing=("make",)), Trouble.WORK),
        ([attempt("crash"), attempt("timeout")], BLOCKED, Trouble.TIME),
    ],
)
def test_the_end_of_a_step_is_of_the_kind_of_what_led_to_it(
    before: list[Event], end: ev.StepFinished, trouble: Trouble
) -> None:
    failures = Failures()

    for event in before:
        failures.note(entry(event))
    failures.close(0.0, end)

    assert [(one.message, one.trouble) for one in failures.over] == [(BLOCKED.reason, trouble)]


def test_what_a_step_leaves_is_what_its_corrective_step_said_if_that_landed_for_it() -> None:
    helper, healed = StepId("ch"), finish("c", landed_by=StepId("ch"))
    run = Scene(steps=[step_of("ch"), step_of("c", "ch")], events=[finish("ch"), healed]).run()
    progress = ProgressReports()
    for step, said in (("c", "Call wrong()."), (helper, "Call right().")):
        ended = ev.AttemptEnded(node="implement", attempt=1, message=said)
        progress.note([Recorded(seq=1, stream=Stream(RunId("r"), StepId(step)), version=1, at=0.0, event=ended)])

    told = progress.report_progress(run, 0.0)

    assert {one.step: one.said for one in told.steps} == {"ch": "Call right().", "c": "Call right()."}
