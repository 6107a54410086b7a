"""`--record FILE`: the recorder that goes with a run, and what is said about it in the end.

The rule: a run that is recorded stays so with any driver. Its folder has the name of the file, which is not part
of the journal as nothing is decided by it. A recording that cannot be gone on with never stops a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drumline.app.catalog import read_run
from drumline.cli.output import say
from drumline.core.ids import RunId
from drumline.core.plaintext import name_some
from drumline.core.state import RunState
from drumline.errors import DrumlineError, InvalidInput
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Project

if TYPE_CHECKING:
    from drumline.app.recorder import Recorder
    from drumline.app.recording import Recording

record_option = click.option(
    "--record", default="", metavar="FILE", help="Write a script from which the run can be played without a model."
)


def check_record(project: Project, file: str) -> Path | None:
    """The file to record to, if one is wanted; InvalidInput, before anything begins, if it cannot be."""
    if not file:
        return None
    from drumline.app.recording import check_place

    place = project.here / file
    check_place(place)
    return place


@contextmanager
def record_run(project: Project, store: SqliteStore, run: RunState, place: Path | None) -> Iterator[Recorder | None]:
    """The recorder of a run, if one is wanted or was; at the end it is told what there is."""
    recording = _settle(project, run.id, place)
    if recording is None:
        yield None
        return
    recorder = _open_recorder(project, store, run, recording)
    try:
        yield recorder
    finally:
        recorder.close(over=read_run(store, run.id).ended is not None)
    _tell(recorder.recording, recorder.problem)


def _open_recorder(project: Project, store: SqliteStore, run: RunState, recording: Recording) -> Recorder:
    from drumline.app.recorder import Recorder

    return Recorder(
        recording,
        store=store,
        run=run.id,
        common_dir=project.repository.common_dir,
        room=_room(project, run.id) / "seen",
    )


def _room(project: Project, run: RunId) -> Path:
    """What belongs to the recording of a run; no step can be called so."""
    return project.logs(run) / ".recording"


def _settle(project: Project, run: RunId, place: Path | None) -> Recording | None:
    """The recording that is wanted now, or that an earlier driver of this run was told to make."""
    note = _room(project, run) / "file"
    if place is not None:
        recording = _begin(place, run)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_bytes(os.fsencode(place.absolute()))
        return recording
    try:
        known = Path(os.fsdecode(note.read_bytes()))
    except FileNotFoundError:
        return None
    try:
        return _go_on(known, run)
    except DrumlineError as error:
        say(f"this run is not recorded any more: {error}")
        say(f"  next: drumline resume {run} --record FILE")
        return None


def _go_on(known: Path, run: RunId) -> Recording:
    from drumline.app.recording import check_place, read_origin

    check_place(known)
    origin = read_origin(known)
    if origin not in ("", run):
        raise InvalidInput(f"{known} is a recording of run {origin} by now", hint="drumline resume --record FILE")
    return _begin(known, run)


def _begin(place: Path, run: RunId) -> Recording:
    from drumline.app.recording import Recording
    from drumline.core.redaction import read_redaction

    return Recording(place, run=run, redaction=read_redaction(os.environ))


def _tell(recording: Recording, problem: str) -> None:
    say(f"recorded in {recording.path}; play it again with: --agent scripted:{recording.path}")
    if recording.withheld:
        say(f"  secrets were left out of {name_some(recording.withheld)}: these will not be the same")
    if problem:
        say(f"  the recording is not complete: {problem}")
