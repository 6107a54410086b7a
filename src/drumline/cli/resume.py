"""`drumline resume`: drive a run on that was interrupted, parked, blocked or cancelled."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import click

from drumline.app.catalog import find_run, read_run
from drumline.app.foreign import foreign_jobs
from drumline.app.say import check_mode, check_retry, name_person, say
from drumline.cli.merging import is_merge_due, merge
from drumline.cli.options import json_option, run_argument
from drumline.cli.output import say as tell
from drumline.cli.plansession import PlanSession
from drumline.cli.recordings import check_record, record_option, record_plan
from drumline.cli.telling import drive_on_with
from drumline.cli.trusting import ask_again
from drumline.cli.warning import name_specs, say_unjailed
from drumline.core.flow.events import FlowEnded
from drumline.core.ids import FLOW, Stream
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Site, open_site


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
        if state.flow is not None:
            return _resume_flow(site, store, state, place, as_json=as_json)
        if is_merge_due(site, state):
            merge(site, state, as_json=as_json)
            return 0
        if state.ended is not None and state.ended.state == "done":
            raise InvalidInput(f"run {found} is done; nothing is left to do", hint="drumline run PLAN")
        site = site.with_settings({"jobs": jobs}, {}, foreign=foreign_jobs(state.plan.format, os.environ))
        begun = state.begun
        specs = name_specs((begun.agent, *begun.fallback), state.plan.steps, begun.profiles)
        say_unjailed(specs, sandbox=site.settings.sandbox)
        ask_again(site, state, as_json=as_json)
        who = name_person()
        for name in steps:
            step = check_retry(state, name)
            anyio.run(say, store, site.roster, found, Message(kind="retry", subject=step, by=who))
        if mode is not None:
            check_mode(state, mode)
            anyio.run(say, store, site.roster, found, Message(kind="mode", value=mode, by=who))
        live = bool(site.roster.drivers(found))
        if live and not background:
            tell(f"joining run {found}, which is live")
        with record_plan(site, store, found, place) as recorder:
            session = PlanSession(site=site, store=store, run=found, as_json=as_json, recorder=recorder)
            return session.drive(resuming=not live)
    finally:
        store.close()


def _resume_flow(site: Site, store: SqliteStore, state: RunState, record: Path | None, *, as_json: bool) -> int:
    """Walk a flow on; one that came to an end is over, but not one that is blocked by this machine or cancelled."""
    ends = [recorded.event for recorded in store.read(Stream(state.id, FLOW), kinds=(FlowEnded.__name__,))]
    over = any(isinstance(event, FlowEnded) and not event.scope for event in ends)
    if state.ended is not None and (over or state.ended.state not in ("blocked", "cancelled")):
        place = state.begun.plan
        raise InvalidInput(f"run {state.id} has ended as {state.ended.state}", hint=f"drumline flow run {place}")
    return drive_on_with(site, store, state, as_json=as_json, record=record)
