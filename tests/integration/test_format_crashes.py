"""Wherever the process dies, a plan of another tool ends with exactly the bytes of a run that nothing struck."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent
from tests.integration.test_samples import FORMATS, SAMPLES, open_sample
from tests.samples.shape import Sample

from drumline.core.events import StepLanded
from drumline.core.plan import Status
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.planfiles import PlanFiles
from drumline.ports.processes import Ended, Job
from drumline.record import replace

STRIDE = 5
"""One of so many appends is struck in `make test`; the others in `make test-full`."""


class Noting(WritingAgent):
    """Reports two durable facts of each step, one of them the same for all."""

    async def work(self, assignment: Assignment) -> Outcome:
        facts = f"- Durable Facts:\n  - Times are in UTC\n  - {assignment.step} is slow\n    with many rows\n"
        message = f"# Task Report\n\n- Status: success\n{facts}"
        return replace(await WritingAgent.work(self, assignment), message=message)


def pass_all(job: Job) -> Ended:
    """Every check passes."""
    return Ended(exit_code=0, seconds=0.0, output="")


@dataclass(kw_only=True)
class FiledHarness(Harness):
    """A harness whose plan is a file on disk."""

    files: PlanFiles
    file: Path

    @property
    def source(self) -> PlanFiles:
        return self.files


def build(folder: Path, format: str) -> FiledHarness:
    """A plan of three tasks, one after the other."""
    name = next(iter(SAMPLES[format].values())).name
    text = import_module(f"tests.samples.{format}").many(3)
    file, files = open_sample(folder / "repo", Sample(text=text, steps="", name=name), format=format)
    plan = files.read().plan
    assert len(plan.steps) == 3
    harness = FiledHarness(folder=folder, plan=plan, files=files, file=file, agent=Noting(), script=pass_all)
    harness.mode, harness.require = "sequential", "none"  # these plans have no checks
    return harness


def end(harness: FiledHarness) -> dict[str, bytes]:
    """Drive to the end, through a death if one is due; the files of the plan then."""
    run = harness.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert sum(isinstance(recorded.event, StepLanded) for recorded in harness.store.tail(RUN)) == 3
    assert {marks.status for marks in harness.files.read().marks.values()} == {Status.DONE}
    return {path.name: path.read_bytes() for path in harness.file.parent.iterdir() if path.is_file()}


def assert_noted(harness: FiledHarness, whole: dict[str, bytes]) -> None:
    """The facts are in the notes beside a plan, each once; notes at the top of the repository are not the plan's."""
    at_top = harness.file.parent == harness.folder / "repo"
    notes = whole.get("NOTES.md", b"").decode()
    steps = [step.id for step in harness.plan.steps]

    assert [notes.count(f"{name} is slow with many rows (step {name}, run {RUN})") for name in steps] == (
        [0] * 3 if at_top else [1] * 3
    )
    assert notes.count("Times are in UTC") == (0 if at_top else 1)


def strike(folder: Path, format: str, *, first: int, stride: int) -> None:
    harness = build(folder / "whole", format)
    whole = end(harness)
    appends = harness.store.appends
    assert whole[harness.file.name] != b""
    assert_noted(harness, whole)
    for nth in range(first, appends + 1, stride):
        for when in ("before", "after"):
            struck = build(folder / f"{nth}-{when}", format)
            struck.die_at(nth, when=when)

            assert end(struck) == whole, f"struck {when} append {nth} of {appends}"


@pytest.mark.parametrize("format", FORMATS)
def test_a_run_that_is_struck_ends_with_the_bytes_of_one_that_is_not(tmp_path: Path, format: str) -> None:
    strike(tmp_path, format, first=2, stride=STRIDE)


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_a_run_ends_with_the_same_bytes_wherever_it_is_struck(tmp_path: Path, format: str) -> None:
    strike(tmp_path, format, first=1, stride=1)
