"""`drumline run tasks.md`: the format is named, how it was read is said on one screen, and the count comes true."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_tasks import make_repository, script
from tests.acceptance.cli_user import User, leaving_nothing

WRITES = {"run": 'echo 1 > "$DRUMLINE_STEP.txt"'}
KIRO = ".kiro/specs/a"
CRITERIA = (
    "# R\n\n### Requirement 1\n\n#### Acceptance Criteria\n\n1. WHEN running `test -s 1.2.txt` THEN it SHALL pass\n"
)
SPEC = (
    "## ADDED Requirements\n\n### Requirement: A file\nIt SHALL be there.\n\n#### Scenario: Looked for\n\n"
    "- **WHEN** running `test -s 1.2.txt`\n- **THEN** it succeeds\n"
)
FAILING = "\n#### Scenario: Missed\n\n- **WHEN** running `test -s never.txt`\n- **THEN** it fails\n"
TASKS = [
    {"id": 1, "title": "One", "testStrategy": "Run: `test -s 1.2.txt`", "subtasks": [
        {"id": 1, "title": "A", "testStrategy": "Run: `test -s 1.1.txt`"},
        {"id": 2, "title": "B", "dependencies": [1]},
    ]},
    {"id": 2, "title": "Two", "status": "deferred", "checks": ["test -s 2.txt"]},
    {"id": 3, "title": "Three", "dependencies": [2], "checks": ["test -s 3.txt"]},
]  # fmt: skip
SUPERPOWERS = """# A Implementation Plan

### Task 1: One

- [ ] **Step 1: Write the failing test**

Run: `test -s 1.txt`
Expected: FAIL

- [ ] **Step 2: Make it pass**

Run: `test -s 1.txt`
Expected: PASS

### Task 2: Two

- [ ] **Step 1: Look**

Run: `test -s 2.txt`
Expected: two lines that look good
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with leaving_nothing(tmp_path):
        yield tmp_path


def run(user: User, plan: str, *args: str) -> tuple[int, str, str]:
    ran = user.type("run", plan, "--agent", script(user, WRITES), "--autonomy", "autopilot", *args)
    return ran.code, ran.out, ran.err


@pytest.mark.parametrize(
    ("plan", "files", "told"),
    [
        (
            "tasks.md",
            {"tasks.md": "# P\n\n- [x] T-0 Old\n- [ ] T-1 One\n  - Run: `test -s T-1.txt`\n- [ ] T-2 Two\n"},
            "would be proved: 1 of 2",
        ),
        (
            f"{KIRO}/tasks.md",
            {
                f"{KIRO}/tasks.md": "# P\n\n- [ ] 1. Group\n  - Run: `test -s 1.2.txt`\n  - [ ] 1.1 One\n"
                "  - [ ] 1.2 Two\n  - [ ]* 1.3 Tests\n"
            },
            "would be proved: 1 of 2",
        ),
        (
            "tasks.json",
            {"tasks.json": json.dumps({"tasks": TASKS})},
            "would be proved: 2 of 2 (not counted: 2 held up by a blocked or failed step)",
        ),
        (
            "docs/superpowers/plans/a.md",
            {"docs/superpowers/plans/a.md": SUPERPOWERS},
            "would be proved: 1 of 2",
        ),
        (
            "tasks.md",
            {"tasks.md": "# P\n\n- [ ] T-1 One\n  - Run: `true`\n- [ ] T-2 Two\n  - Test: `make test || true`\n"},
            "would be proved: 0 of 2",
        ),
    ],
    ids=["checklist", "kiro", "taskmaster", "superpowers", "checks that cannot fail"],
)
def test_as_many_steps_are_proved_as_was_said(folder: Path, plan: str, files: Mapping[str, str], told: str) -> None:
    user = make_repository(folder, files)

    seen = user.type("validate", plan).out
    _, out, err = run(user, plan)

    assert f"  {told}\n" in seen
    assert f"  {told}\n" in err
    assert f"landed, {told.split()[3]} proved" in out


def test_the_first_run_explains_on_one_screen_how_the_plan_is_read(folder: Path) -> None:
    plan = "# A list\n\n- [ ] T-1 One\n- [ ] T-2 Two\n  - Run: `test -s T-2.txt`\n"
    user = make_repository(
        folder, {"TODO.md": plan, "Makefile": "test:\n\ttest -s T-1.txt\nlint:\n\ttest -s T-1.txt\n"}
    )

    code, _, err = run(user, "TODO.md")
    again = user.type("run", "TODO.md", "--new", "--dry-run").out
    told, _, _ = err.partition("nobody has accepted")

    assert code == 2, err  # T-1 has no check
    assert "format: checklist — every box is a step and needs the one before" in told
    assert "a check is: an item below a task that is a label and one command" in told
    assert "written back: the box of a task that has landed" in told
    assert "order: 2 waves" in told
    assert "would be proved: 1 of 2" in told
    assert "proposed for every step without a check: make lint (from Makefile)" in told
    assert "proposed for every step without a check: make test (from Makefile)" in told
    assert "drumline checks TODO.md --accept" in told
    assert len(told.splitlines()) <= 24
    assert "format: checklist" in again
    assert not (user.repo / "TODO.md.drumline.json").exists()


def test_a_dry_run_says_the_same_to_people_and_to_scripts(folder: Path) -> None:
    files = {"TODO.md": "# A list\n\n- [ ] T-1 One\n- [ ] T-2 Run `make slow`\n", "Makefile": "test:\n\tfalse\n"}
    user = make_repository(folder, files)

    shown = user.type("run", "TODO.md", "--dry-run").out
    told = user.type("run", "TODO.md", "--dry-run", "--json").json

    assert "format: checklist" in shown
    assert "would be proved: 0 of 2" in shown
    assert "proposed for step T-2: make slow (from its title)" in shown
    assert (told["format"], told["proved"], told["of"]) == ("checklist", 0, 2)
    assert told["proposed"] == [
        {"command": "make test", "step": "", "from": "Makefile"},
        {"command": "make slow", "step": "T-2", "from": "its title"},
    ]
    assert user.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("plan", "files", "step", "why"),
    [
        (
            f"{KIRO}/tasks.md",
            {
                f"{KIRO}/tasks.md": "# P\n\n- [ ] 1.1 One\n  - _Requirements: 1.1_\n"
                "- [ ] 1.2 Two\n  - _Requirements: 1.1_\n",
                f"{KIRO}/requirements.md": CRITERIA,
            },
            "1.2",
            "criterion 1.1",
        ),
        (
            "openspec/changes/a/tasks.md",
            {
                "openspec/changes/a/tasks.md": "## 1. Do\n\n- [ ] 1.1 One\n- [ ] 1.2 Two\n",
                "openspec/changes/a/specs/f/spec.md": SPEC + FAILING,
            },
            "1.2",
            "scenario f: Looked for",
        ),
        (
            "tasks.json",
            {
                "tasks.json": json.dumps(
                    {
                        "tasks": [
                            {
                                "id": 1,
                                "title": "One",
                                "acceptanceCriteria": ["`test -s 1.2.txt` passes"],
                                "subtasks": [
                                    {"id": 1, "title": "A"},
                                    {"id": 2, "title": "B", "dependencies": [1]},
                                ],
                            }
                        ]
                    }
                )
            },
            "1.2",
            "criterion",
        ),
    ],
    ids=["kiro", "openspec", "taskmaster"],
)
def test_what_a_criterion_says_is_run_is_proposed_for_the_step_that_ends_it(
    folder: Path, plan: str, files: Mapping[str, str], step: str, why: str
) -> None:
    user = make_repository(folder, files)

    told = user.type("checks", plan, "--accept", "--json").json
    _, out, _ = run(user, plan)

    assert told["accepted"] == [{"command": "test -s 1.2.txt", "step": step, "from": why}]
    assert (told["proved"], told["of"]) == (1, 2)
    assert "2 of 2 steps landed, 1 proved" in out


def test_a_check_of_a_group_whose_steps_end_in_any_order_is_named(folder: Path) -> None:
    tasks = [{"id": 1, "title": "One", "checks": ["make all"], "subtasks": [{"id": n, "title": "x"} for n in (1, 2)]}]
    user = make_repository(folder, {"tasks.json": json.dumps({"tasks": tasks})})

    told = user.type("validate", "tasks.json")

    assert "task 1 has a check, 'make all', that no step runs: its steps may end in any order" in told.text
    assert "[group_check]" in told.text
