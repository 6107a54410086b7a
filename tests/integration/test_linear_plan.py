"""Linear plans: phases in one file, whose boxes say what is done and whose sidecar keeps the rest."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import MANY, some
from tests.integration.mutated import mutate

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Reading, Status
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.linear import LinearDialect
from drumline.planfiles.stepfile import replace_spans
from drumline.ports.planfiles import Correction, PlanFiles

PLAN = """---
date: 2030-01-02
status: in-progress
autonomy: verbose
---
# The plan

## Overview

```
## Phase 9: in a fence
#### Automated Verification:
- [ ] `no`
```

## Phase 1: First

### Changes Required:

- [ ] `not a check`

### Success Criteria:

#### Automated Verification:
- [ ] Tests: `make test`
- [ ] Lint: `make lint`
- [ ] reads well

#### Automated QA:
- [ ] look at `the page`

#### Manual Verification:
- [ ] Colours

---

## Phase 2: Second

### Success Criteria:

#### Automated Verification:
- [ ] `make two`

#### Automated QA:
#### Manual Verification:

## Phase 3: Without boxes

Nothing to run.

## Appendix

- [ ] `no check either`
"""

CLAIMED = Marks(status=Status.CLAIMED, assignee="me", claimed_at="2030-01-02T03:04:05Z")
DONE = Marks(status=Status.DONE)


def open_text(folder: Path, text: str = PLAN) -> PlanFiles:
    file = folder / "2030-01-02-plan.md"
    file.write_bytes(text.encode())
    return open_plan(file, repo=folder)


def text_of(folder: Path) -> str:
    return (folder / "2030-01-02-plan.md").read_bytes().decode()


def findings(found: Reading) -> list[tuple[str, str]]:
    return [(problem.code, problem.where.rpartition(":")[2]) for problem in found.problems]


def test_phases_are_steps_that_need_the_one_before(tmp_path: Path) -> None:
    found = open_text(tmp_path).read()

    assert (found.plan.format, found.plan.title, found.plan.autonomy) == ("dag", "The plan", "verbose")
    assert [(step.id, step.title, step.needs) for step in found.plan.steps] == [
        ("phase-1", "First", ()),
        ("phase-2", "Second", ("phase-1",)),
        ("phase-3", "Without boxes", ("phase-2",)),
    ]
    assert [check.command for check in found.plan.steps[0].checks] == ["make test", "make lint"]
    assert found.plan.steps[0].manual == ("Colours",)
    assert findings(found) == [("check_not_command", "27"), ("no_checks", "47")]


def test_a_phase_is_done_when_the_box_of_every_command_is_ticked(tmp_path: Path) -> None:
    some = open_text(tmp_path, PLAN.replace("[ ] Tests", "[x] Tests")).read()
    every = open_text(tmp_path, PLAN.replace("[ ] Tests", "[x] Tests").replace("[ ] Lint", "[X] Lint")).read()

    assert some.marks[StepId("phase-1")] == Marks()
    assert every.marks[StepId("phase-1")] == DONE


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_done_ticks_the_commands_boxes_and_nothing_else(tmp_path: Path, newline: str) -> None:
    text = "\ufeff" + PLAN.replace("\n", newline)
    files = open_text(tmp_path, text)
    step = files.read().plan.steps[0]

    files.write(step, CLAIMED)
    assert text_of(tmp_path) == text
    files.write(step, DONE, ticked=[check.line for check in step.checks])

    assert text_of(tmp_path) == text.replace("[ ] Tests", "[x] Tests").replace("[ ] Lint", "[x] Lint")
    assert [path.name for path in tmp_path.iterdir()] == ["2030-01-02-plan.md"]


@pytest.mark.parametrize("phase", [0, 1, 2])
@pytest.mark.parametrize("status", list(Status))
def test_marks_read_back_from_any_state(tmp_path: Path, phase: int, status: Status) -> None:
    files = open_text(tmp_path)
    step = files.read().plan.steps[phase]
    marks = Marks(status=status, reason="" if status is Status.DONE else "why")
    lines = [check.line for check in step.checks]

    for before in (CLAIMED, DONE, CLAIMED, Marks(status=Status.BLOCKED, reason="x")):
        files.write(step, before, ticked=lines)
        files.write(step, marks, ticked=lines)

        assert files.marks(step) == marks
        assert files.read().marks[step.id] == marks
        assert files.read().plan.steps[phase].text_digest == step.text_digest


def test_ticking_by_hand_outweighs_the_sidecar(tmp_path: Path) -> None:
    files = open_text(tmp_path)
    step = files.read().plan.steps[1]
    files.write(step, CLAIMED)

    (tmp_path / "2030-01-02-plan.md").write_text(PLAN.replace("[ ] `make two`", "[x] `make two`"))

    assert files.marks(step) == DONE


def test_a_corrective_phase_stands_behind_the_one_it_helps(tmp_path: Path) -> None:
    files = open_text(tmp_path)
    words = {"what": "## Phase 7: evil\n\n#### Automated Verification:\n- [ ] `evil`", "why": "It failed."}
    correction = Correction(
        id=StepId("phase-2h"),
        title="Again",
        test="make a\nmake b",
        files=("a.py",),
        what=words["what"],
        why=words["why"],
    )

    files.insert(correction, helps=files.read().plan.steps[1])

    head, _, tail = PLAN.partition("## Phase 3")
    assert text_of(tmp_path).startswith(head + "## Phase 2h: Again\n\n> ## Phase 7")
    assert text_of(tmp_path).endswith("\n\n## Phase 3" + tail)
    found = files.read()
    assert [(step.id, step.needs) for step in found.plan.steps] == [
        ("phase-1", ()),
        ("phase-2", ("phase-1", "phase-2h")),
        ("phase-2h", ("phase-1",)),
        ("phase-3", ("phase-2",)),
    ]
    assert [check.command for check in found.plan.steps[2].checks] == ["make a", "make b"]


def test_a_corrective_phase_at_the_end_of_a_file_without_a_last_newline(tmp_path: Path) -> None:
    text = "## Phase 1: a\r\n#### Automated Verification:\r\n- [ ] `x`"
    files = open_text(tmp_path, text)

    files.insert(Correction(id=StepId("R1"), title="b", what="c", why="d"), helps=files.read().plan.steps[0])

    assert text_of(tmp_path).startswith(text + "\r\n\r\n## Phase R1: b\r\n")
    assert [step.needs for step in files.read().plan.steps] == [("R1",), ()]


@pytest.mark.parametrize(
    "text",
    [
        "# A document\n\n## Phase 1: prose only\n\nwords\n",
        "```\n## Phase 1: x\n#### Automated Verification:\n```\n",
        "",
    ],
)
def test_a_document_without_phases_and_criteria_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="not a plan"):
        open_text(tmp_path, text)


def test_boxes_without_phases_are_a_checklist(tmp_path: Path) -> None:
    files = open_text(tmp_path, "#### Automated Verification:\n- [ ] `x`\n")

    assert files.read().plan.format == "checklist"


@given(st.integers(0, 2**32))
@settings(max_examples=MANY, deadline=None)
def test_no_accident_to_a_document_is_more_than_a_problem(seed: int) -> None:
    found = LinearDialect().parse(mutate(PLAN, seed), "plan.md")

    assert set(found.marks) == {step.id for step in found.steps}
    assert all(problem.where.rpartition(":")[2].isdigit() for problem in found.problems)


@given(st.integers(0, 2**32), st.sampled_from([Status.READY, Status.DONE]))
@settings(max_examples=some(200), deadline=None)
def test_setting_a_phase_changes_its_boxes_only(seed: int, status: Status) -> None:
    dialect, text = LinearDialect(), mutate(PLAN, seed)
    before = dialect.parse(text, "plan.md")
    steps = [step for step in before.steps if step.id in before.boxed]
    if not steps or len(before.marks) != len(before.steps):
        return

    changed = replace_spans(text, dialect.edit(text, steps[0], Marks(status=status), ()))

    after = dialect.parse(changed, "plan.md")
    assert after.marks == {**before.marks, steps[0].id: Marks(status=status)}
    assert [step.text_digest for step in after.steps] == [step.text_digest for step in before.steps]
    assert len(changed) == len(text)


@pytest.mark.long
def test_phases_are_read_in_linear_time() -> None:
    def cost(phases: int) -> float:
        body = "\n\n#### Automated Verification:\n- [ ] `make x`\n\ntext\n\n"
        text = "".join(f"## Phase {number}: x{body}" for number in range(phases))
        started = time.process_time()
        assert len(LinearDialect().parse(text, "plan.md").steps) == phases
        return (time.process_time() - started) / phases

    cost(50)

    assert min(cost(800 + n) for n in range(3)) <= 3 * min(cost(100 + n) for n in range(3))
