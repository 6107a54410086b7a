"""What is worked out once about a finished step's file is worked out again as soon as something happens to the step."""

from __future__ import annotations

from pathlib import Path

from tests.integration.worlds import RUN, World, small_plan, step

from drumline.core.events import Event, PlanMirrored, PlanPinned, RunStarted, StepFinished, StepReopened
from drumline.core.ids import Commit, StepId
from drumline.core.plan import Marks, Status
from drumline.core.state import RunState, fold_run
from drumline.engine.outbox import Outbox

A = StepId("a")
STARTED = RunStarted(
    plan="plan",
    plan_name="demo",
    plan_digest="",
    config_digest="",
    branch="b",
    base=Commit("c"),
    agent="test",
    mode="sequential",
    autonomy="autopilot",
    retries=2,
)


def begin(*events: Event) -> RunState:
    """A run of one step to which these events happened."""
    pinned = PlanPinned(format="dag", title="Demo", steps=(step("a"),), digests={})
    return fold_run(RunState(id=RUN), [STARTED, pinned, *events])


def mirrored(status: Status, reason: str = "") -> PlanMirrored:
    """The file of the step was brought to these marks, its box ticked."""
    return PlanMirrored(step=A, marks=Marks(status=status, reason=reason), path="plan/a.md", digest="", ticked=(10,))


def overdue(outbox: Outbox, run: RunState) -> list[str]:
    """The ids of the steps whose files are to be written."""
    return [found.id for found in outbox.overdue(run, run.reading().marks, ())]


def test_a_finished_step_is_overdue_until_its_file_says_so(tmp_path: Path) -> None:
    outbox = Outbox(kit=World(folder=tmp_path, plan=small_plan(step("a"))).kit())
    run = begin(StepFinished(step=A, state="done"))

    before = overdue(outbox, run)
    fold_run(run, [mirrored(Status.DONE)])

    assert before == ["a"]
    assert overdue(outbox, run) == []
    assert overdue(outbox, run) == []


def test_a_step_that_finishes_another_way_is_overdue_again(tmp_path: Path) -> None:
    outbox = Outbox(kit=World(folder=tmp_path, plan=small_plan(step("a"))).kit())
    run = begin(StepFinished(step=A, state="blocked", reason="no"), mirrored(Status.BLOCKED, "no"))

    settled = overdue(outbox, run)
    fold_run(run, [StepReopened(step=A), StepFinished(step=A, state="done")])

    assert settled == []
    assert overdue(outbox, run) == ["a"]


def test_marks_that_were_written_differently_since_are_put_right(tmp_path: Path) -> None:
    outbox = Outbox(kit=World(folder=tmp_path, plan=small_plan(step("a"))).kit())
    run = begin(StepFinished(step=A, state="done"), mirrored(Status.DONE))

    settled = overdue(outbox, run)
    fold_run(run, [mirrored(Status.CLAIMED)])

    assert settled == []
    assert overdue(outbox, run) == ["a"]
