"""How many steps a run would prove: what is counted, and what is not."""

from __future__ import annotations

import pytest

from drumline.core.ids import StepId
from drumline.core.outlook import look_ahead, never_fails
from drumline.core.plan import Check, Marks, Plan, Reading, Status, Step


def step(name: str, *needs: str, check: str = "make test", role: str = "", ordered: bool = False) -> Step:
    checks = (Check(command=check),) if check else ()
    return Step(id=StepId(name), title=name, needs=tuple(map(StepId, needs)), checks=checks, role=role, ordered=ordered)


def read(*steps: Step, **statuses: Status) -> Reading:
    marks = {one.id: Marks(status=statuses.get(one.id, Status.READY)) for one in steps}
    return Reading(plan=Plan(name="p", path="p", steps=steps), marks=marks, digests={})


def test_a_step_is_counted_as_proved_if_something_judges_it() -> None:
    plan = read(step("a"), step("b", check=""))

    assert look_ahead(plan).in_words() == "would be proved: 1 of 2"
    assert look_ahead(plan, ["make all"]).in_words() == "would be proved: 2 of 2"


def test_steps_that_are_over_or_not_selected_are_not_counted() -> None:
    plan = read(step("a"), step("b"), step("c"), a=Status.DONE)

    assert look_ahead(plan, (), [StepId("a"), StepId("b")]).in_words() == "would be proved: 1 of 1"
    assert look_ahead(plan, (), [StepId("a")]).in_words() == "would be proved: nothing is left to do"


def test_what_waits_for_a_blocked_step_is_not_reached() -> None:
    plan = read(step("a"), step("b", "a"), step("c", "b"), step("d"), a=Status.BLOCKED)

    outlook = look_ahead(plan)

    assert [one.id for one in outlook.held] == ["a", "b", "c"]
    assert outlook.in_words() == "would be proved: 1 of 1 (not counted: 3 held up by a blocked or failed step)"


def test_a_step_that_is_done_lets_others_pass_unless_the_order_is_the_need() -> None:
    free = read(step("a"), step("b", "a"), step("c", "b"), a=Status.FAILED, b=Status.DONE)
    chain = [step("a", ordered=True), step("b", "a", ordered=True), step("c", "b", ordered=True)]
    chained = read(*chain, a=Status.FAILED, b=Status.DONE)

    assert [one.id for one in look_ahead(free).held] == ["a"]
    assert [one.id for one in look_ahead(chained).held] == ["a", "c"]


def test_a_role_that_may_only_read_has_nothing_to_prove() -> None:
    outlook = look_ahead(read(step("a", role="architect", check=""), step("b", "a")))

    assert outlook.in_words() == "would be proved: 1 of 1 (not counted: 1 that may only read)"


@pytest.mark.parametrize(
    "command", ["true", ":", "exit 0", "echo done", "make test || true", "make test; true", "make test || echo failed"]
)
def test_a_check_that_cannot_fail_proves_nothing(command: str) -> None:
    assert never_fails(command)
    assert look_ahead(read(step("a", check=command))).in_words() == "would be proved: 0 of 1"


@pytest.mark.parametrize(
    "command",
    ["test -s a", "true && make", "set -e; make; true", "test -e a || exit 1; true", "echo $(make)", "echo a | grep b"],
)
def test_a_check_that_can_fail_is_not_taken_for_one_that_cannot(command: str) -> None:
    assert not never_fails(command)
