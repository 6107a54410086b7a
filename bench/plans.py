"""Plans of any size on disk, as people write them, and the state a run leaves that did all but a few of their steps."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import anyio

from bench.idle import RUN, begun, claim_walks, idle_tools, walk_together
from drumline.core.events import Event, PlanMirrored, PlanPinned, StepStarted
from drumline.core.ids import RunId, Stream
from drumline.core.plan import Marks, Reading, Status, Step
from drumline.core.runfold import fold_run
from drumline.core.schedule import assignee
from drumline.core.state import RunState
from drumline.engine.loading import keep_checkpoint, load_run
from drumline.planfiles import open_plan
from drumline.planfiles.source import digest
from drumline.ports.journal import Addition
from drumline.store.sqlite import SqliteStore

LANES = 10
"""Steps that can be worked on at once."""
TOGETHER = 200
PER_FOLDER = 100
"""Files in each folder of a large repository."""
PLAN = Path("plans/bench")

_ROOT = """---
plan_type: dag
status: in-progress
---

# A plan of {count} steps

Written to be measured.
"""
_STEP = """---
id: step-{number}
name: Build part {number}
depends_on: [{needs}]
status: {status}
files: [src/part_{number}.py, tests/test_part_{number}.py]
---

# step-{number}: Build part {number}

## Overview

Part {number} takes what the parts before it made and adds its own share to it. It keeps their promises, changes none of
their files, and says in its docstring what the next part may rely on.

## Changes Required:

#### 1. The part itself

**File**: `src/part_{number}.py`
**Changes**: add `build_part_{number}()`, which returns the part as a frozen record:

```python
def build_part_{number}() -> Part:
    return Part(number={number})
```

### Success Criteria:

#### Automated Verification:
- [{tick}] Tests pass: `python -m pytest -q tests/test_part_{number}.py`
- [{tick}] Types hold: `python -m mypy src/part_{number}.py`

#### Automated QA:
- [ ] An agent builds part {number} twice and gets equal records

#### Manual Verification:
- [ ] The docstring says what the next part may rely on
"""


def step_text(number: int, *, done: bool = False) -> str:
    """A step's file as a person wrote it, or as it is once the step has landed."""
    before = [n for n in (number - LANES, number - LANES - 1 if number % LANES == 5 else 0) if n > 0]
    needs = ", ".join(f"step-{n}" for n in before)
    return _STEP.format(number=number, needs=needs, status="done" if done else "ready", tick="x" if done else " ")


def write_plan(repo: Path, count: int, *, done: int = 0) -> Path:
    """A plan of `count` steps in the repository, the first `done` of them landed; returns its folder."""
    folder = repo / PLAN
    folder.mkdir(parents=True)
    (folder / "root.md").write_text(_ROOT.format(count=count), encoding="utf-8")
    for number in range(1, count + 1):
        (folder / f"step-{number}.md").write_text(step_text(number, done=number <= done), encoding="utf-8")
    return folder


def make_repository(folder: Path) -> Path:
    """A git repository with one commit; returns its path."""
    folder.mkdir(parents=True)
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return folder


def write_files(top: Path, count: int) -> None:
    """Write so many small files, in folders of a hundred."""
    for number in range(count):
        file = top / f"part-{number // PER_FOLDER}" / f"file-{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"file {number}\n", encoding="utf-8")


LOOKS = 200
"""Steps after which the beginning of a checkpoint is looked for; a driver looks in every round."""


def record_run(store: SqliteStore, reading: Reading, *, done: int) -> RunId:
    """Record a run that landed the first `done` steps, event by event as a driver does; returns its id.

    The files are in that state already. Their digests before it, which the beginning pins, are those of the texts
    they had.
    """
    plan = reading.plan
    steps = plan.steps[:done]
    digests = dict(reading.digests)
    digests |= {step.path: digest(step_text(n).encode()) for n, step in enumerate(steps, 1)}
    started = begun(plan)
    pinned = PlanPinned(format=plan.format, title=plan.title, steps=plan.steps, digests=digests)
    run = fold_run(RunState(id=RUN), [started, pinned])
    anyio.run(_append, store, [started, pinned])
    for first in range(0, len(steps), TOGETHER):
        anyio.run(_land_all, store, run, steps[first : first + TOGETHER], reading)
        if first // LOOKS != (first + TOGETHER) // LOOKS:
            loaded = load_run(store, RUN)
            keep_checkpoint(store, loaded.state, seq=loaded.seq, checked=loaded.checked)
    return RUN


async def _append(store: SqliteStore, events: Sequence[Event]) -> None:
    await store.append({Stream(RUN): Addition(events=events)})


async def _land_all(store: SqliteStore, run: RunState, steps: Sequence[Step], reading: Reading) -> None:
    def opening(step: Step) -> list[Event]:
        claimed = Marks(status=Status.CLAIMED, assignee=assignee(run), claimed_at="2026-01-01T00:00:00Z")
        mirrored = PlanMirrored(step=step.id, marks=claimed, path=step.path, digest="0" * 32)
        return [mirrored, StepStarted(step=step.id)]

    walks = claim_walks(store, run, steps, opening, tools=idle_tools())
    await walk_together(walks)
    for walk, _ in walks:
        store.release(RUN, walk.step, walk.token)
    await _append(store, [_landed(step, reading) for step in steps])


def _landed(step: Step, reading: Reading) -> PlanMirrored:
    ticked = tuple(check.line for check in step.checks)
    return PlanMirrored(
        step=step.id, marks=Marks(status=Status.DONE), path=step.path, digest=reading.digests[step.path], ticked=ticked
    )


def read_plan(repo: Path) -> Reading:
    """The plan in the repository, parsed."""
    return open_plan(repo / PLAN, repo=repo).read()
