"""What is worked out once about a finished step's file is worked out again as soon as something happens to the step."""

from __future__ import annotations

from pathlib import Path

import anyio
from tests.integration.harness import RUN, Harness, small_plan, step

from drumline.core.events import Event, PlanMirrored, PlanPinned, RunStarted, StepFinished, StepReopened, StepStarted
from drumline.core.ids import Commit, DriverId, StepId
from drumline.core.plan import Marks, Status
from drumline.core.runfold import fold_run
from drumline.core.schedule import assignee
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode, StepEnd
from drumline.engine.outbox import Outbox
from drumline.engine.upkeep import Upkeep

A = StepId("a")
STARTED = RunStarted(
    plan="plan",
    plan_name="demo",
    plan_digest="",
    branch="b",
    base=Commit("c"),
    agent="test",
    mode=Mode.SEQUENTIAL,
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
    outbox = Outbox(services=Harness(folder=tmp_path, plan=small_plan(step("a"))).services())
    run = begin(StepFinished(step=A, state=StepEnd.DONE))

    before = overdue(outbox, run)
    fold_run(run, [mirrored(Status.DONE)])

    assert before == ["a"]
    assert overdue(outbox, run) == []
    assert overdue(outbox, run) == []


def test_a_step_that_finishes_another_way_is_overdue_again(tmp_path: Path) -> None:
    outbox = Outbox(services=Harness(folder=tmp_path, plan=small_plan(step("a"))).services())
    run = begin(StepFinished(step=A, state=StepEnd.BLOCKED, reason="no"), mirrored(Status.BLOCKED, "no"))

    settled = overdue(outbox, run)
    fold_run(run, [StepReopened(step=A), StepFinished(step=A, state=StepEnd.DONE)])

    assert settled == []
    assert overdue(outbox, run) == ["a"]


def test_marks_that_were_written_differently_since_are_put_right(tmp_path: Path) -> None:
    outbox = Outbox(services=Harness(folder=tmp_path, plan=small_plan(step("a"))).services())
    run = begin(StepFinished(step=A, state=StepEnd.DONE), mirrored(Status.DONE))

    settled = overdue(outbox, run)
    fold_run(run, [mirrored(Status.CLAIMED)])

    assert settled == []
    assert overdue(outbox, run) == ["a"]


def claim(name: str, at: str) -> PlanMirrored:
    """The file of a step was brought to say that this run works on it."""
    marks = Marks(status=Status.CLAIMED, assignee=assignee(begin()), claimed_at=at)
    return PlanMirrored(step=StepId(name), marks=marks, path=f"plan/{name}.md", digest="")


def test_a_step_that_another_driver_claims_while_a_mark_waits_stays_claimed(tmp_path: Path) -> None:
    harness = Harness(folder=tmp_path, plan=small_plan(step("a"), step("b")))
    pinned = PlanPinned(format="dag", title="Demo", steps=harness.plan.steps, digests={})
    left = [claim("a", "2024-01-01T00:00:00Z"), claim("b", "2024-01-01T00:00:00Z")]
    began = [StepStarted(step=found.id) for found in harness.plan.steps]
    run = fold_run(RunState(id=RUN), [STARTED, pinned, *began, *left])
    for event in left:
        harness.planfiles.write(harness.plan.by_id[event.step], event.marks)
    upkeep = Upkeep(services=harness.services())
    live = claim("b", "2024-01-01T00:00:09Z")

    async def mirror() -> list[str]:
        written: list[str] = []
        async for event in upkeep.mirror(run, harness.store.list_claims(RUN), ()):
            assert isinstance(event, PlanMirrored)
            written.append(event.step)
            harness.store.take(RUN, live.step, DriverId("other"))  # while the mark of `a` was written
            harness.planfiles.write(harness.plan.by_id[live.step], live.marks)
            fold_run(run, [event, live])
        return written

    assert anyio.run(mirror) == ["a"]
    assert harness.planfiles.marks(harness.plan.by_id[live.step]) == live.marks
