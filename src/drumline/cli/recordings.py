"""`--record FILE`: the recorder that goes with a run, and what is said about it in the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drumline.cli.output import say
from drumline.core.ids import RunId
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Site

if TYPE_CHECKING:
    from drumline.app.flowrecording import FlowRecorder
    from drumline.app.recording import PlanRecorder, Recording

record_option = click.option(
    "--record", default="", metavar="FILE", help="Write a script from which the run can be played without a model."
)
NAMED = 5


def check_record(site: Site, file: str) -> Path | None:
    """The file to record to, if one is wanted; InvalidInput, before anything begins, if it cannot be."""
    if not file:
        return None
    from drumline.app.recording import check_place

    place = site.here / file
    check_place(place)
    return place


@contextmanager
def record_plan(site: Site, store: SqliteStore, run: RunId, place: Path | None) -> Iterator[PlanRecorder | None]:
    """The recorder of a run of a plan, if one is wanted; at the end it is told what there is."""
    if place is None:
        yield None
        return
    from drumline.app.recording import PlanRecorder

    recorder = PlanRecorder(_begin(place, run), store=store, run=run, common_dir=site.repository.common_dir)
    yield recorder
    _tell(recorder.recording, recorder.problem)


@contextmanager
def record_flow(run: RunId, place: Path | None) -> Iterator[FlowRecorder | None]:
    """The recorder of a run of a flow, if one is wanted; at the end it is told what there is."""
    if place is None:
        yield None
        return
    from drumline.app.flowrecording import FlowRecorder

    recorder = FlowRecorder(_begin(place, run))
    try:
        yield recorder
    finally:
        recorder.close()
    _tell(recorder.recording, recorder.problem)


def _begin(place: Path, run: RunId) -> Recording:
    from drumline.app.recording import Recording
    from drumline.core.redaction import read_redaction

    return Recording(place, run=run, redaction=read_redaction(os.environ))


def _tell(recording: Recording, problem: str) -> None:
    say(f"recorded in {recording.path}; play it again with: --agent scripted:{recording.path}")
    if recording.withheld:
        more = f" and {len(recording.withheld) - NAMED} more" if len(recording.withheld) > NAMED else ""
        say(f"  secrets were left out of {', '.join(recording.withheld[:NAMED])}{more}: these will not be the same")
    if problem:
        say(f"  the recording is not complete: {problem}")
