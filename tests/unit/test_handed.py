"""What an agent is told of the steps before those that its own needs."""

from __future__ import annotations

from tests.unit.builders import Scene, finish, step_of

from drumline.core import events as ev
from drumline.core.ids import Commit, StepId
from drumline.engine.handoffs import list_earlier

STEPS = [step_of("a"), step_of("b", "a"), step_of("c", "b"), step_of("d", "b"), step_of("e", "c", "d")]


def test_steps_that_are_needed_through_others_are_told_once_the_nearest_first() -> None:
    landed = [finish("a", commit=Commit("0123456789abcdef")), ev.StepsDeclared(steps=(StepId("b"),))]
    run = Scene(steps=STEPS, events=landed).run()

    found = list_earlier(run, run.plan.by_id[StepId("e")])

    assert found == ("b (Title of b)", "a (Title of a), landed as 0123456789ab")


def test_what_was_left_out_and_what_is_needed_directly_is_not_told() -> None:
    run = Scene(steps=STEPS, events=[finish("a", "skipped"), finish("b")]).run()

    assert list_earlier(run, run.plan.by_id[StepId("c")]) == ()
