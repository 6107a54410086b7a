"""What the plan's files should say of a step, and when they are behind."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, finish, gate_for, step_of

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import GateId, StepId
from drumline.core.mirror import Wanted, expected_marks, outstanding, wanted
from drumline.core.plan import Check, Marks, Status
from drumline.core.state import RunState
from drumline.record import replace

A = StepId("a")
STEP = replace(
    step_of("a"), checks=(Check(command="x", line=7), Check(command="y", line=8), Check(command="z", source="config"))
)
OURS = Marks(status=Status.CLAIMED, assignee="drumline/r1", claimed_at="now")
READY = Marks()
STARTED = ev.StepStarted(step=A)


def mirrored(marks: Marks, ticked: tuple[int, ...] = ()) -> ev.PlanMirrored:
    """What this run wrote."""
    return ev.PlanMirrored(step=A, marks=marks, path=STEP.path, digest="d", ticked=ticked)


def run_of(*events: ev.Event) -> RunState:
    """A run of one step."""
    return Scene(steps=[STEP, step_of("b")], events=events).run()


def want(run: RunState, *, found: Marks = READY, claimed_at: str = "") -> Wanted | None:
    """What the file should say."""
    return wanted(run, STEP, found, claimed_at=claimed_at)


@pytest.mark.parametrize(
    ("events", "found", "claimed_at", "expected"),
    [
        ([], READY, "", None),
        ([], Marks(status=Status.BLOCKED, reason="by hand"), "", None),
        ([], OURS, "", READY),
        ([], OURS, "now", None),
        ([STARTED], READY, "now", OURS),
        ([STARTED], OURS, "", READY),
        ([STARTED, gate_for("g", "a")], OURS, "", Marks(status=Status.BLOCKED, reason="waiting for gate g")),
        ([STARTED, gate_for("g", "b")], OURS, "", READY),
        ([STARTED, gate_for("g", "a"), ev.CancelRequested()], OURS, "", READY),
        ([STARTED, gate_for("g", "a")], READY, "now", OURS),
        ([finish("a", "blocked", reason="x")], OURS, "", Marks(status=Status.BLOCKED, reason="x")),
        ([finish("a", "failed", reason="x")], OURS, "", Marks(status=Status.FAILED, reason="x")),
        ([finish("a", "failed", reason="no", rejected=True)], OURS, "", READY),
        ([finish("a", "skipped", reason="x")], READY, "", Marks(status=Status.SKIPPED, reason="x")),
        ([mirrored(OURS), finish("a", "blocked"), ev.StepReopened(step=A)], READY, "", READY),
        ([mirrored(READY), ev.StepsDeclared(steps=(A,))], Marks(status=Status.DONE), "", None),
    ],
    ids=[
        "untouched",
        "by-hand",
        "leftover-claim",
        "just-claimed",
        "claimed",
        "released",
        "parked",
        "another-step-parked",
        "cancelled",
        "claimed-with-gate",
        "blocked",
        "failed",
        "rejected",
        "skipped",
        "reopened",
        "declared",
    ],
)
def test_the_file_says_what_became_of_the_step(
    events: list[ev.Event], found: Marks, claimed_at: str, expected: Marks | None
) -> None:
    result = want(run_of(*events), found=found, claimed_at=claimed_at)

    assert (result.marks if result else None) == expected


def test_a_landed_step_is_done_and_the_boxes_of_its_own_checks_are_ticked() -> None:
    assert want(run_of(finish("a"))) == Wanted(marks=Marks(status=Status.DONE), ticked=(7, 8))


def test_a_step_that_did_not_land_ticks_no_box() -> None:
    result = want(run_of(finish("a", "blocked", reason="x")))

    assert result is not None
    assert result.ticked == ()


@pytest.mark.parametrize(("choice", "end", "ticked"), [("approve", "done", (7, 8, 9)), ("reject", "failed", ())])
def test_who_approves_of_the_work_has_verified_its_manual_items(choice: str, end: str, ticked: tuple[int, ...]) -> None:
    step = replace(STEP, manual=("it looks right",), manual_lines=(9,))
    asked = gates.approval(step, 1)
    answered = ev.GateAnswered(gate=asked.gate, choice=choice)
    run = Scene(steps=[step], events=[STARTED, asked, answered, finish("a", end)]).run()

    result = wanted(run, step, READY, claimed_at="")

    assert result is not None
    assert result.ticked == ticked


def test_a_reason_is_one_line_of_bounded_length() -> None:
    result = want(run_of(finish("a", "failed", reason="one\n  two\n" + "x" * 500)))

    assert result is not None
    assert result.marks.reason.startswith("one two xxx")
    assert result.marks.reason.endswith("…")
    assert len(result.marks.reason) == 200


DONE = Wanted(marks=Marks(status=Status.DONE), ticked=(7, 8))


@pytest.mark.parametrize(
    ("events", "target", "expected"),
    [
        ([], None, False),
        ([], DONE, True),
        ([mirrored(READY)], DONE, True),
        ([mirrored(DONE.marks)], DONE, True),
        ([mirrored(DONE.marks, (7, 8))], DONE, False),
        ([mirrored(DONE.marks, (7, 8, 9))], DONE, False),
        ([mirrored(replace(OURS, claimed_at="then"))], Wanted(marks=OURS), True),
    ],
    ids=["no-opinion", "never-written", "other-marks", "boxes-missing", "written", "more-boxes", "renewal"],
)
def test_a_file_is_behind_until_the_journal_knows_it_was_written(
    events: list[ev.Event], target: Wanted | None, expected: bool
) -> None:
    assert outstanding(run_of(*events), STEP, target) is expected


def test_a_write_may_replace_what_we_wrote_last_or_what_was_there_before_us() -> None:
    foreign = Marks(status=Status.CLAIMED, assignee="x")

    assert expected_marks(run_of(), A, foreign) == foreign
    assert expected_marks(run_of(mirrored(OURS)), A, foreign) == OURS


def test_a_write_may_replace_marks_about_a_gate_of_the_run_that_git_brought_back() -> None:
    held = Marks(status=Status.BLOCKED, reason="waiting for gate g")
    answered = ev.GateAnswered(gate=GateId("g"), choice="yes")

    assert expected_marks(run_of(mirrored(READY)), A, held) == READY
    assert expected_marks(run_of(gate_for("g", "a"), answered, mirrored(READY)), A, held) == held
