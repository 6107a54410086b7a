"""What belongs to the judge and what to the work: as a plan says it, and as the configuration does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, make_user, step_of, step_text, write_plan
from tests.acceptance.liescenes import FILES, MORE, RIGHT, TESTS, WEAKENED, WRONG, act

GOLDEN = "diff -r out golden"
ONE = """import unittest

from calc import one


class One(unittest.TestCase):
    def test_one(self):
        self.assertEqual(one(), 1)
"""


def project(folder: Path, step: str, **files: str) -> User:
    user = make_user(folder)
    for path, text in {**FILES, **files}.items():
        (user.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / path).write_text(text, encoding="utf-8")
    write_plan(user.repo / PLAN, step)
    return user


def test_a_step_whose_tests_are_part_of_it_needs_one(tmp_path: Path) -> None:
    step = step_text("step-1", checks=("make test",)).replace("status: ", "tests: true\nstatus: ")
    user = project(tmp_path, step)
    user.play(
        {"match": {"attempt": 1}, "write": {"calc.py": RIGHT}},
        {"match": {"attempt": 2}, "write": {"tests/test_calc.py": MORE}},
    )
    user.commit_all("project")

    ran = user.run()

    assert ran.code == 0, ran.text
    found = user.step("step-1")
    assert (found["attempts"], found["fixes"], found["proved"]) == (2, 1, True), found
    assert "Tests are part of this step" in user.prompt("step-1")
    assert "none was added or changed" in user.prompt("step-1", attempt=2)


def test_a_chunk_whose_tests_are_part_of_it_needs_one(tmp_path: Path) -> None:
    user = project(tmp_path, step_text("step-1"))
    chunk = {
        "id": "c1",
        "scope": "Fix it",
        "files": ["calc.py"],
        "model": "haiku",
        "tests": True,
        "checks": ["make test"],
    }
    plan = {"description": "Fix", "waves": [[chunk]]}
    (user.repo / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    user.play({"match": {}, "write": {"calc.py": RIGHT}})
    user.commit_all("project")

    ran = user.drumline("run", "plan.json", "--agent", "scripted:agent.yaml", "--retries", "1")

    assert ran.code == 2, ran.text
    assert "1 fix (validation): tests are part of this step, and none was added or changed" in ran.text


@pytest.mark.parametrize(
    ("write", "proof"),
    [
        (
            {"calc.py": RIGHT, "tests/test_calc.py": TESTS.replace("(2, 3), 5", "(4, 3), 7")},
            {"level": "proved", "why": []},
        ),
        ({"calc.py": WRONG, "tests/test_calc.py": WEAKENED}, {"level": "kept", "why": ["green_before"]}),
        (
            {"calc.py": f"{WRONG}\n\ndef one():\n    return 1\n", "tests/test_calc.py": "", "tests/test_one.py": ONE},
            {"level": "kept", "why": ["tests_changed"]},
        ),
    ],
    ids=["edited", "weakened", "removed"],
)
def test_tests_that_are_part_of_a_step_may_change_but_not_vanish_unseen(
    tmp_path: Path, write: dict[str, str], proof: dict[str, object]
) -> None:
    user = act(tmp_path, {"write": write}, name="`tests: true`")

    assert step_of(user.status(), "step-1")["proof"] == proof


def test_what_the_configuration_calls_a_judge_is_one(tmp_path: Path) -> None:
    config = 'judge = ["golden/"]\n'
    files = {"out/a.txt": "1\n", "golden/a.txt": "2\n", ".drumline/config.toml": config}

    user = act(tmp_path, {"write": {"golden/a.txt": "1\n"}}, check=GOLDEN, files=files)

    step = step_of(user.status(), "step-1")
    assert step["proof"] == {"level": "kept", "why": ["green_before", "tests_changed"]}
    assert f"git show {str(step['commit'])[:9]} -- golden/a.txt" in user.type("why", "step-1").out
