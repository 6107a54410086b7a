"""What answer, retry, skip and cancel share: check, leave the message, say what happens now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from drumline.app.catalog import find_asking_run, find_run, read_run
from drumline.app.foreign import foreign_jobs
from drumline.app.say import check_open, check_rest, name_person, say
from drumline.cli.output import SCHEMA_VERSION, print_json
from drumline.cli.output import say as tell_person
from drumline.cli.plansession import PlanSession
from drumline.cli.recordings import record_flow, record_plan
from drumline.core.ids import StepId
from drumline.core.state import RunState
from drumline.ports.journal import Message
from drumline.record import Record, replace
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Site, open_site

if TYPE_CHECKING:
    from drumline.cli.flowsession import FlowSession


class Wish(Record):
    """A message, what must hold for it, and the sentence once it is said.

    Where the message is about a step, the check returns its id, which may not be the name that was typed. `complete`
    adds what the message lacks, where somebody can be asked.
    """

    message: Message
    check: Callable[[RunState], StepId | None]
    done: str
    complete: Callable[[RunState, Message], Message] = lambda run, message: message


def open_session(site: Site, store: SqliteStore, run: RunState, *, as_json: bool = False) -> PlanSession | FlowSession:
    """What drives a run from here: of a plan, or of a flow."""
    if run.flow is not None:
        from drumline.cli.flowsession import FlowSession

        return FlowSession(site=site, store=store, run=run.id, as_json=as_json)
    site = site.with_settings({}, {}, foreign=foreign_jobs(run.plan.format, os.environ))
    return PlanSession(site=site, store=store, run=run.id, as_json=as_json)


def _find_subject(site: Site, store: SqliteStore, run: RunState, wish: Wish) -> str:
    """What the message is about by its whole name, or the refusal of it."""
    if run.flow is not None and wish.message.kind == "retry":
        return check_rest(site.flow_watcher(store, run.id).look(time.time()), wish.message.subject)
    return wish.check(run) or wish.message.subject


def drive_on_with(site: Site, store: SqliteStore, run: RunState, *, as_json: bool, record: Path | None = None) -> int:
    """Drive a run on that nobody drives, and go on recording it if it is recorded; return the exit code."""
    session = open_session(site, store, run, as_json=as_json)
    session.ask_trust()
    live = bool(site.roster.drivers(run.id))
    if live:
        tell_person(f"joining run {run.id}, which is live")
    if isinstance(session, PlanSession):
        with record_plan(site, store, run.id, record) as session.recorder:
            return session.drive(resuming=not live)
    with record_flow(site, store, run.id, record) as session.recorder:
        return session.drive(resuming=not live)


def tell(wish: Wish, run: str, *, drive_on: bool, as_json: bool) -> int:
    """Say it to the run; drive the run on if asked to and nobody does."""
    site = open_site()
    site.check_speaker()
    store = site.open_store()
    try:
        asked = wish.message.kind == "answer" and not run
        found = find_asking_run(store, wish.message.subject) if asked else find_run(store, run)
        state = read_run(store, found)
        check_open(state)
        wish = replace(wish, message=wish.complete(state, wish.message))
        subject = _find_subject(site, store, state, wish)
        message = replace(wish.message, subject=subject, by=name_person(), channel="cli")
        settled = anyio.run(say, store, site.roster, found, message)
        if drive_on and settled:
            return drive_on_with(site, store, state, as_json=as_json)
        if message.kind == "cancel" and settled:
            open_session(site, store, state).wind_up()
        if as_json:
            print_json({"schema_version": SCHEMA_VERSION, "ok": True, "run": found, "driven": not settled})
        else:
            click.echo(wish.done)
            if settled and message.kind != "cancel":
                tell_person(f"  next: drumline resume {found} (nobody is driving this run)")
        return 0
    finally:
        store.close()
