"""`drumline resume`: drive a run on that was interrupted, parked, blocked or cancelled."""

from __future__ import annotations

import anyio
import click

from drumline.app.catalog import find_run, read_run
from drumline.app.say import check_mode, check_retry, name_person, say
from drumline.cli.merging import is_merge_due, merge, repair_checkout
from drumline.cli.options import json_option, run_argument
from drumline.cli.recordings import check_record, record_option
from drumline.cli.telling import drive_on_with, open_session
from drumline.cli.warning import name_specs, say_unjailed
from drumline.core.flow.events import FlowEnded
from drumline.core.ids import FLOW, Stream
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.store.sqlite import SqliteStore
from drumline.wiring import open_site


@click.command("resume")
@run_argument
@click.option("--step", "steps", multiple=True, metavar="ID", help="Retry this blocked step; may be repeated.")
@click.option("--mode", type=click.Choice(("parallel", "sequential")), help="For steps not yet started.")
@click.option("--jobs", type=int, help="Steps this process works on at once.")
@record_option
@click.option("--background", is_flag=True, hidden=True)
@json_option
def command(
    run: str, steps: tuple[str, ...], mode: str | None, jobs: int | None, record: str, background: bool, as_json: bool
) -> int:
    """Drive RUN (the newest if not given) on from where it was."""
    site = open_site()
    site.check_speaker()
    place = check_record(site, record)
    store = site.open_store()
    try:
        found = find_run(store, run)
        state = read_run(store, found)
        repair_checkout(site)
        if is_merge_due(site, state):
            merge(site, state, as_json=as_json)
            return 0
        _check_unfinished(store, state)
        site = site.with_settings({"jobs": jobs}, {})
        begun = state.begun
        specs = name_specs((begun.agent, *begun.fallback), state.plan.steps, begun.profiles)
        say_unjailed(specs, sandbox=site.settings.sandbox)
        session = open_session(site, store, state, as_json=as_json, record=place)
        who = name_person()
        for name in steps:
            step = check_retry(state, name, session.look)
            anyio.run(say, store, site.roster, found, Message(kind="retry", subject=step, by=who))
        if mode is not None:
            check_mode(state, mode)
            anyio.run(say, store, site.roster, found, Message(kind="mode", value=mode, by=who))
        return drive_on_with(session, quietly=background)
    finally:
        store.close()


def _check_unfinished(store: SqliteStore, run: RunState) -> None:
    """Refuse a run that is done, and a walk that came to an end: neither has anything left to do."""
    ends = [recorded.event for recorded in store.read(Stream(run.id, FLOW), kinds=(FlowEnded.__name__,))]
    if run.ended is not None and any(isinstance(event, FlowEnded) and not event.scope for event in ends):
        hint = f"drumline flow run {run.begun.plan}"
        raise InvalidInput(f"run {run.id} has ended as {run.ended.state}", hint=hint)
    if run.ended is not None and run.ended.state == "done":
        raise InvalidInput(f"run {run.id} is done; nothing is left to do", hint="drumline run PLAN")
