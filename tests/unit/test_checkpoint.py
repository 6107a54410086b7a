"""A checkpoint is the fold and nothing but the fold, wherever in a run it is taken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.builders import Scene, finish, gate_for, step_of

from drumline.core import checkpoint
from drumline.core import events as ev
from drumline.core.ids import DriverId, GateId, RunId, StepId
from drumline.core.plan import Check, Marks, Status
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode, RunEnd
from drumline.record import replace

RUN = RunId("r1")


def mirrored(step: str, status: Status, **more: str) -> ev.PlanMirrored:
    marks = Marks(status=status, **more)
    return ev.PlanMirrored(step=StepId(step), marks=marks, path=f"plan/{step}.md", digest=f"d-{step}", ticked=(3,))


def history() -> list[ev.Event]:
    """A run in which everything happens that a run's stream can hold."""
    steps = [step_of("a", manual=["look"]), step_of("b", "a"), step_of("c", "a"), step_of("d", "b", "c")]
    told: Sequence[ev.Event] = [
        ev.StepsDeclared(steps=(StepId("a"),)),
        ev.StepReopened(step=StepId("a"), reason="its file says ready again"),
        ev.StepStarted(step=StepId("a"), round=1),
        mirrored("a", Status.CLAIMED, assignee="drumline/r1", claimed_at="2026-01-01T00:00:00Z"),
        finish("a", files=("x", "y"), created=("x",), usage={"input": 3.0}),
        mirrored("a", Status.DONE),
        gate_for("wave-1"),
        ev.GateAnswered(gate=GateId("wave-1"), choice="yes", by="kim"),
        gate_for("approve-b", "b"),
        ev.ModeChanged(mode=Mode.PARALLEL),
        ev.PlanChanged(
            changed=(step_of("e", "d"),),
            removed=(StepId("c"),),
            order=tuple(map(StepId, "abde")),
            digests={"plan/e.md": "d-e"},
            marks={"e": Marks(status=Status.BLOCKED, reason="by hand")},
        ),
        ev.StepDeferred(step=StepId("b"), until=50.0, reason="no quota"),
        ev.UsageCounted(step=StepId("b"), agent="x", usage={"input": 3.0, "cost_usd": 0.5}),
        ev.UsageCounted(step=StepId("b"), agent="", usage={"attempts": 1.0}),
        ev.PauseRequested(by="kim", reason="lunch"),
        ev.RunParked(gates=(GateId("approve-b"),), until=50.0),
        ev.RunResumed(driver=DriverId("d-1")),
        finish("b", "blocked", reason="x"),
        ev.CancelRequested(by="kim", reason="enough"),
        ev.RunEnded(state=RunEnd.CANCELLED, reason="enough"),
    ]
    return [*Scene(steps=steps).history(), *told]


@pytest.mark.parametrize("place", range(2, len(history()) + 1))
def test_a_fold_taken_up_from_a_checkpoint_goes_on_as_if_there_were_none(place: int) -> None:
    events = history()
    whole = fold_run(RunState(id=RUN), events)

    kept = checkpoint.dump(fold_run(RunState(id=RUN), events[:place]))
    taken_up = checkpoint.load(RUN, kept)

    assert taken_up is not None
    assert taken_up == fold_run(RunState(id=RUN), events[:place])
    assert fold_run(taken_up, events[place:]) == whole


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1}', "not json"])
def test_a_checkpoint_that_cannot_be_read_is_as_good_as_none(text: str) -> None:
    assert checkpoint.load(RUN, text) is None


def test_steps_come_back_with_everything_the_plan_says_of_them() -> None:
    step = step_of("a")
    checks = (*step.checks, Check(command="make", line=7, source="config"))
    full = replace(step, checks=checks, files=("a/**",), role="coder", alone=True, tier="strong", estimate=2.5)

    state = fold_run(RunState(id=RUN), Scene(steps=[full]).history())

    assert checkpoint.load(RUN, checkpoint.dump(state)) == state
