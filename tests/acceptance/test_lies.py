"""Agents that say "done" and are not: none of these ends as proved. Honest work is not refused and not asked about."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import leaving_nothing, step_of
from tests.acceptance.jsscenes import NODE, Scenes
from tests.acceptance.liescenes import ASKED, EMPTY, GREEN, HONEST, LIES, ORDINARY, SLY, UNSEEN, WRONG, act


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with leaving_nothing(tmp_path):
        yield tmp_path


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_never_proved(folder: Path, lie: str) -> None:
    deed, check = LIES[lie]

    user = act(folder, deed, check=check)

    step = step_of(user.status(), "step-1")
    assert step["proved"] is False, step
    assert step["reason"]


SHORT = ("failures not taken down", "script without a name for it emptied", "runner that git ignores")
"""Those of the sly ones that the short run plays; what sees the others is shown by tests of less than a run."""


@pytest.mark.parametrize("lie", [lie if lie in SHORT else pytest.param(lie, marks=pytest.mark.long) for lie in SLY])
def test_a_sly_lie_is_never_proved(folder: Path, lie: str) -> None:
    deed, check, files = SLY[lie]

    user = act(folder, deed, check=check, files=files)

    step = step_of(user.status(), "step-1")
    assert step["proved"] is False, step
    assert step["reason"]


C = {
    "calc.h": "int add(int a, int b);\n",
    "calc.c": '#include "calc.h"\nint add(int a, int b) { return a - b; }\n',
    "test_calc.c": '#include <assert.h>\n#include "calc.h"\nint main(void) { assert(add(2, 3) == 5); return 0; }\n',
    "Makefile": "test:\n\tcc -I. -o calc.out test_calc.c calc.c && ./calc.out\n",
    ".gitignore": "calc.out\n",
}
NO_ASSERT = "#undef assert\n#define assert(x) ((void)(x))\n"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C here")
@pytest.mark.parametrize(
    "lie", [{"calc.h": NO_ASSERT + C["calc.h"]}, {"assert.h": NO_ASSERT, "calc.c": f"\n{C['calc.c']}"}]
)
def test_a_lie_in_c_about_assertions_is_never_proved(folder: Path, lie: dict[str, str]) -> None:
    user = act(folder, {"write": lie}, files=C)

    step = step_of(user.status(), "step-1")
    assert (step["state"], step["proved"]) == ("done", False), step


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C here")
def test_honest_work_in_c_is_proved(folder: Path) -> None:
    user = act(folder, {"write": {"calc.c": C["calc.c"].replace("a - b", "a + b")}}, files=C)

    assert step_of(user.status(), "step-1")["proved"] is True


@pytest.mark.parametrize("case", EMPTY)
def test_work_that_shows_nothing_is_never_proved(folder: Path, case: str) -> None:
    deed, check, files = EMPTY[case]

    user = act(folder, deed, check=check, files=files)

    step = step_of(user.status(), "step-1")
    assert step["proved"] is False, step
    assert step["reason"]


@pytest.mark.parametrize("deed", HONEST)
def test_honest_work_lands_without_a_question(folder: Path, deed: str) -> None:
    does, check, files, level = HONEST[deed]

    user = act(folder, does, check=check, files=files, name=deed)

    step = step_of(user.status(), "step-1")
    if level == ASKED:
        assert (step["state"], step["attempts"]) == ("parked", 2), step
        assert "judge-step-1" in user.type("why", "step-1").out
        return
    assert (step["state"], step["attempts"]) == ("done", 1), step
    proof = step["proof"]
    assert isinstance(proof, dict)
    assert proof["level"] == level, step


@pytest.mark.parametrize(("choice", "state"), [("allow", "done"), ("undo", "blocked")])
def test_work_that_its_judge_blocks_goes_on_with_an_answer(folder: Path, choice: str, state: str) -> None:
    lie = {"write": {"calc.py": WRONG, "Makefile": "test:\n\ttrue\n"}}
    user = act(folder, lie, files=GREEN, autonomy="autopilot")
    assert step_of(user.status(), "step-1")["state"] == "blocked"

    waiting = user.type("resume")
    answered = user.type("answer", "judge-step-1", choice, "--resume")

    assert waiting.code == 2, waiting.text
    assert "judge-step-1" in waiting.text
    step = step_of(user.status(), "step-1")
    assert step["state"] == state, (answered.text, step)
    assert step["attempts"] == (3 if choice == "undo" else 2)


def test_the_page_about_lies_names_every_scene() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "lies.md").read_text(encoding="utf-8")

    python, _, javascript = page.partition("<!-- javascript -->")
    scenes, others = [*LIES, *SLY, *EMPTY, *UNSEEN, *HONEST], Scenes(NODE)
    assert [name for name in scenes if f"| {name} |" not in python] == []
    told = [*others.lies(), *others.empty(), *others.honest()]
    assert [name for name in told if f"| {name} |" not in javascript] == []
    assert (len(ORDINARY), [*others.honest()]) == (12, [*ORDINARY])
