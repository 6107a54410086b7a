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


LINEAR = """# P

## Phase 1: One

### Success Criteria:

#### Automated Verification:

- [x] `make one`

#### Automated QA:

#### Manual Verification:

## Phase 2: Two

### Success Criteria:

#### Automated Verification:

- [ ] `make two`
- [ ] it looks good

#### Automated QA:

#### Manual Verification:

- [ ] Look at it
"""
PLACES = {"plans/steps/01-one.md": "plans", "p/step-1.md": "p"}
"""What is opened as the plan where that is not the file itself."""
PHASED = "---\nstep: 1\ntitle: One\nstatus: pending\ndepends_on: []\n---\n# One\n\n## Test commands\n\n- `make one`\n"
DAG = (
    "---\nid: step-1\nname: One\nfiles: [a.py]\ntier: strong\nagent: other\nestimate: 2\nalone: true\n"
    "checks: [make all]\nred_first: [make one, make more]\nstatus: ready\n---\n# One\n\n"
    "#### Automated Verification:\n\n- [ ] `make one`\n- [ ] `make lint`\n"
)


def converted(folder: Path, name: str, text: str) -> tuple[Reading, Reading]:
    """The plan as it was read, and the native one made of it as that is read."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    files = open_plan(folder / PLACES.get(name, name), repo=folder)
    before = files.read()
    write_pages(folder / "native", convert(files, before, date="2026-01-01"))
    return before, open_plan(folder / "native", repo=folder).read()


def essence(step: Step) -> Step:
    """The step without what depends on where it is written."""
    checks = tuple(Check(command=check.command, red_first=check.red_first) for check in step.checks)
    ordered = step.ordered and bool(step.needs)
    return replace(step, checks=checks, path="", line=0, text_digest="", binding=True, ordered=ordered, manual_lines=())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.json", json.dumps(PHASES)),
        ("chunks.json", json.dumps(CHUNKS)),
        ("implement.md", IMPLEMENT),
        ("linear.md", LINEAR),
        ("plans/steps/01-one.md", PHASED),
        ("p/step-1.md", DAG),
    ],
    ids=["maestro", "waves", "implement", "linear", "phased", "dag"],
)
def test_a_converted_plan_means_the_same(tmp_path: Path, name: str, text: str) -> None:
    before, after = converted(tmp_path, name, text)

    assert not after.errors
    assert sorted(map(essence, after.plan.steps), key=lambda s: s.id) == sorted(
        map(essence, before.plan.steps), key=lambda s: s.id
    )
    assert after.marks == before.marks


def test_what_must_be_red_before_the_work_is_a_field_of_the_native_format(tmp_path: Path) -> None:
    before, _ = converted(tmp_path, "p/step-1.md", DAG)

    checks = {check.command: check.red_first for check in before.plan.steps[0].checks}
    assert checks == {"make one": True, "make lint": False, "make all": False, "make more": True}


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


def test_ids_that_differ_only_by_a_dot_are_told_apart_in_the_drawing(tmp_path: Path) -> None:
    tasks = "# T\n\n- [ ] 1.1 One\n  - _Requirements: 1_\n- [ ] 1.2 Two\n- [ ] 11 Three\n- [ ] 12 Four\n"

    _, after = converted(tmp_path, "tasks.md", tasks)

    assert [problem.code for problem in after.problems if problem.code != "no_checks"] == []
