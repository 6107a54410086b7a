"""Questions to people: what they are about in one line, and what there is to judge by in others."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, gate_for, step_of

from drumline.core.events import GateOpened
from drumline.core.gateevents import Doubt
from drumline.core.gates import accept, blocked, question
from drumline.core.ids import StepId
from drumline.core.proof import Level
from drumline.core.vocabulary import GateKind
from drumline.record import replace
from drumline.views.focus import Entry, entry_rows
from drumline.views.gates import answer_command, ask_shortly, split_question, tell_choices, tell_gate

EVIDENCE = """\
step-1 (Say hello) passed its checks. Land it?
Its agent says: It prints hello.

It changes 1 file (+1 -0): git show 9d594d929799
  greet.sh +1 -0
Its checks; it would land as proved:
  bash greet.sh: passes, failed without the work
0 of 2 fixes used, $0.03 spent."""
NOTES = "- fixed a crash\n- two new options\n\nSave these notes\nas NOTES.md? Anything else is a wish."


def ask(question: str, kind: GateKind = GateKind.APPROVE) -> GateOpened:
    return replace(gate_for("approve-step-1", question=question, options=("approve", "reject")), kind=kind)


def test_a_question_is_told_in_one_line_and_its_evidence_below() -> None:
    headline, details = split_question(ask(EVIDENCE))

    assert headline == "step-1 (Say hello) passed its checks. Land it?"
    assert details[0] == "Its agent says: It prints hello."
    assert details[2] == "  greet.sh +1 -0"
    assert len(details) == 6


def test_a_question_that_the_author_of_a_flow_wrote_is_its_last_paragraph_that_asks() -> None:
    headline, details = split_question(ask(NOTES * 2, GateKind.APPROVAL))

    assert headline.startswith("Save these notes as NOTES.md? Anything else is a wish.")
    assert "- two new options" in details


def test_a_diff_is_shown_as_it_will_be_applied() -> None:
    diff = "--- a/02.md\n+++ b/02.md\n@@ -1,3 +1,4 @@\n ## Tasks\n \n 1. Write it: is it fast?\n+    - Say left."
    question = f"01 (Part) proposes to change what later steps say:\n\n{diff}\n\nApply exactly that, or decline?"

    headline, details = split_question(ask(question, GateKind.APPROVAL))

    assert headline == "Apply exactly that, or decline?"
    assert details[1:] == [line.rstrip() for line in diff.splitlines()]


def test_a_short_question_is_one_line_however_it_is_written() -> None:
    assert split_question(ask("Is it\ngood?")) == ("Is it good?", [])
    assert ask_shortly(ask("Is it\ngood?")) == "Is it good? (approve or reject)"


def test_what_lines_part_in_a_question_is_parted_by_signs_in_one_line() -> None:
    stuck = blocked(step_of("a"), 1, "the tax rate\nis not known")
    doubts = [Doubt(step=StepId(name), level=Level.KEPT) for name in ("a", "b")]

    asked, accepted = split_question(stuck)[0], split_question(accept(doubts))[0]

    assert asked.endswith("is blocked: the tax rate is not known. What shall it do?")
    assert accepted.endswith("): a: kept; b: kept. Accept that?")
    assert split_question(question(step_of("a"), 1, "Shall I use\nPython?"))[0].endswith("Shall I use Python?")


def test_progress_shows_what_there_is_to_judge_by_below_the_command_that_answers() -> None:
    first, *more = tell_gate(ask(EVIDENCE))[0].splitlines()

    assert first.endswith("Land it? (approve or reject) → drumline answer approve-step-1 approve")
    assert more[0] == "  Its agent says: It prints hello."
    assert more[2] == "    greet.sh +1 -0"


@pytest.mark.parametrize(
    ("kind", "option", "comment"),
    [
        (GateKind.PLAN, "adapt", True),
        (GateKind.FAILURE, "adapt", True),
        (GateKind.APPROVAL, "adapt", False),
        (GateKind.WAVE, "not-good:1", True),
        (GateKind.WAVE, "continue", False),
        (GateKind.APPROVE, "revise", True),
        (GateKind.APPROVE, "approve", False),
    ],
)
def test_a_command_that_would_be_refused_without_a_comment_has_one(kind: GateKind, option: str, comment: bool) -> None:
    opened = replace(ask("?", kind), options=(option, "stop"))

    assert answer_command(opened, driven=True).endswith(f"{option}{' --comment TEXT' if comment else ''}")


@pytest.mark.parametrize(
    ("kind", "options", "careful", "choices"),
    [
        (GateKind.JUDGE, ("allow", "undo", "reject"), "undo", "undo, allow or reject"),
        (GateKind.OWNERSHIP, ("allow", "undo", "reject"), "undo", "undo, allow or reject"),
        (GateKind.UNCHANGED, ("already-done", "retry", "skip"), "retry", "retry, already-done or skip"),
        (GateKind.DENIED, ("land", "retry", "skip"), "retry", "retry, land or skip"),
        (GateKind.ACCEPT, ("yes", "no"), "no", "no or yes"),
    ],
)
def test_a_command_that_is_pasted_without_a_look_lets_no_doubtful_work_pass(
    kind: GateKind, options: tuple[str, ...], careful: str, choices: str
) -> None:
    opened = replace(ask("?", kind), options=options)
    run = Scene(steps=[step_of("a")], events=[opened], live=[]).run()

    command = answer_command(opened, driven=False)

    assert command == f"drumline answer {opened.gate} {careful} --resume"
    assert tell_choices(run, command) == f"{command}  ({choices})"
    assert tell_choices(run, "drumline status") == "drumline status"


@pytest.mark.parametrize(("room", "lines"), [(12, 12), (5, 6)])
def test_a_question_on_the_board_leaves_room_for_the_board(room: int, lines: int) -> None:
    shown = (*(f"line {number}" for number in range(10)), "approve or reject")

    rows = entry_rows(Entry(gate=ask("?").gate, question=shown), 80, room)

    told = ["".join(text for text, _ in row) for row in rows]
    assert len(told) == lines
    assert told[-2].strip() == "approve or reject"
    assert ("… drumline why shows the rest" in told[-3]) == (room < len(shown))
