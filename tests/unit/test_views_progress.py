"""Progress: the journal told line by line, the same for people and programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.unit.builders import (
    BASE,
    DRIVER,
    TREE,
    Scene,
    attempt,
    attempted,
    checked,
    finish,
    gate_for,
    prepared,
    record,
    run_started,
    step_of,
)

from drumline.core import events as ev
from drumline.core.ids import GateId, StepId
from drumline.core.plan import Marks, Status
from drumline.core.vocabulary import DocumentKind, Mode, PlanCause, RunEnd
from drumline.record import replace
from drumline.views.progress import Progress
from drumline.views.told import Line

STEPS = [step_of("step-1", title="Lay it"), step_of("step-2", "step-1", title="Raise it")]


def tell(*events: ev.Event) -> list[Line]:
    """Lines for events of the run's stream after its beginning."""
    scene = Scene(steps=STEPS, events=events)
    return Progress(after=2).feed(record(scene.history()), scene.run())


def tell_step(events: Sequence[ev.Event]) -> list[Line]:
    """Lines for events of one step's stream."""
    return Progress().feed(record(events, step="step-1"), Scene(steps=STEPS).run())


def names(lines: Sequence[Line]) -> list[str]:
    """The events' names."""
    return [line.event for line in lines]


def test_the_start_says_steps_pending_branch_mode_and_agent() -> None:
    scene = Scene(steps=STEPS)
    pinned = ev.PlanPinned(
        format="dag", title="", steps=tuple(STEPS), digests={}, marks={"step-1": Marks(status=Status.DONE)}
    )

    lines = Progress().feed(record([run_started(), pinned]), scene.run())

    assert [line.text for line in lines] == [
        "run r1: 2 steps, 1 pending, branch drumline/demo-r1, parallel, agent scripted:demo.yaml"
    ]
    assert (lines[0].data["steps"], lines[0].data["pending"]) == (2, 1)


def test_the_start_counts_the_selection_only() -> None:
    scene = Scene(steps=STEPS, started=run_started(selection=["step-2"]))

    lines = Progress().feed(record(scene.history()), scene.run())

    assert (lines[0].data["steps"], lines[0].data["pending"]) == (1, 1)


def test_every_line_carries_its_name_run_and_place() -> None:
    line = tell(ev.StepStarted(step=StepId("step-1")))[0]

    assert line.text == "step-1 started: Lay it"
    assert {"event": "step_started", "run": "r1", "seq": 3, "text": line.text}.items() <= line.data.items()


def test_done_steps_are_counted_one_by_one_even_in_one_batch() -> None:
    lines = tell(finish("step-1"), finish("step-2", proved=False))

    assert [line.text for line in lines] == [
        "step 1 of 2 done: step-1 Lay it (012345678, checks 1/1, proved)",
        "step 2 of 2 done: step-2 Raise it (012345678, checks 1/1, "
        "landed with another tree than the one that its checks ran on)",
    ]


def test_declared_steps_count_as_done_and_skipped_and_reopened_ones_do_not() -> None:
    declared = ev.StepsDeclared(steps=(StepId("step-1"),))
    reopened = ev.StepReopened(step=StepId("step-1"), reason="its file says ready again")

    lines = tell(declared, reopened, finish("step-2", "skipped", reason="later"), finish("step-1"))

    assert names(lines) == ["declared", "reopened", "skipped", "step_done"]
    assert [line.data.get("done") for line in lines] == [1, None, 0, 1]


def test_the_end_tells_how_many_steps_are_done_and_how_many_were_skipped() -> None:
    lines = tell(finish("step-1"), finish("step-2", "skipped", reason="later"), ev.RunEnded(state=RunEnd.DONE))

    assert lines[-1].text.startswith("run done, 1 of 2 steps done, 1 skipped;")
    assert (lines[-1].data["done"], lines[-1].data["skipped"], lines[-1].data["total"]) == (1, 1, 2)


def test_steps_that_do_not_make_it_name_the_reason_and_the_way_on() -> None:
    lines = tell(finish("step-1", "blocked", reason="no\nluck"), finish("step-2", "failed", reason="broke"))

    assert [(line.event, line.text) for line in lines] == [
        ("blocked", "step-1 blocked: no luck → drumline retry step-1"),
        ("failed", "step-2 failed: broke → drumline retry step-2"),
    ]


def test_a_failing_check_leads_to_a_numbered_fix() -> None:
    lines = tell_step(
        [*prepared(), *attempted(1), *checked(exit_code=1), *attempted(2), *checked(exit_code=2), attempt(3)]
    )

    assert [line.text for line in lines] == [
        "step-1: check 1 failed with exit code 1: check 1",
        "step-1: fix 1 of 2 (failing: check 1)",
        "step-1: check 1 failed with exit code 2: check 1",
        "step-1: fix 2 of 2 (failing: check 1)",
    ]


def test_an_agent_that_says_it_failed_is_given_a_fix() -> None:
    lines = tell_step([*prepared(), *attempted(1, failure="validation", message="cannot find it"), attempt(2)])

    assert [line.text for line in lines] == ["step-1: fix 1 of 2 (cannot find it)"]


def test_who_only_reads_and_gives_no_usable_answer_costs_no_fix() -> None:
    reading = ev.AttemptStarted(node="analyse", attempt=1, tree=TREE, by_visit=True, reads=True)
    void = ev.AttemptEnded(node="analyse", attempt=1, tree=TREE, failure="validation", message="not JSON")

    lines = tell_step([*prepared(), reading, void, *attempted(2), *checked(exit_code=1), attempt(3)])

    assert [line.text for line in lines] == [
        "step-1: analyse started; it only reads",
        "step-1: analyse gave no usable answer (not JSON)",
        "step-1: check 1 failed with exit code 1: check 1",
        "step-1: fix 1 of 2 (failing: check 1)",
    ]


def test_what_a_self_check_finds_is_a_fix_and_a_doubt_is_not() -> None:
    told = ev.AttemptStarted(node="improve", attempt=2, tree=TREE, complaint="a test is missing")
    asked = ev.AttemptStarted(node="implement", attempt=2, tree=TREE, complaint="the report is missing", doubts=True)

    fixed = tell_step([*prepared(), *attempted(1), told])
    doubted = tell_step([*prepared(), *attempted(1), asked])

    assert [line.text for line in fixed] == ["step-1: fix 1 of 2 (a test is missing)"]
    assert doubted == []


def test_a_failure_that_passes_is_waited_for_and_is_no_fix() -> None:
    lines = tell_step([*prepared(), *attempted(1, failure="transient", message="429"), attempt(2, delay=2.0)])

    assert names(lines) == ["retry_wait"]
    assert lines[0].text == "step-1: the service was busy or unreachable; attempt 2 in 2.0s"
    assert (lines[0].data["seconds"], lines[0].data["message"]) == (2.0, "429")


def test_an_agent_out_of_time_gets_what_is_left_and_no_fix_is_counted() -> None:
    slow = attempted(1, failure="timeout", message="timed out after 2 s")

    lines = tell_step([*prepared(), *slow, *checked(exit_code=1), *attempted(2), *checked(exit_code=1), attempt(3)])

    assert names(lines) == ["check_failed", "gone_on", "check_failed", "fix"]
    assert lines[1].text == (
        "step-1: the agent's time was up (timed out after 2 s); attempt 2 gets what is left, no fix used"
    )
    assert lines[3].text == "step-1: fix 1 of 2 (failing: check 1)"


def test_work_that_fails_only_together_with_others_goes_back_and_no_fix_is_counted() -> None:
    rebased = ev.WorkRebased(base=BASE, ready=TREE, tree=TREE, since=(StepId("other"),))
    fails = checked(exit_code=1)

    lines = tell_step([*prepared(), *attempted(1), *checked(), rebased, *fails, *attempted(2), *fails, attempt(3)])

    assert names(lines) == ["check_failed", "sent_back", "check_failed", "sent_back"]
    red = "no text conflict, but together with other it fails check 1"
    assert f"no fix used (it does not fit to what landed meanwhile: {red})" in lines[1].text


def test_conflicts_and_broken_neighbours_send_work_back_without_a_fix() -> None:
    clash = ev.WorkRebased(base=BASE, ready=TREE, tree=TREE, conflicts=("a.py",), since=(StepId("other"),))
    broken = ev.AttemptStarted(node="implement", attempt=2, tree=TREE, complaint="step-0 fails now", supersedes=True)

    conflicting = tell_step([*prepared(), *attempted(1), *checked(), clash, attempt(2)])
    breaking = tell_step([*prepared(), *attempted(1), *checked(), broken])

    assert [names(conflicting), names(breaking)] == [["sent_back"], ["sent_back"]]
    assert "landed meanwhile: text conflict with other in a.py)" in conflicting[0].text


def test_what_a_review_sends_back_is_told_by_its_findings() -> None:
    found = "- step-1-F1 [blocker] It is lost (a.py:1)"
    back = replace(attempt(2), complaint=found, reviewed=True)

    (line,) = tell_step([*prepared(), *attempted(1), *checked(), back])

    assert line.text == (
        "step-1: goes back to its agent after its review, no fix used (step-1-F1 [blocker] It is lost (a.py:1))"
    )


def test_a_revision_has_a_fresh_budget() -> None:
    fails = checked(exit_code=1)
    revised = ev.AttemptStarted(node="implement", attempt=3, tree=TREE, revises=True)
    ended = ev.AttemptEnded(node="implement", attempt=3, tree=TREE)

    again = [*attempted(1), *fails, *attempted(2), *checked(), revised, ended, *fails, attempt(4)]
    lines = tell_step([*prepared(), *again])

    assert [line.data["fix"] for line in lines if line.event == "fix"] == [1, 1]


def test_a_check_that_could_not_be_run_says_so() -> None:
    lines = tell_step([*prepared(), *attempted(1), *checked(exit_code=None)])

    assert [line.text for line in lines] == [
        "step-1: check 1 could not be run: check 1: a program that the check needs cannot be run here"
    ]


def test_lost_work_is_told_and_is_no_fix() -> None:
    lost = ev.WorkLost(what="working", driver=DRIVER)

    lines = tell_step([*prepared(), *attempted(1), *checked(exit_code=1), attempt(2), lost, attempt(2)])

    assert names(lines) == ["check_failed", "fix", "lost"]


def test_a_new_round_has_a_fresh_budget() -> None:
    failing = [*attempted(1), *checked(exit_code=1), *attempted(2), *checked(exit_code=1)]
    assigned = [ev.WorkspaceAssigned(path="w", base=BASE), ev.WorkspaceReady(tree=TREE)]
    again = [ev.StepRestarted(round=1), *assigned, *attempted(3), *checked(exit_code=1), attempt(4)]

    fixes = [line.data["fix"] for line in tell_step([*prepared(), *failing, *again]) if line.event == "fix"]

    assert fixes == [1, 1]


def test_gates_name_the_command_that_answers_them() -> None:
    answered = ev.GateAnswered(gate=GateId("wave-1"), choice="stop", by="ann", comment="not yet")
    gate = gate_for("wave-1", options=("continue", "stop"), question="Look:\n  - step-1: at it")

    lines = tell(gate, ev.RunParked(gates=(GateId("wave-1"),)), answered)

    assert [(line.event, line.text) for line in lines] == [
        ("gate", "gate wave-1 asks: Look: step-1: at it (continue or stop) → drumline answer wave-1 continue"),
        ("parked", "parked: nothing can go on until wave-1 is answered"),
        ("answered", "gate wave-1 answered stop by ann: not yet"),
    ]
    assert lines[0].data["options"] == ["continue", "stop"]


def test_what_happens_to_the_run_is_told() -> None:
    changed = ev.PlanChanged(changed=(STEPS[1],))

    lines = tell(
        ev.RunResumed(driver=DRIVER),
        changed,
        ev.ModeChanged(mode=Mode.SEQUENTIAL),
        ev.CancelRequested(by="ann", reason="enough"),
        ev.RunEnded(state=RunEnd.CANCELLED, reason="enough"),
    )

    assert [(line.event, line.text) for line in lines] == [
        ("resumed", "resumed by driver d1"),
        ("plan_changed", "the plan was edited: changed step-2"),
        ("mode_changed", "mode is sequential from here on"),
        ("cancelled", "cancelled by ann: enough; steps in work are being stopped"),
        ("summary", "run cancelled, 0 of 2 steps done: enough; see drumline status r1"),
    ]


def test_history_is_learnt_from_but_not_repeated() -> None:
    scene = Scene(steps=STEPS, events=[finish("step-1"), finish("step-2")])
    progress = Progress(after=3)

    lines = progress.feed(record(scene.history()), scene.run())

    assert [line.text.split(":")[0] for line in lines] == ["step 2 of 2 done"]


def test_what_is_fed_again_is_not_told_again() -> None:
    scene = Scene(steps=STEPS, events=[finish("step-1"), finish("step-2")])
    progress = Progress()
    progress.feed(record(scene.history()[:3]), scene.run())

    lines = progress.feed(record(scene.history()), scene.run())

    assert [line.text.split(":")[0] for line in lines] == ["step 2 of 2 done"]


def test_no_text_from_outside_can_steer_the_terminal() -> None:
    lines = tell(finish("step-1", "blocked", reason="a\x1b[31mred\x07\u202eb"))

    assert lines[0].text == "step-1 blocked: a[31mredb → drumline retry step-1"


def test_all_data_is_json() -> None:
    lines = tell(finish("step-1"), gate_for("g", "step-2"), ev.RunEnded(state=RunEnd.BLOCKED))
    lines += tell_step([*prepared(), *attempted(1), *checked(exit_code=1), attempt(2)])

    for line in lines:
        assert json.loads(json.dumps(line.data)) == line.data


def test_a_step_that_is_added_is_told_with_the_new_total() -> None:
    added = step_of("step-1h", title="Lay it otherwise")
    changed = ev.PlanChanged(
        changed=(added, STEPS[0]),
        cause=PlanCause.HEAL,
        origin=StepId("step-1"),
        order=(added.id, *(s.id for s in STEPS)),
    )

    line = tell(changed)[-1]

    assert line.text == "step-1 adds to the plan (heal): step-1h, 3 steps now"
    assert (line.data["added"], line.data["after"], line.data["total"]) == (["step-1h"], "step-1", 3)


def test_what_a_step_leaves_for_others_is_told_with_the_file_that_has_it() -> None:
    notes = ev.DocumentWritten(
        step=StepId("step-1"), kind=DocumentKind.NOTES, text="t", digest="d", path="plans/NOTES.md#step-1"
    )
    line = {"cause": PlanCause.ANNOTATION, "origin": StepId("step-1"), "revision": "step-1>step-2"}

    lines = tell(notes, ev.PlanChanged(changed=(STEPS[1],), **line), ev.PlanChanged(**line))  # type: ignore[arg-type]

    assert [one.text for one in lines[-3:]] == [
        "step-1: notes written for plans/NOTES.md",
        "step-1 changes what step-2 says (annotation)",
        "step-1 changes the notes of the plan (annotation)",
    ]


def test_a_notice_that_every_attempt_repeats_is_told_once() -> None:
    def end(number: int, *told: str) -> list[ev.Event]:
        return [
            attempt(number),
            ev.AttemptEnded(node="implement", attempt=number, tree=TREE, notices=told),
            *checked(exit_code=1),
        ]

    lines = tell_step([*prepared(), *end(1, "a conflict is coming"), *end(2, "a conflict is coming", "it wrote to a")])

    assert [line.text for line in lines if line.event == "notice"] == [
        "step-1: a conflict is coming",
        "step-1: it wrote to a",
    ]
