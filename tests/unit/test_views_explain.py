"""What `validate` says of a plan: a line per thing, whatever the plan's own words look like."""

from __future__ import annotations

from tests.unit.builders import step_of

from drumline.core.outlook import look_ahead
from drumline.core.parallelism import measure_parallelism
from drumline.core.plan import Check, Plan, Reading
from drumline.record import replace
from drumline.views.explain import explain


def test_a_command_of_several_lines_is_shown_on_one() -> None:
    step = replace(step_of("a"), checks=(Check(command="test -s \\\n  a.txt"),))
    plan = Plan(name="p", path="p", steps=(step,))

    reading = Reading(plan=plan, marks={}, digests={})
    lines = explain(reading, measure_parallelism(plan.steps), look_ahead(reading))

    assert "  checks: 1 command decides (test -s \\ a.txt)" in lines
    assert "  order: 1 wave, at most 1 step in one; longest chain a" in lines


def test_steps_of_other_repositories_are_named_and_not_counted() -> None:
    there = replace(step_of("b", "a"), elsewhere="Payments")
    plan = Plan(name="p", path="p", steps=(step_of("a"), there))

    reading = Reading(plan=plan, marks={}, digests={})
    lines = explain(reading, measure_parallelism(plan.steps), look_ahead(reading))

    assert "  steps: 1 here: 1 to do" in lines
    assert "  not run here, other repositories have to do them: b (Payments)" in lines


def test_what_the_plan_lists_for_its_end_and_nobody_can_run_is_named() -> None:
    plan = Plan(name="p", path="p", steps=(step_of("a"),), not_run=("open the page",))

    reading = Reading(plan=plan, marks={}, digests={})
    lines = explain(reading, measure_parallelism(plan.steps), look_ahead(reading))

    assert "  not run at the end: open the page" in lines
