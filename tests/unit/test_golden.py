"""Screens as a whole, compared with files: the board in two windows, and the report as a page.

`GOLDEN=write pytest tests/unit/test_golden.py` writes the files anew: look at them before you commit them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.builders import DRIVER, Scene, attempt, attempted, checked, finish, gate_for, join, prepared, step_of
from tests.unit.test_run_report import make
from tests.unit.test_views_gates import EVIDENCE

from drumline.core import events as ev
from drumline.core.ids import StepId
from drumline.core.proof import Level, Reason
from drumline.record import replace
from drumline.views.board import board_segments
from drumline.views.focus import Entry, Focus
from drumline.views.gates import list_choices, split_question
from drumline.views.reporthtml import report_html
from drumline.views.transcript import Happened

FILES = Path(__file__).with_name("golden")
TITLES = (
    "Package skeleton",
    "Parse a list of lines",
    "Parse quantities and units",
    "Command line",
    "Say how to use it",
)
ASKED = EVIDENCE.replace("step-1 (Say hello)", f"step-4 ({TITLES[4]})")
GATE = gate_for("approve-step-4", "step-4", options=("approve", "revise", "reject"), question=ASKED)
SCENE = Scene(
    steps=[step_of(f"step-{n}", *([f"step-{n - 40}"] if n > 40 else []), title=TITLES[n % 5]) for n in range(1, 501)],
    events=[
        finish("step-1"),
        finish("step-2", level=Level.KEPT, why=(Reason.GREEN_BEFORE,)),
        finish("step-3", "blocked", reason="still failing after 2 fixes (validation): pytest -q tests/test_units.py"),
        GATE,
        ev.UsageCounted(
            step=StepId("step-5"), agent="claude", usage={"input": 11_600.0, "output": 400.0, "cost_usd": 0.03}
        ),
    ],
    streams={
        "step-5": [*prepared(), attempt(1)],
        "step-6": [*prepared(), attempt(1)],
        "step-7": [*prepared(), *attempted(1), *checked(0)],
    },
    owners={"step-5": DRIVER, "step-6": DRIVER, "step-7": DRIVER},
    title="A parser for shopping lists",
)
TOLD = {
    StepId("step-5"): Happened(at=1e6, kind="edit", text="src/shopping/quantities.py"),
    StepId("step-6"): Happened(at=1e6, kind="command", text="python3 -m pytest -q tests/test_command_line.py"),
}
QUESTION = split_question(GATE)


def draw(focus: Focus, wide: int, high: int) -> str:
    """The board at one moment, as a terminal of this size shows it."""
    seen = replace(SCENE.snapshot(), happened=TOLD)
    return "\n".join(line.rstrip() for line in join(board_segments(seen, width=wide, height=high, tick=0, focus=focus)))


SCREENS = {
    "board-80x24.txt": lambda: draw(Focus(keys=True), 80, 24),
    "board-200x60.txt": lambda: draw(Focus(keys=True), 200, 60),
    "board-open-row.txt": lambda: draw(
        Focus(keys=True, selected=StepId("step-4"), opened=frozenset({StepId("step-4")})), 80, 24
    ),
    "board-answer.txt": lambda: draw(
        Focus(keys=True, entry=Entry(gate=GATE.gate, question=(QUESTION[0], *QUESTION[1], list_choices(GATE)))), 80, 24
    ),
    "report.html": lambda: report_html(make(diff=("diff --git a/src/a.py b/src/a.py", "@@ -1 +1 @@", "-old", "+new"))),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_as_it_was_looked_at(name: str) -> None:
    shown, file = f"{SCREENS[name]().rstrip()}\n", FILES / name
    if os.environ.get("GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")

    assert shown == file.read_text(encoding="utf-8"), "look at it, then: GOLDEN=write pytest tests/unit/test_golden.py"


@pytest.mark.parametrize(("name", "wide", "high"), [("board-80x24.txt", 80, 24), ("board-200x60.txt", 200, 60)])
def test_a_board_fits_its_window(name: str, wide: int, high: int) -> None:
    lines = SCREENS[name]().splitlines()

    assert len(lines) <= high
    assert max(map(len, lines)) <= wide
