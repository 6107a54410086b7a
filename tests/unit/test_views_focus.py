"""What a person has chosen on a board, and the keys by which they do."""

from __future__ import annotations

from contextlib import nullcontext
from typing import cast

import pytest
from tests.unit.builders import DRIVER, Scene, attempt, finish, gate_for, join, prepared, step_of

from drumline.cli.desk import Desk
from drumline.cli.keys import split_keys
from drumline.core import events as ev
from drumline.core.ids import GateId, RunId, StepId
from drumline.record import replace
from drumline.store.sqlite import SqliteStore
from drumline.views.board import board_segments
from drumline.views.focus import Entry, Focus, Panel, move, panel_rows, scroll, toggle
from drumline.views.transcript import Happened
from drumline.wiring import Project

STEPS = [StepId(f"step-{number}") for number in range(1, 4)]
SCENE = Scene(
    steps=[
        step_of("step-1", title="Lay the foundation"),
        step_of("step-2", title="Raise the walls"),
        step_of("step-3", title="Paint"),
    ],
    events=[finish("step-1"), gate_for("approve-step-3", "step-3", question="Land it?")],
    streams={"step-2": [*prepared(), attempt(1)]},
    owners={"step-2": DRIVER},
    title="Build a house",
)
EDITS = Happened(at=1e6, kind="edit", text="src/walls/north.py")


def draw(focus: Focus, *, told: Happened | None = EDITS, wide: int = 80, high: int = 24) -> list[str]:
    seen = replace(SCENE.snapshot(), happened={StepId("step-2"): told} if told else {})
    return join(board_segments(seen, width=wide, height=high, tick=0, focus=focus))


def test_the_row_of_a_step_in_work_says_what_its_agent_does() -> None:
    told = Happened(at=1e6, kind="command", text="pytest -q tests/walls")

    assert draw(Focus())[4] == "◐ step-2 Raise the walls      implement, attempt 1: edits src/walls/north.py 10s"
    assert draw(Focus(), wide=60)[4] == "◐ step-2 Raise the wa… implement: edits src/walls/north… 10s"
    assert draw(Focus(), wide=40)[4] == "◐ step-2 Raise t… implement, attemp… 10s"
    assert draw(Focus(), told=told)[4].endswith("implement, attempt 1: $ pytest -q tests/walls 10s")
    assert draw(Focus(), told=None)[4].endswith("implement, attempt 1 10s")
    assert draw(Focus(), told=replace(told, at=1.0))[4].endswith("attempt 1 10s")  # the attempt before told it


def test_what_a_step_has_used_stands_before_the_time_where_there_is_room() -> None:
    usage = ev.UsageCounted(step=STEPS[1], agent="x", usage={"input": 11_600.0, "output": 400.0, "cost_usd": 0.03})
    scene = replace_events(usage)

    assert draw_scene(scene, 120)[4].endswith("implement, attempt 1 · 12k tokens $0.03 · 10s")


def test_an_open_row_says_once_what_its_only_agent_has_used() -> None:
    usage = ev.UsageCounted(step=STEPS[1], agent="x", usage={"input": 7.0, "attempts": 1.0, "unpriced": 1.0})
    focus = Focus(opened=frozenset({StepId("step-2")}))

    rows = join(board_segments(replace_events(usage).snapshot(), width=80, height=24, tick=0, focus=focus))

    assert [row.strip() for row in rows if "used" in row] == ["x used 7 input tokens, unpriced"]


def replace_events(*events: ev.Event) -> Scene:
    return Scene(
        steps=SCENE.steps, events=[*SCENE.events, *events], streams=SCENE.streams, owners=SCENE.owners, title="t"
    )


def draw_scene(scene: Scene, wide: int) -> list[str]:
    return join(board_segments(scene.snapshot(), width=wide, height=24, tick=0))


def test_a_chosen_row_has_a_mark_and_an_open_one_says_more() -> None:
    focus = toggle(move(Focus(keys=True), STEPS, -1))

    lines = draw(focus)

    assert lines[5].startswith("?▸step-3")
    assert lines[6].startswith("    step-3 is parked: waiting for an answer to gate approve-step-3: Land it?")
    assert lines[-1].startswith("↑↓ choose · enter open · a answer")
    assert not any("    step-3 is parked" in line for line in draw(toggle(focus)))


def test_of_many_steps_those_around_the_chosen_one_are_shown() -> None:
    steps = [step_of(f"step-{number}") for number in range(1, 501)]
    seen = Scene(steps=steps).snapshot()

    for size in ((80, 24), (200, 60)):
        focus = move(Focus(keys=True), [step.id for step in steps], 250)
        lines = join(board_segments(seen, width=size[0], height=size[1], tick=0, focus=focus))
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        assert sum("▸step-250 " in line for line in lines) == 1


def test_a_panel_covers_the_board_and_is_scrolled_to_its_end_and_not_beyond() -> None:
    focus = Focus(keys=True, panel=Panel(title="diff step-1", lines=tuple(f"line {n}" for n in range(30))))

    first, last = draw(focus, high=12), draw(scroll(scroll(focus, 500), -2), high=12)

    assert (first[0].rstrip()[-10:], first[1], first[-1]) == ("1-10 of 30", "line 0", "↑↓ space scroll · q back")
    assert last[1:4] == ["line 27", "line 28", "line 29"]
    assert len(first) == len(last) == 12


def test_an_answer_is_typed_below_its_question() -> None:
    entry = Entry(gate=GateId("g"), question=("Land it?", "approve or reject"), typed="appr", complaint="no such")

    lines = draw(Focus(keys=True, entry=entry))

    assert lines[-6:-1] == ["? Land it?", "  approve or reject", "  no such", "Answer: appr▏", lines[-2]]
    assert lines[-1] == "enter sends · esc leaves it for later"


@pytest.mark.parametrize(
    ("pressed", "keys"),
    [
        (b"ja", ["j", "a"]),
        (b"\x1b[A\x1b[B\r", ["up", "down", "enter"]),
        (b"\x1bOA", ["up"]),
        (b"\x1b[5~\x1b[6~", ["pgup", "pgdn"]),
        (b"\x1b[1~\x1b[4~\x1b[H\x1b[F", ["home", "end", "home", "end"]),
        (b"\x1b", ["esc"]),
        (b"ab\x7f", ["a", "b", "backspace"]),
        ("é漢".encode(), ["é", "漢"]),
        (b"\x1b[1;5Cx", ["x"]),
        (b"\x00\x01", []),
    ],
)
def test_keys_are_told_apart(pressed: bytes, keys: list[str]) -> None:
    assert list(split_keys(pressed)) == keys


def test_a_long_line_of_a_panel_is_folded_and_none_of_it_is_lost() -> None:
    words = " ".join(f"word-{n}" for n in range(20))
    panel = Panel(title="why step-1", lines=("first", words, *(f"line {n}" for n in range(30))))

    rows = panel_rows(panel, 40, 12)

    texts = ["".join(text for text, _ in row) for row in rows]
    assert all(len(text) <= 40 for text in texts)
    assert " ".join(" ".join(texts[2:7]).split()).startswith(words)
    assert "1-6 of 32" in texts[0]
    assert len(rows) == 12


def test_pages_of_a_panel_with_long_lines_leave_none_out() -> None:
    words = " ".join("word" for _ in range(20))
    lines = tuple(f"<{n}> {words}" for n in range(20))
    desk = Desk(
        project=cast(Project, None),
        run=RunId("r"),
        look=lambda step: SCENE.snapshot(),
        store=cast(SqliteStore, None),
        inbox=lambda: nullcontext(cast(SqliteStore, None)),
        focus=Focus(keys=True, panel=Panel(title="logs", lines=lines)),
    )
    seen: set[str] = set()
    for _ in lines:
        rows = desk.draw(SCENE.snapshot(), 40, 12, 0)
        seen |= {row[0][0].split()[0] for row in rows if row[0][0].startswith("<")}
        desk.press(" ", SCENE.snapshot())

    assert seen == {f"<{n}>" for n in range(20)}


def test_a_long_question_is_folded_above_the_answer_that_is_typed() -> None:
    options = "(options: seconds, an error or whatever the other readers of values do)"
    entry = Entry(gate=GateId("g"), question=(f"What is a number without a unit? {options}", "any text"))

    rows = draw(Focus(keys=True, entry=entry), high=24)

    text = " ".join(" ".join(rows).split())
    assert f"? What is a number without a unit? {options} any text Answer: ▏" in text
