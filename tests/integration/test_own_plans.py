"""Plans that people write by hand, with headings and boxes of their own: what a person would tick is ticked."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.core.plan import Marks, Status
from drumline.planfiles import open_plan

DONE = Marks(status=Status.DONE)
STEPS = (
    "# Plan\n\n## Step 1: Set up\n\nFirst this.\n\n- [ ] Make a folder\n- [ ] Fill it\n\n## Step 2: Go\n\n1. [ ] Run\n"
)
BARE = "# Plan\n\n## Step 1: Set up\n\nMake a folder.\n\n## Step 2: Go\n\nRun.\n"
PHASES = """# Implementation plan

## Phase 1: Ground

### Tasks

- [ ] Make a folder
  - [ ] and another
- [x] Fill it

### Success Criteria

- [ ] It looks good

## Phase 2: Walls

- [ ] Build

### Success Criteria

- It stands
"""


def finish(folder: Path, text: str, *, name: str, count: int) -> tuple[str, str]:
    """Land that many steps of the plan; its format, and its text then. Read again, they are done."""
    (folder / name).write_bytes(text.encode())
    files = open_plan(folder / name, repo=folder)
    steps = files.read().plan.steps[:count]
    for step in steps:
        files.write(step, Marks(status=Status.CLAIMED, assignee="me", claimed_at="2030-01-02T03:04:05Z"))
        files.write(step, DONE)
    again = open_plan(folder / name, repo=folder).read()
    assert [again.marks[step.id] for step in steps] == [DONE] * count
    return again.plan.format, (folder / name).read_bytes().decode()


def test_boxes_below_headings_of_steps_are_the_steps(tmp_path: Path) -> None:
    format, text = finish(tmp_path, STEPS, name="PLAN.md", count=3)

    assert format == "checklist"
    assert text == STEPS.replace("[ ]", "[x]")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_heading_without_a_word_for_its_status_stays_as_it_is(tmp_path: Path, newline: str) -> None:
    written = BARE.replace("\n", newline)

    format, text = finish(tmp_path, written, name="PLAN.md", count=2)

    assert (format, text) == ("implement", written)
    assert (tmp_path / "PLAN.md.drumline.json").exists()


def test_words_of_a_status_that_are_there_are_changed(tmp_path: Path) -> None:
    _, tagged = finish(tmp_path, BARE.replace("Set up", "Set up [pending]"), name="PLAN.md", count=1)

    assert tagged == BARE.replace("Set up", "Set up [done]")


def test_an_implement_file_still_gets_its_status(tmp_path: Path) -> None:
    _, text = finish(tmp_path, BARE, name="implement.md", count=1)

    assert text == BARE.replace("Set up", "Set up [done]")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_boxes_of_a_phases_tasks_are_ticked_and_those_of_its_criteria_left_to_people(
    tmp_path: Path, newline: str
) -> None:
    written = "\ufeff" + PHASES.replace("\n", newline)

    format, text = finish(tmp_path, written, name="IMPLEMENTATION_PLAN.md", count=2)

    wanted = written.replace("[ ] Make", "[x] Make").replace("[ ] and", "[x] and").replace("[ ] Build", "[x] Build")
    assert (format, text) == ("dag", wanted)
