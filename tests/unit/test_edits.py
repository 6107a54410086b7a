"""Edits of the plan in mid-run: hand edits win for steps not in work, others go to a gate."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.builders import Scene, finish, gate_for, step_of

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.edits import Edits, compare
from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Plan, Problem, Reading, Severity, Status, Step
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.record import replace

A, B = StepId("a"), StepId("b")
STEPS = [replace(step_of("a"), text_digest="a1"), replace(step_of("b", "a"), text_digest="b1")]
NEW_A = replace(STEPS[0], title="Another title", text_digest="a2-long-digest")
STARTED = ev.StepStarted(step=A)


def run_of(*events: ev.Event) -> RunState:
    """A run of two steps."""
    return Scene(steps=STEPS, events=events).run()


def reading_of(*steps: Step, problems: Sequence[Problem] = ()) -> Reading:
    """The files as they are now."""
    return Reading(
        plan=Plan(name="demo", path="plan", steps=steps),
        marks={step.id: Marks(status=Status.DONE) for step in steps},
        digests={step.path: f"digest of {step.text_digest}" for step in steps},
        problems=tuple(problems),
    )


def answered(step: Step, choice: str) -> list[ev.Event]:
    """The gate about an edit, and its answer."""
    return [gates.edit(step), ev.GateAnswered(gate=gates.edit_id(step), choice=choice)]


def plan_changed(*steps: Step, removed: Sequence[StepId] = (), order: Sequence[StepId] = (A, B)) -> ev.PlanChanged:
    """What is recorded of an edit: only the files it touched."""
    return ev.PlanChanged(
        changed=steps,
        removed=tuple(removed),
        order=tuple(order),
        digests={step.path: f"digest of {step.text_digest}" for step in steps},
        marks={step.id: Marks(status=Status.DONE) for step in steps},
    )


def reopened(step: StepId) -> ev.StepReopened:
    """Another round because of the edit."""
    return ev.StepReopened(step=step, reason="its text was changed")


def test_nothing_changes_when_only_marks_did() -> None:
    assert compare(run_of(), reading_of(*STEPS)) == Edits()


def test_an_edit_of_a_step_not_in_work_counts_at_once() -> None:
    found = compare(run_of(), reading_of(NEW_A, STEPS[1]))

    assert found == Edits(events=(plan_changed(NEW_A),))


def test_a_new_step_takes_its_place_in_the_order() -> None:
    new = replace(step_of("c"), text_digest="c1")

    found = compare(run_of(), reading_of(new, *STEPS))

    assert found == Edits(events=(plan_changed(new, order=[new.id, A, B]),))


def test_a_removed_step_leaves_the_plan() -> None:
    found = compare(run_of(), reading_of(STEPS[0]))

    assert found == Edits(events=(plan_changed(removed=[B], order=[A]),))


def test_a_step_removed_while_somebody_drives_it_leaves_when_they_are_done() -> None:
    run = run_of(ev.StepStarted(step=B))

    while_driven = compare(run, reading_of(STEPS[0]), claimed=[B])
    given_back = compare(run, reading_of(STEPS[0]))

    assert while_driven == Edits()
    assert given_back == Edits(events=(plan_changed(removed=[B], order=[A]),))


def test_a_removed_step_is_neither_in_work_nor_asked_about_any_more() -> None:
    run = run_of(ev.StepStarted(step=B), gate_for("g", "b"))

    fold_run(run, compare(run, reading_of(STEPS[0])).events)

    assert (run.working, run.open_gates, [s.id for s in run.plan.steps]) == ({}, [], ["a"])


@pytest.mark.parametrize("state", ["blocked", "failed"])
def test_an_edited_step_that_had_stopped_gets_another_round(state: str) -> None:
    found = compare(run_of(finish("a", state)), reading_of(NEW_A, STEPS[1]))

    assert found.events == (plan_changed(NEW_A), reopened(A))


def test_the_round_after_an_edit_begins_anew_also_if_it_was_asked_for_before() -> None:
    before = run_of(finish("a", "blocked"), ev.StepReopened(step=A), plan_changed(NEW_A))
    after = run_of(finish("a", "blocked"), plan_changed(NEW_A), ev.StepReopened(step=A))
    later = run_of(finish("a", "blocked"), ev.StepReopened(step=A), STARTED, finish("a", "failed"), plan_changed(NEW_A))

    assert [run.rewritten for run in (before, after, later)] == [{A: 1}, {A: 1}, {A: 2}]


@pytest.mark.parametrize("state", ["done", "skipped"])
def test_an_edited_step_that_is_done_is_not_done_again(state: str) -> None:
    found = compare(run_of(finish("a", state)), reading_of(NEW_A, STEPS[1]))

    assert found.events == (plan_changed(NEW_A),)


def test_an_edit_of_a_step_in_work_is_asked_about_once() -> None:
    first = compare(run_of(STARTED), reading_of(NEW_A, STEPS[1]))
    again = compare(run_of(STARTED, gates.edit(NEW_A)), reading_of(NEW_A, STEPS[1]))

    assert first == Edits(events=(gates.edit(NEW_A),))
    assert again == Edits()


@pytest.mark.parametrize(("choice", "expected"), [("continue", ()), ("restart", (plan_changed(NEW_A), reopened(A)))])
def test_the_answer_about_an_edit_decides_whether_it_counts_now(choice: str, expected: tuple[ev.Event, ...]) -> None:
    found = compare(run_of(STARTED, *answered(NEW_A, choice)), reading_of(NEW_A, STEPS[1]))

    assert found.events == expected


def test_an_edit_that_a_person_put_off_counts_when_the_step_has_finished() -> None:
    run = run_of(STARTED, *answered(NEW_A, "continue"), finish("a"))

    assert compare(run, reading_of(NEW_A, STEPS[1])).events == (plan_changed(NEW_A),)


def test_a_further_edit_is_a_further_question_and_makes_the_one_before_idle() -> None:
    newer = replace(NEW_A, text_digest="a3")
    run = run_of(STARTED, gates.edit(NEW_A), gate_for("g", "a"))

    found = compare(run, reading_of(newer, STEPS[1]))
    fold_run(run, found.events)

    assert found.events == (gates.edit(newer),)
    assert [g.opened.gate for g in run.open_gates] == ["g", gates.edit_id(newer)]


def test_a_restart_is_recorded_only_once() -> None:
    run = run_of(STARTED, *answered(NEW_A, "restart"))
    reading = reading_of(NEW_A, STEPS[1])

    fold_run(run, compare(run, reading).events)

    assert run.rounds == {"a": 1}
    assert compare(run, reading) == Edits()


def test_an_edit_that_breaks_the_plan_does_not_count() -> None:
    broken = Problem(code="bad_yaml", message="x", where="plan/a.md:1")

    unreadable = compare(run_of(), reading_of(NEW_A, STEPS[1], problems=[broken]))
    cyclic = compare(run_of(), reading_of(replace(NEW_A, needs=(B,)), STEPS[1]))

    assert unreadable == Edits(problems=(broken,))
    assert "cycle" in [p.code for p in cyclic.problems]
    assert cyclic.events == ()


def test_a_warning_does_not_keep_an_edit_from_counting() -> None:
    warning = Problem(code="redundant_need", message="x", where="y", severity=Severity.WARNING)

    found = compare(run_of(), reading_of(NEW_A, STEPS[1], problems=[warning]))

    assert found.events == (plan_changed(NEW_A),)


def test_an_edit_of_what_the_plan_says_as_a_whole_counts_for_what_comes() -> None:
    reading = reading_of(*STEPS)
    preflight = (Check(command="make doctor", source="plan"),)
    edited = replace(reading, plan=replace(reading.plan, preamble="Now it is another one.", preflight=preflight))
    edited = replace(edited, digests={**edited.digests, "plan/root.md": "new"})
    run = run_of()

    [event] = compare(run, edited).events
    fold_run(run, [event])

    assert event == ev.PlanChanged(
        order=(A, B), digests={"plan/root.md": "new"}, preamble="Now it is another one.", preflight=preflight
    )
    assert (run.plan.preamble, run.plan.preflight) == ("Now it is another one.", preflight)
    assert compare(run, edited) == Edits()
