"""The board: lines for any size, tested without a terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import (
    DRIVER,
    Scene,
    attempt,
    attempted,
    check_started,
    checked,
    finish,
    gate_for,
    join,
    prepared,
    step_of,
)

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import StepId
from drumline.core.plan import Marks, Problem, Status
from drumline.core.proof import Level
from drumline.core.vocabulary import RunEnd, RunStanding, StepStanding
from drumline.views.board import board_segments
from drumline.views.cells import cut, fit, flatten, width
from drumline.views.gates import gate_rows
from drumline.views.states import SPINNER, SYMBOLS

SMALL = Scene(
    steps=[
        step_of("step-1", title="Lay the foundation"),
        step_of("step-2", "step-1", title="Raise the walls", checks=3),
        step_of("step-3", "step-1", title="屋根を葺く作業をすべて終わらせる"),
        step_of("step-4", "step-2", "step-3", title="Move in"),
        step_of("step-5", title="Paint"),
    ],
    events=[
        finish("step-1"),
        finish("step-3", "blocked", reason="still failing after 2 fixes: make roof"),
        gate_for("approve-step-5", "step-5", options=("approve", "revise", "reject"), question="Land it?"),
    ],
    streams={"step-2": [*prepared(), *attempted(1), *checked(0), check_started(1)]},
    owners={"step-2": DRIVER},
    title="Build a house",
)


def draw(scene: Scene, *, wide: int = 80, high: int = 24, tick: int = 0) -> list[str]:
    """The scene's board."""
    return join(board_segments(scene.snapshot(), width=wide, height=high, tick=tick))


def spread(left: str, right: str) -> str:
    """A line of 120 cells with something at either end; each of 屋根を葺く… takes two."""
    wide = sum(2 if character >= "\u3000" else 1 for character in left)
    return left + " " * (120 - wide - len(right)) + right


def test_the_board_at_80_columns() -> None:
    assert draw(SMALL) == [
        "Build a house                                                     running 1m 40s",
        "run r1 · parallel · scripted:demo.yaml",
        "███████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 1/5",
        "✓ step-1 Lay the foundation                                        1/1 012345678",
        "◐ step-2 Raise the walls                               check 2 of 3: check 2 10s",
        "■ step-3 屋根を葺く作業をすべて終わらせる still failing after 2 fixes: make roof",
        "· step-4 Move in                        needs step-2 (running), step-3 (blocked)",
        "? step-5 Paint                                               gate approve-step-5",
        "? approve-step-5: Land it?",
        "  drumline answer approve-step-5 approve  (approve, revise or reject)",
        "1 blocked · 1 done · 1 parked · 1 running · 1 waiting · drumline/demo-r1",
    ]


def test_the_board_at_40_columns() -> None:
    assert draw(SMALL, wide=40) == [
        "Build a house             running 1m 40s",
        "run r1 · parallel · scripted:demo.yaml",
        "███████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 1/5",
        "✓ step-1 Lay the foundati… 1/1 012345678",
        "◐ step-2 Raise t… check 2 of 3: che… 10s",
        "■ step-3 屋根を葺く…  still failing aft…",
        "· step-4 Move in      needs step-2 (run…",
        "? step-5 Paint        gate approve-step…",
        "? approve-step-5: Land it?",
        "  drumline answer approve-step-5 approve",
        "■1 ✓1 ?1 ◐1 ·1 drumline/demo-r1",
    ]


def test_the_board_at_120_columns() -> None:
    assert draw(SMALL, wide=120) == [
        spread("Build a house", "running 1m 40s"),
        "run r1 · parallel · scripted:demo.yaml",
        "█" * 23 + "░" * 93 + " 1/5",
        spread("✓ step-1 Lay the foundation", "1/1 012345678"),
        spread("◐ step-2 Raise the walls", "check 2 of 3: check 2 10s"),
        spread("■ step-3 屋根を葺く作業をすべて終わらせる", "still failing after 2 fixes: make roof"),
        spread("· step-4 Move in", "needs step-2 (running), step-3 (blocked)"),
        spread("? step-5 Paint", "gate approve-step-5"),
        "? approve-step-5: Land it?",
        "  drumline answer approve-step-5 approve  (approve, revise or reject)",
        "1 blocked · 1 done · 1 parked · 1 running · 1 waiting · drumline/demo-r1",
    ]


def test_the_smallest_board_shows_what_presses_and_counts_the_rest() -> None:
    lines = draw(SMALL, wide=40, high=8)

    assert len(lines) == 8
    assert lines[3].startswith("◐ step-2 Raise")
    assert lines[4] == "… and 4 more"
    assert lines[5] == "? approve-step-5: Land it?"


def test_ten_thousand_steps_show_what_presses_then_the_latest_then_what_is_next() -> None:
    steps = [step_of("s0"), *(step_of(f"s{n}", f"s{n - 1}") for n in range(1, 10_000))]
    events = [finish(f"s{n}") for n in range(5_000)]
    streams = {"s5000": [*prepared(), attempt(1)]}
    scene = Scene(steps=steps, events=events, streams=streams, owners={"s5000": DRIVER})

    lines = draw(scene, high=24)

    assert len(lines) == 24
    shown = [line.split()[1] for line in lines[3:-2]]
    assert shown == ["s5000", *(f"s{n}" for n in range(4_994, 5_000)), *(f"s{n}" for n in range(5_001, 5_013))]
    assert lines[-2:] == ["… and 9,981 more", "5,000 done · 1 running · 4,999 waiting · drumline/demo-r1"]
    assert lines[2].endswith(" 5,000/10,000")


def test_a_finished_run_of_many_steps_shows_the_latest() -> None:
    scene = Scene(steps=[step_of(f"s{n}") for n in range(50)], events=[finish(f"s{n}") for n in range(50)])

    lines = draw(scene, high=10)

    assert [line.split()[1] for line in lines[3:-2]] == [f"s{n}" for n in range(45, 50)]
    assert lines[-2] == "… and 45 more"


def test_a_run_that_nobody_drives_names_the_command_that_does() -> None:
    scene = Scene(steps=[step_of("a")], live=())

    assert draw(scene)[-1].startswith("drumline resume r1 · 1 ready")


def test_more_gates_than_fit_are_counted() -> None:
    scene = Scene(steps=[step_of(f"s{n}") for n in range(9)], events=[gate_for(f"g{n}", f"s{n}") for n in range(9)])

    lines = draw(scene, high=16)

    assert len(lines) == 16
    assert "? g0: Go on?" in lines
    assert "… and 7 more gates: drumline status" in lines


def test_an_answer_that_is_given_replaces_the_way_to_give_it() -> None:
    scene = Scene(steps=[step_of("s")], events=[gate_for("g", "s")], answers={"g": "yes"})

    assert "  answered: yes" in draw(scene)


def test_an_edit_that_does_not_count_is_noticed() -> None:
    problem = Problem(code="cycle", message="a needs b needs a", where="plan/a.md:3")

    lines = draw(Scene(steps=[step_of("s")], problems=[problem]), high=8)

    assert lines[-2] == "! the edited plan does not count yet (1): plan/a.md:3: a needs b needs a"


def test_the_spinner_turns_with_the_tick_and_nothing_else_does() -> None:
    first, second = draw(SMALL, tick=0), draw(SMALL, tick=1)

    changed = [(a, b) for a, b in zip(first, second, strict=True) if a != b]

    assert [(a[0], b[0]) for a, b in changed] == [(SPINNER[0], SPINNER[1])]
    assert draw(SMALL, tick=len(SPINNER)) == first


def test_results_tell_proved_from_unproved_and_declared() -> None:
    events = [finish("a"), finish("b", proved=False), ev.StepsDeclared(steps=(StepId("c"),))]

    lines = draw(Scene(steps=[step_of("a"), step_of("b"), step_of("c")], events=events))

    assert lines[3].endswith(" 1/1 012345678")
    assert lines[4].endswith(" unproved: not run 1/1 012345678")
    assert lines[5].endswith(" declared")


def test_the_level_of_a_step_that_is_done_has_its_own_symbol_and_style() -> None:
    steps = [step_of("a"), step_of("b"), step_of("c"), step_of("d"), step_of("e")]
    levels = (Level.PROVED, Level.KEPT, Level.UNPROVED, Level.READ_ONLY)
    done = [finish(step.id, level=level) for step, level in zip(steps, levels, strict=False)]
    scene = Scene(steps=steps, events=[*done, ev.StepsDeclared(steps=(StepId("e"),))])

    rows = board_segments(scene.snapshot(), width=80, height=24, tick=0)

    looks = [row[0] for row in rows[3:8]]
    assert looks == [("✓ ", "done"), ("✓ ", "notice"), ("? ", "notice"), ("✓ ", "dim"), ("✓ ", "dim")]


def test_styles_are_words_a_face_can_colour() -> None:
    rows = board_segments(SMALL.snapshot(), width=80, height=24, tick=0)

    styles = {style for row in rows for _, style in row}

    assert {"done", "running", "blocked", "parked", "title", "dim"} <= styles
    assert styles <= {*StepStanding, *RunStanding, "title", "dim", "bar", "notice", ""}
    assert set(SYMBOLS) == set(StepStanding)


def test_no_title_can_steer_the_terminal() -> None:
    scene = Scene(steps=[step_of("s", title="a\x1b]0;x\x07\r\nb\u202e")], title="t\x1b[2J")

    assert all(character.isprintable() for line in draw(scene) for character in line)


def test_an_empty_plan_has_a_board() -> None:
    assert len(draw(Scene(steps=[]), high=8)) == 4


STATES = st.sampled_from(["", "done", "blocked", "failed", "skipped", "gate", "owned", "marked"])


@given(
    states=st.lists(st.tuples(STATES, st.text(max_size=60)), max_size=30),
    wide=st.integers(40, 130),
    high=st.integers(8, 40),
)
def test_a_board_fits_its_size_whatever_it_shows(states: list[tuple[str, str]], wide: int, high: int) -> None:
    events: list[ev.Event] = []
    for number, (state, text) in enumerate(states):
        if state == "gate":
            events.append(gate_for(f"gate-{number}", f"s{number}", question=text))
        elif state in ("done", "blocked", "failed", "skipped"):
            events.append(finish(f"s{number}", state, reason=text))
    scene = Scene(
        steps=[step_of(f"s{number}", title=text) for number, (_, text) in enumerate(states)],
        events=events,
        owners={f"s{number}": DRIVER for number, (state, _) in enumerate(states) if state == "owned"},
        marks={
            f"s{number}": Marks(status=Status.BLOCKED, reason=text)
            for number, (state, text) in enumerate(states)
            if state == "marked"
        },
    )

    lines = draw(scene, wide=wide, high=high)

    assert len(lines) <= high
    assert max(width(line) for line in lines) <= wide
    assert json.dumps(lines)


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("漢字漢字", 5, "漢字…"),
        ("漢字漢字", 4, "漢…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
        ("ab", 0, ""),
    ],
)
def test_text_is_cut_by_cells(text: str, cells: int, expected: str) -> None:
    assert cut(text, cells) == expected
    assert width(fit(text, cells)) == cells


def test_flat_text_is_one_line_of_what_can_be_seen() -> None:
    assert flatten(" a\n\tb\x00c\ud800 ") == "a bc"
    assert flatten("abcdef", 4) == "abc…"


def test_a_question_of_an_agent_is_drawn_in_its_own_words() -> None:
    question = gates.question(step_of("a", title="It asks: what?"), 1, "which port?")
    scene = Scene(steps=[step_of("a")], events=[question])

    (drawn, _) = gate_rows(scene.snapshot(), 80, room=4)

    assert "".join(text for text, _ in drawn) == "? question-a: which port?"


def test_a_step_that_waited_at_a_gate_of_a_cancelled_run_says_who_cancelled_it() -> None:
    events = [
        gate_for("approve-step-1", options=("approve", "reject"), step="step-1"),
        ev.CancelRequested(by="ann", reason="wrong plan"),
        ev.RunEnded(state=RunEnd.CANCELLED),
    ]

    lines = draw(Scene(steps=[step_of("step-1", title="Paint")], events=events, live=[]))

    [row] = [line for line in lines if "Paint" in line]
    assert "None" not in row
    assert row.endswith("the run was cancelled by ann: wrong plan")
