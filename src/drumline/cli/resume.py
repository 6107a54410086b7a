"""`drumline resume`: drive a run on that was interrupted, parked, blocked or cancelled."""

from __future__ import annotations

import time
from collections.abc import Mapping
from shlex import quote
from typing import cast

import anyio
import click

from drumline.app.catalog import find_run, read_run
from drumline.app.inbox import check_mode, check_retry, name_person, send
from drumline.cli.merging import merge_if_due
from drumline.cli.options import config_option, json_option, run_argument
from drumline.cli.recordings import check_record, record_option
from drumline.cli.sending import choose_config, drive_on_with, open_session, settle_config
from drumline.cli.warning import name_specs, say_unjailed
from drumline.core.flow.events import FlowEnded
from drumline.core.ids import FLOW, Stream
from drumline.core.mirror import has_late_marks
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Project, open_project


@click.command("resume")
@run_argument
@click.option("--step", "steps", multiple=True, metavar="ID", help="Retry this blocked step; may be repeated.")
@click.option("--mode", type=click.Choice(("parallel", "sequential")), help="For steps not yet started.")
@click.option("--jobs", type=int, help="Steps this process works on at once.")
@record_option
@config_option
@click.option("--background", is_flag=True, hidden=True)
@json_option
def command(run: str, record: str, background: bool, as_json: bool, **typed: object) -> int:
    """Drive RUN (the newest if not given) on from where it was."""
    project = open_project()
    project.check_speaker()
    place = check_record(project, record)
    store = project.open_store()
    try:
        found = find_run(store, run)
        state = read_run(store, found)
        if merge_if_due(project, state, as_json=as_json):
            return 0
        _check_unfinished(store, state)
        project = project.with_settings({"jobs": typed["jobs"]}, {})
        begun = state.begun
        specs = name_specs((begun.agent, *begun.fallback), state.plan.steps, begun.profiles)
        say_unjailed(specs, sandbox=project.settings.sandbox)
        _speak(project, store, state, typed)
        return drive_on_with(open_session(project, store, state, as_json=as_json, record=place), quietly=background)
    finally:
        store.close()


def _speak(project: Project, store: SqliteStore, run: RunState, typed: Mapping[str, object]) -> None:
    """Tell the run what was typed: the configuration it continues with, the steps to try again, and the mode."""
    steps, mode, who = cast(tuple[str, ...], typed["steps"]), typed["mode"], name_person()
    retried = [check_retry(run, name, lambda: project.watcher(store, run).look(time.time())) for name in steps]
    if not project.roster.drivers(run.id):
        config = cast(str | None, typed["config"])
        settle_config(project, store, run, choose_config(run, config, again=bool(steps)))
    for step in retried:
        anyio.run(send, store, project.roster, run.id, Message(kind="retry", subject=step, by=who))
    if mode is not None:
        check_mode(run, str(mode))
        anyio.run(send, store, project.roster, run.id, Message(kind="mode", value=str(mode), by=who))


def _check_unfinished(store: SqliteStore, run: RunState) -> None:
    """Refuse a run that is done, unless a mark of it is late, and a walk that came to an end."""
    ends = [recorded.event for recorded in store.read(Stream(run.id, FLOW), kinds=(FlowEnded.__name__,))]
    if run.ended is not None and any(isinstance(event, FlowEnded) and not event.scope for event in ends):
        hint = f"drumline flow run {quote(run.begun.plan)}"
        raise InvalidInput(f"run {run.id} has ended as {run.ended.state}", hint=hint)
    if run.ended is not None and run.ended.state == RunEnd.DONE and not has_late_marks(run):
        raise InvalidInput(f"run {run.id} is done; nothing is left to do", hint="drumline run PLAN")
