"""Steps whose tests are part of the work: at least one is added or changed."""

from __future__ import annotations

import pytest
from tests.unit.builders import TREE_2, Scene, attempt, checked, prepared, run_started, step_of
from tests.unit.stepping import advance

from drumline.core import events as ev
from drumline.core.commands import Attempt, Command, Compare, Finish
from drumline.core.judge import JudgeKind, Touched
from drumline.core.orders import orders_for
from drumline.core.prompt import Brief, write_task
from drumline.core.proof import Against
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.verdicts import UNTESTED
from drumline.record import replace

STEP = replace(step_of("a"), tests=True)
TEST = Touched(path="tests/test_a.py", kind=JudgeKind.TEST, change="created", work=True)


def work(*touched: Touched) -> list[ev.Event]:
    ended = ev.AttemptEnded(node="implement", attempt=1, tree=TREE_2, touched=touched)
    return [*prepared(), attempt(1), ended, *checked()]


def run_of(retries: int = 2) -> RunState:
    started = replace(run_started(), retries=retries)
    return Scene(steps=[STEP], started=started).run()


def next_of(events: list[ev.Event], retries: int = 2) -> Command:
    run = run_of(retries)
    return advance(orders_for(run, STEP), fold_step(StepState(), events), run)


def test_work_without_a_test_goes_back_to_the_agent_and_uses_up_a_fix() -> None:
    command = next_of(work())

    assert isinstance(command, Attempt)
    assert (command.attempt, command.complaint) == (2, UNTESTED)
    state = fold_step(StepState(), [*work(), replace(attempt(2), complaint=UNTESTED)])
    assert (state.fixes, state.complaint, state.warned) == (1, UNTESTED, False)


def test_work_that_never_brings_a_test_is_blocked() -> None:
    assert isinstance(next_of(work(), retries=0), Finish)


@pytest.mark.parametrize("change", ["created", "modified"])
def test_work_with_a_test_is_compared_as_ever(change: str) -> None:
    command = next_of(work(replace(TEST, change=change)))

    assert isinstance(command, Compare)
    assert command.against is Against.BASE_SOURCE


def test_a_deleted_test_is_none() -> None:
    assert isinstance(next_of(work(replace(TEST, change="deleted"))), Attempt)


def test_the_agent_is_told_before() -> None:
    brief = Brief(step=STEP, text="Write it.", plan_title="Demo", checks=())

    assert "Tests are part of this step" in write_task(brief)
    assert "Tests are part of this step" not in write_task(replace(brief, step=step_of("a")))


def test_nothing_else_is_asked_of_other_steps() -> None:
    run = Scene(steps=[step_of("a")]).run()

    assert isinstance(advance(orders_for(run, step_of("a")), fold_step(StepState(), work()), run), Compare)
