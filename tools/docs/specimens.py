"""Small plans of every format. What the reference says of a format is found by reading and writing these."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Reading, Severity, Status
from drumline.planfiles import open_plan
from drumline.planfiles.sidecar import sidecar_of
from drumline.ports.planfiles import Correction, PlanFiles
from drumline.record import Record, replace

WORD = "WORD"
"""Where a specimen has its status."""
NO_STATUS = "no_status"
CORRECTION = Correction(
    id=StepId("1h"), title="Another way", what="Do B.", why="A did not work.", files=("a.py",), test="make b"
)


class Specimen(Record):
    """A plan of one step: its file, where the plan is, and the word for a step nobody has begun."""

    format: str
    title: str
    file: str
    text: str
    word: str = "pending"
    plan: str = ""
    beside: Mapping[str, str] | None = None

    @property
    def has_words(self) -> bool:
        """Whether the file has a place for a status."""
        return WORD in self.text


class Written(Record):
    """What a write left: the lines that are new or changed in the file, the keys kept beside it."""

    lines: tuple[str, ...]
    beside: str


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        format="dag",
        title="dag",
        plan="p",
        file="p/step-1.md",
        beside={"p/root.md": "# P\n"},
        text="---\nid: step-1\nstatus: WORD\n---\n\n#### Automated Verification:\n\n- [ ] `make`\n",
        word="ready",
    ),
    Specimen(
        format="dag",
        title="dag, linear variant",
        file="p.md",
        text="# P\n\n## Phase 1: A\n\n#### Automated Verification:\n\n- [ ] `make`\n",
    ),
    Specimen(
        format="phased",
        title="phased",
        plan="plans",
        file="plans/steps/01-a.md",
        text="---\nstep: 1\ntitle: A\nstatus: WORD\n---\n\n## Test commands\n\n- [ ] `make`\n",
    ),
    Specimen(
        format="speckit",
        title="speckit",
        file="specs/001-a/tasks.md",
        text="# Tasks: P\n\n## Phase 1: Setup\n\n- [ ] T001 [P] Do A in src/a.py\n  - Run: `make`\n",
    ),
    Specimen(
        format="taskmaster",
        title="taskmaster",
        file=".taskmaster/tasks/tasks.json",
        text='{"master": {"tasks": [{"id": 1, "title": "A", "status": "WORD", "checks": ["make"]}]}}\n',
    ),
    Specimen(
        format="superpowers",
        title="superpowers",
        file="docs/superpowers/plans/p.md",
        text="# P\n\n### Task 1: A\n\n- [ ] **Step 1: Verify**\n\nRun: `make`\nExpected: PASS\n",
    ),
    Specimen(
        format="kiro",
        title="kiro",
        file=".kiro/specs/a/tasks.md",
        text="# Implementation Plan\n\n- [ ] 1. Do A\n  - Run: `make`\n  - _Requirements: 1.1_\n",
    ),
    Specimen(
        format="openspec",
        title="openspec",
        file="openspec/changes/a/tasks.md",
        text="## 1. Group\n\n- [ ] 1.1 Do A\n  - Run: `make`\n",
    ),
    Specimen(
        format="checklist",
        title="checklist",
        file="TODO.md",
        text="# P\n\n- [ ] Do A\n  - Run: `make`\n",
    ),
    Specimen(
        format="implement",
        title="implement, status on a line",
        file="implement.md",
        text="# P\n\n### Step 1: A\n**Status:** WORD\n**Test:** `make`\n",
    ),
    Specimen(
        format="implement",
        title="implement, status in the heading",
        file="implement.md",
        text="# P\n\n## Step 1: A [WORD]\n\n**Verification:** `make`\n",
    ),
    Specimen(
        format="maestro",
        title="maestro, state file",
        file="active-session.md",
        text='---\nphases:\n  - id: 1\n    name: A\n    status: "WORD"\n    agents: [coder]\n    parallel: true\n'
        "    blocked_by: []\n    checks: [make]\n---\n",
    ),
    Specimen(
        format="maestro",
        title="maestro, plan in markdown",
        file="a-impl-plan.md",
        text="## Phase 1: A\n\n### Agent: coder\n### Parallel: Yes\n\n### Validation\n- [ ] `make`\n",
    ),
    Specimen(
        format="maestro",
        title="maestro, plan as JSON or YAML",
        file="p.json",
        text='{"phases": [{"id": 1, "name": "A", "agent": "coder", "parallel": true, "blocked_by": []}]}\n',
    ),
    Specimen(
        format="waves",
        title="waves",
        file="p.json",
        text='{"waves": [[{"id": "c1", "scope": "A", "model": "sonnet", "checks": ["make"]}]]}\n',
    ),
)


def read_word(specimen: Specimen, word: str) -> tuple[Status | None, bool]:
    """The status a word is read as, None if it is none here; and whether reading it gives a warning of its own."""
    with _opened(replace(specimen, word=word)) as (_, files):
        found = files.read()
    if found.errors or any(problem.code == NO_STATUS for problem in found.problems):
        return None, False
    quiet = {problem.code for problem in _read_usual(specimen).problems}
    drifted = any(p.severity is Severity.WARNING and p.code not in quiet for p in found.problems)
    return found.marks[found.plan.steps[0].id].status, drifted


def write_marks(specimen: Specimen, *marks: Marks) -> Written:
    """What the last of several writes in a row leaves; the boxes of the checks are ticked when the step is done."""
    with _opened(specimen) as (file, files):
        step = files.read().plan.steps[0]
        before = file.read_text(encoding="utf-8")
        for wanted in marks:
            before = file.read_text(encoding="utf-8")
            lines = [check.line for check in step.checks if check.line]
            files.write(step, wanted, ticked=lines if wanted.status is Status.DONE else ())
        after = file.read_text(encoding="utf-8")
        beside = sidecar_of(file)
        kept = beside.read_text(encoding="utf-8") if beside.exists() else ""
    new = [line[1:].strip() for line in _difference(before, after) if line.startswith("+")]
    return Written(lines=tuple(new), beside=kept)


def insert_step(specimen: Specimen) -> dict[str, tuple[str, ...]]:
    """The lines that a corrective step adds (`+`) and takes away (`-`), by file."""
    with _opened(specimen) as (file, files):
        step = files.read().plan.steps[0]
        top = file.parents[specimen.file.count("/")]
        before = _texts(top)
        files.insert(replace(CORRECTION, id=StepId(f"{step.id}h")), helps=step)
        after = _texts(top)
    return {name: _difference(before.get(name, ""), text) for name, text in after.items() if text != before.get(name)}


def _texts(top: Path) -> dict[str, str]:
    found = sorted(path for path in top.rglob("*") if path.is_file())
    return {path.relative_to(top).as_posix(): path.read_text(encoding="utf-8") for path in found}


def _difference(before: str, after: str) -> tuple[str, ...]:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))
    return tuple(line for line in lines[2:] if not line.startswith("@@"))


def _read_usual(specimen: Specimen) -> Reading:
    with _opened(specimen) as (_, files):
        return files.read()


@contextmanager
def _opened(specimen: Specimen) -> Iterator[tuple[Path, PlanFiles]]:
    """The specimen on disk, with its own word for a step nobody has begun."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        texts = {**(specimen.beside or {}), specimen.file: specimen.text.replace(WORD, specimen.word)}
        for name, text in texts.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text, encoding="utf-8")
        yield top / specimen.file, open_plan(top / (specimen.plan or specimen.file), repo=top)
