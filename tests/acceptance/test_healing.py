"""A step that stays red gets another way: a diagnosis, a corrective step in the plan, and an end that names it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.flowland import write_files
from tests.acceptance.userland import Rule, User, make_user, states_of, step_text

DIAGNOSIS = {
    "verdict": "heal",
    "cause": "the file is written in the wrong place",
    "evidence": "step-1.txt:1",
    "title": "Write it where it belongs",
    "approach": "Write step-1.txt at the top.",
}


def open_user(folder: Path, *rules: Rule, check: str = "grep right step-1.txt") -> User:
    """Two steps, of which the first is never right by itself."""
    user = make_user(folder, step_text("step-1", checks=[check]), step_text("step-2", ["step-1"]))
    wrong = {"match": {"step": "step-1"}, "write": {"step-1.txt": "wrong\n"}}
    user.play(*rules, wrong)
    return user


def answer(**more: object) -> Rule:
    """What the agent says that is asked for a diagnosis."""
    return {"match": {"step": "step-1", "node": "diagnose"}, "say": json.dumps({**DIAGNOSIS, **more})}


def steps_of(user: User) -> dict[str, dict[str, object]]:
    """The steps of the run by their ids."""
    listed = user.status()["steps"]
    assert isinstance(listed, list)
    return {step["id"]: step for step in listed}


def test_two_strikes_then_another_way_that_lands_for_the_step(tmp_path: Path) -> None:
    right = {"match": {"step": "step-1h"}, "write": {"step-1.txt": "right\n"}}
    user = open_user(tmp_path, answer(), right)

    ran = user.run()

    status = steps_of(user)
    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"step-1": "done", "step-1h": "done", "step-2": "done"}
    assert (status["step-1"]["landed_by"], status["step-1"]["commit"]) == ("step-1h", None)
    assert status["step-1"]["proved"]
    assert status["step-1h"]["proved"]
    assert "step-1 adds to the plan (heal): step-1h" in ran.err
    assert "done: step-1 Make step-1 (landed by step-1h, checks 1/1, proved)" in ran.err
    assert "# step-1h: Write it where it belongs" in user.file("step-1h")
    assert "status: done" in user.file("step-1")
    assert "landed by step-1h" in user.drumline("why", "step-1").out
    assert user.git("log", "--format=%s", f"main..{user.branch()}").splitlines() == [
        "[step-2] Make step-2",
        "[step-1h] Write it where it belongs",
    ]


def test_a_corrective_step_is_not_healed_itself_and_two_ways_are_tried(tmp_path: Path) -> None:
    user = open_user(tmp_path, answer(), {"match": {"step": "step-1h"}, "write": {"step-1.txt": "still wrong\n"}})

    ran = user.run()

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked", "step-1h": "blocked", "step-2": "waiting"}
    assert not list(user.repo.rglob("step-1hh.md"))


def test_a_plan_that_is_wrong_is_for_people(tmp_path: Path) -> None:
    user = open_user(tmp_path, answer(verdict="plan", cause="step-0 does it already", evidence="src/a.py:3"))

    ran = user.run()

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked", "step-2": "waiting"}
    assert "the diagnosis (plan): step-0 does it already src/a.py:3" in user.drumline("why", "step-1").out


def test_a_diagnosis_that_changes_files_is_void(tmp_path: Path) -> None:
    user = open_user(tmp_path, {**answer(), "write": {"step-1.txt": "right\n"}})

    ran = user.run()

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked", "step-2": "waiting"}


def test_in_quick_and_without_fixes_nobody_is_asked(tmp_path: Path) -> None:
    user = open_user(tmp_path, answer())

    without = user.run("--retries", "0")
    write_files(user, {".drumline/config.toml": 'rigor = "quick"\n'})
    quick = user.run("--new")

    assert without.code == quick.code == 2
    assert "diagnose" not in without.err + quick.err
    assert states_of(user.status()) == {"step-1": "blocked", "step-2": "waiting"}
