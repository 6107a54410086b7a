"""Looking at a plan's files again: what has not changed is not parsed, and what has changed is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import step_text, write_plan

from drumline.app.readings import NAME, Readings
from drumline.core.ids import StepId
from drumline.core.plan import Reading, Status
from drumline.planfiles import open_plan
from drumline.planfiles.dag import DagLayout

STEPS = ("step-1", "step-2")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    write_plan(tmp_path / "p", *(step_text(name) for name in STEPS))
    return tmp_path / "p"


def look(plan: Path) -> Reading:
    """The plan as a new process sees it that knows an older text of step-1 from the journal."""
    files = open_plan(plan, repo=plan.parent)
    known = files.read()
    old = Reading(plan=known.plan, marks=known.marks, digests={**known.digests, "p/step-1.md": "older"})
    return Readings(planfiles=open_plan(plan, repo=plan.parent), cache=plan.parent / NAME).read(old)


def test_a_second_look_parses_nothing(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = look(plan)
    files = open_plan(plan, repo=plan.parent)
    monkeypatch.setattr(DagLayout, "parse", lambda *_: pytest.fail("parsed again"))

    again = Readings(planfiles=files, cache=plan.parent / NAME).read(Reading(plan=first.plan, marks={}, digests={}))

    assert again == first


def test_a_file_that_changed_since_the_last_look_is_parsed(plan: Path) -> None:
    look(plan)
    step = plan / "step-2.md"
    step.write_text(step.read_text().replace("status: ready", "status: blocked"))

    assert look(plan).marks[StepId("step-2")].status is Status.BLOCKED


def test_a_fault_in_a_file_is_told_at_every_look(plan: Path) -> None:
    step = plan / "step-2.md"
    step.write_text(step.read_text().replace("depends_on: []", "depends_on: [step-9]"))

    told = [[problem.code for problem in look(plan).errors] for _ in range(2)]

    assert told[0] == told[1] != []


@pytest.mark.parametrize("damage", ["", "{}", '{"version":"0.0.0","reading":{}}', "\x00"])
def test_a_reading_that_cannot_be_used_is_made_anew(plan: Path, damage: str) -> None:
    first = look(plan)
    (plan.parent / NAME).write_text(damage)

    assert look(plan) == first
