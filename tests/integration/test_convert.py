"""Conversions into the native format: what a step is and how it is to be run comes along, from any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drumline.app.convert import convert, write_pages
from drumline.core.plan import Check, Reading, Status, Step
from drumline.planfiles import open_plan
from drumline.record import replace

PHASES = {
    "phases": [
        {"id": 1, "name": "Look", "agent": "architect", "parallel": False, "blocked_by": []},
        {"id": "b", "name": "A: b | c", "agent": "coder", "parallel": True, "blocked_by": [1], "files": ["src/**"]},
        {"id": 3, "name": "Write", "agent": "technical_writer", "parallel": True, "blocked_by": [1, "b"]},
    ]
}
CHUNKS = {
    "description": "d",
    "waves": [
        [{"id": "c1", "scope": "One", "files": ["a.py"], "model": "haiku"}],
        [{"id": "c2", "scope": "Two", "files": [], "model": "opus", "opusReview": True}],
    ],
}
IMPLEMENT = """# Implementation Plan: X

## Steps

### Step 1: One
**Status:** done
**Files:** `a.py`
**What:** x
**Test:** `make one`

### Step 2: Two
**Status:** blocked
**Blocked:** no luck
**What:** `### Step 9: no`
**Test:** by eye
"""


def converted(folder: Path, name: str, text: str) -> tuple[Reading, Reading]:
    """The plan as it was read, and the native one made of it as that is read."""
    (folder / name).write_text(text, encoding="utf-8")
    files = open_plan(folder / name, repo=folder)
    before = files.read()
    write_pages(folder / "native", convert(files, before, date="2026-01-01"))
    return before, open_plan(folder / "native", repo=folder).read()


def essence(step: Step) -> Step:
    """The step without what depends on where it is written."""
    checks = tuple(Check(command=check.command) for check in step.checks)
    ordered = step.ordered and bool(step.needs)
    return replace(step, checks=checks, path="", line=0, text_digest="", binding=True, ordered=ordered)


@pytest.mark.parametrize(
    ("name", "text"),
    [("plan.json", json.dumps(PHASES)), ("chunks.json", json.dumps(CHUNKS)), ("implement.md", IMPLEMENT)],
    ids=["maestro", "waves", "implement"],
)
def test_a_converted_plan_means_the_same(tmp_path: Path, name: str, text: str) -> None:
    before, after = converted(tmp_path, name, text)

    assert not after.errors
    assert sorted(map(essence, after.plan.steps), key=lambda s: s.id) == sorted(
        map(essence, before.plan.steps), key=lambda s: s.id
    )
    assert after.marks == before.marks


def test_roles_and_steps_that_run_alone_stay_what_they_are(tmp_path: Path) -> None:
    _, after = converted(tmp_path, "plan.json", json.dumps(PHASES))

    kept = {str(step.id): (step.role, step.alone, step.tier) for step in after.plan.steps}
    assert kept["1"] == ("architect", True, "strong")
    assert kept["b"] == ("coder", False, "standard")


def test_a_step_of_another_repository_becomes_a_skipped_one(tmp_path: Path) -> None:
    tagged = IMPLEMENT.replace("## Steps", "**Other repos required:** Other-Repo\n\n## Steps").replace(
        "Step 1: One", "Step 1: One [Other-Repo]"
    )

    before, after = converted(tmp_path, "implement.md", tagged)

    assert before.plan.steps[0].elsewhere == "Other-Repo"
    marks = next(after.marks[step.id] for step in after.plan.steps if step.id == "1")
    assert (marks.status, marks.reason) == (Status.SKIPPED, "to be done in the repository Other-Repo")
