"""A whole run is reviewed at its end: what is found becomes steps in the plan's files, in each format's own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, Rule, User, gates_of, make_user, states_of, step_text, write_script

BLOCKER = {"severity": "blocker", "file": "a.py", "line": 1, "title": "Loses data", "detail": "It is cut."}
STRAY = {**BLOCKER, "severity": "concern", "title": "Who owns it?", "step": "c9", "file": ""}
CHECKS = ["test -s a.py"]
CHUNKS = {
    "waves": [
        [{"id": "c1", "scope": "Write a", "files": ["a.py"], "model": "opus", "opusReview": True, "checks": CHECKS}]
    ]
}
IMPLEMENT = """# Implementation Plan: Small

## Steps

### Step 1: Write a
**Status:** pending
**Files:** `a.py`
**What:** Write a.py.
**Why:** It is asked for.
**Test:** `test -s a.py`
"""
PHASED = (
    "---\nstep: 1\ntitle: Write a\ndepends_on: []\nstatus: pending\n---\n\n"
    "## Objective\n\nWrite a.py.\n\n## Test commands\n\n- `test -s a.py`\n"
)
PLANS = {
    "dag": ("plans/p", "step-1", "step-R1", "plans/p/step-R1.md"),
    "waves": ("chunks.json", "c1", "R1", ""),
    "implement": ("implement.md", "1", "R1", "implement.md"),
    "phased": ("plans", "01", "R1", "plans/steps/R1-review-fix-loses-data.md"),
}


def look(*findings: object, fixed: tuple[str, ...] = (), **match: object) -> Rule:
    """What the reviewer answers."""
    return {"match": {"node": "look", **match}, "say": json.dumps({"findings": findings, "fixed": fixed})}


def open_user(folder: Path, kind: str, *reviews: Rule) -> User:
    """A plan of one step in a format, and an agent of its own that reviews; the whole is reviewed, too."""
    user = make_user(folder, step_text("step-1"))
    if kind == "implement":
        write_files(user, {"implement.md": IMPLEMENT})
    if kind == "waves":
        write_files(user, {"chunks.json": json.dumps(CHUNKS)})
    if kind == "phased":
        write_files(user, {"plans/steps/01-write-a.md": PHASED})
    config = 'review = "all"\nrigor = "standard"\n[agents.reviewer]\nagent = "scripted:reviewer.yaml"\n'
    write_files(user, {".drumline/config.toml": config})
    user.commit_all()
    write_script(user.repo / "reviewer.yaml", [*reviews, look()])
    holds = {"confirmed": [{"id": f"@final-F{n}", "why": "seen"} for n in (1, 2)], "refuted": []}
    user.play(
        {"match": {"node": "confirm"}, "say": json.dumps(holds)},
        {"match": {"node": "implement"}, "write": {"a.py": "x = 1\n", "step-1.txt": "1\n"}, "run": "date +%N >> a.py"},
    )
    return user


@pytest.mark.parametrize("kind", ["dag", *(pytest.param(k, marks=pytest.mark.long) for k in PLANS if k != "dag")])
def test_what_is_found_in_the_whole_is_a_step_of_the_plan_that_lands(tmp_path: Path, kind: str) -> None:
    plan, step, added, file = PLANS[kind]
    whole: Any = {"step": "@final"}
    first, again = look(BLOCKER, STRAY, **whole, attempt=1), look(fixed=("@final-F1",), **whole)
    user = open_user(tmp_path, kind, first, again)

    ran = user.drumline("run", plan, "--agent", SCRIPTED, "--autonomy", "autopilot")

    report: Any = user.drumline("report", "--json").json
    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {step: "done", added: "done"}
    assert f"@final adds to the plan (review): {added}" in ran.text
    assert "1 step for what it found" in ran.text
    if file:
        assert "Review fix: Loses data" in (user.repo / file).read_text(encoding="utf-8")
    assert (report["unresolvedBlockers"], report["hitReviewCap"], report["iterations"]) == ([], False, 1)
    assert [(one["title"], one["settled"]) for one in report["unassigned"]] == [("Who owns it?", "deferred")]


def test_blockers_of_the_whole_are_asked_about_and_one_is_accepted_by_name(tmp_path: Path) -> None:
    other = {**BLOCKER, "title": "Leaks", "file": "step-1.txt"}
    user = open_user(tmp_path, "dag", look(BLOCKER, other, step="@final"))

    parked = user.run("--autonomy", "critical")
    gate = gates_of(user.status())[0]
    named = user.drumline("answer", gate, "accept @final-F2", "--resume")
    left = gates_of(user.status())
    question = str(user.status()["gates"])
    ended = user.drumline("answer", left[0], "accept", "--resume")

    report: Any = user.drumline("report", "--json").json
    assert parked.code == 2, parked.text
    assert {name for name in states_of(user.status()) if "R" in name} == {"step-R1", "step-R2", "step-R1b", "step-R2b"}
    assert named.code == 2, named.text
    assert left != [gate]
    assert "Loses data" in question
    assert "Leaks" not in question
    assert ended.code == 0, ended.text
    assert "2 blockers accepted: Loses data, Leaks" in ended.text
    assert [one["settled"] for one in report["unresolvedBlockers"]] == ["accepted", "accepted"]


@pytest.mark.long
def test_a_person_puts_a_blocker_of_the_whole_right_by_hand_on_the_run_branch(tmp_path: Path) -> None:
    fixed = look(fixed=("@final-F1",), step="@final", attempt=4)
    user = open_user(tmp_path, "dag", fixed, look(BLOCKER, step="@final"))
    parked = user.run("--autonomy", "critical")
    gate, question = gates_of(user.status())[0], str(user.status()["gates"])
    branch = user.branch()
    place = tmp_path / "hand"
    user.git("worktree", "add", "-q", str(place), branch)
    (place / "a.py").write_text("x = 'by hand'\n")
    user.git("-c", "user.name=Kim", "-c", "user.email=k@example.org", "commit", "-qam", "Keep the data", cwd=place)
    user.git("worktree", "remove", str(place))

    user.drumline("answer", gate, "by_hand", "--resume")
    for name in gates_of(user.status()):
        user.drumline("answer", name, "accept", "--resume")

    report: Any = user.drumline("report", "--json").json
    assert parked.code == 2, parked.text
    assert f"commit a fix of your own to {branch}" in question
    assert "by hand" in user.landed("a.py")
    assert report["unresolvedBlockers"] == []
    assert report["state"] == "done"
