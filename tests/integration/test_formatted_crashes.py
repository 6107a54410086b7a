"""A formatter changes the work between an intent and its outcome: wherever the process dies, the same lands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, small_plan, step

from drumline.core.ids import StepId
from drumline.core.plan import Check
from drumline.core.vocabulary import CheckKind
from drumline.ports.processes import Ended, Job
from drumline.record import replace

APPENDS = 10
FORMAT = Check(command="format", kind=CheckKind.FORMAT)


def play(job: Job) -> Ended:
    """A formatter that makes letters big in all files, and a check that wants them so."""
    if job.argv[-1] == FORMAT.command:
        for path in (path for path in job.cwd.iterdir() if path.is_file()):
            path.write_text(path.read_text().upper())
        return Ended(exit_code=0, seconds=0.0)
    file = job.cwd / "a.txt"
    return Ended(exit_code=0 if file.exists() and file.read_text() == "A\n" else 1, seconds=0.0)


def build(folder: Path) -> Harness:
    """One step whose work is formatted before it is judged."""
    own = step("a")
    plan = small_plan(replace(own, checks=(*own.checks, FORMAT)))
    return Harness(folder=folder, plan=plan, mode="sequential", script=play)


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    harness = build(tmp_path)

    harness.drive()

    assert harness.store.appends == APPENDS


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, APPENDS + 1))
def test_work_that_is_formatted_lands_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build(tmp_path)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    tip = harness.workspaces.log()[-1][0]
    assert run.ended is not None
    assert run.ended.state == "done"
    assert harness.workspaces.files(tip) == {"README": "hello\n", "a.txt": "A\n"}
    assert run.finished[StepId("a")].fixes == 0
    assert not harness.store.list_claims(RUN)
