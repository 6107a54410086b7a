"""What answer, retry, skip, pause and cancel share: check, send the message, say what happens now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import click

from drumline.app.catalog import find_asking_run, find_run, read_run
from drumline.app.foreign import foreign_jobs, foreign_settings
from drumline.app.inbox import check_open, name_person, send
from drumline.app.pins import record_repin, repin
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.cli.session import Session
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd
from drumline.ports.journal import Message
from drumline.record import Record, replace
from drumline.store.sqlite import SqliteStore
from drumline.views.cells import flatten
from drumline.views.snapshot import Snapshot
from drumline.wiring import Project, open_project

LONGEST = 200
"""Characters of a setting that differs."""


class Request(Record):
    """A message, what must hold for it, and the sentence once it is sent.

    Where the message is about a step or a visit, the check returns its whole name, which may not be what was typed; it
    can look at the run. `complete` adds what the message lacks, where somebody can be asked. `agent` is one that the
    message names.
    """

    message: Message
    check: Callable[[RunState, Callable[[], Snapshot]], str | None]
    done: str
    complete: Callable[[RunState, Message], Message] = lambda run, message: message
    agent: str = ""


def open_session(
    project: Project, store: SqliteStore, run: RunState, *, as_json: bool = False, record: Path | None = None
) -> Session:
    """What drives a run from here, with the number of jobs that its format's own tool would have."""
    given = {"jobs": project.settings.jobs} if "jobs" in project.given else {}
    project = project.with_settings(given, {}, foreign=foreign_jobs(run.plan.format, os.environ))
    return Session(project=project, store=store, run=run.id, as_json=as_json, record=record)


def drive_on_with(session: Session, *, quietly: bool = False) -> int:
    """Drive a run on, or join those who drive it; return the exit code."""
    session.ask_trust()
    live = bool(session.project.roster.drivers(session.run))
    if live and not quietly:
        say(f"joining run {session.run}, which is live")
    return session.drive(resuming=not live)


def settle_config(project: Project, store: SqliteStore, run: RunState, choice: str | None) -> None:
    """Say what differs from what the run has pinned of the configuration, and take it with `new`. Nobody drives it."""
    project = project.with_settings({}, {}, foreign=foreign_settings(run.plan.format, os.environ))
    event, found = repin(run, project.present(), by=name_person())
    if not found:
        return
    say("the configuration is not as it was when the run began:")
    for difference in found:
        say(f"  {flatten(str(difference), LONGEST)}")
    if choice != "new":
        say(f"  the run keeps what it began with; next: drumline resume {run.id} --config new")
        return
    if "agent" in event.changed or "fallback" in event.changed:
        project.check_agents(event.agent or project.settings.agent, run.plan.steps)
    anyio.run(record_repin, store, run.id, event)


def choose_config(run: RunState, typed: str | None, *, again: bool) -> str:
    """The present configuration counts for what is tried again, and for a run that did not get through."""
    stuck = run.ended is not None and run.ended.state in (RunEnd.BLOCKED, RunEnd.FAILED)
    return typed or ("new" if again or stuck else "pinned")


def send_request(request: Request, run: str, *, drive_on: bool, as_json: bool, config: str | None = None) -> int:
    """Say it to the run; drive the run on if asked to and nobody does."""
    project = open_project()
    project.check_speaker()
    store = project.open_store()
    try:
        asked = request.message.kind == "answer" and not run
        found = find_asking_run(store, request.message.subject) if asked else find_run(store, run)
        state = read_run(store, found)
        check_open(state)
        if request.agent:
            project.check_agents(request.agent, ())
        request = replace(request, message=request.complete(state, request.message))
        subject = (
            request.check(state, lambda: project.watcher(store, state).look(time.time())) or request.message.subject
        )
        message = replace(request.message, subject=subject, by=name_person(), channel="cli")
        settled = anyio.run(send, store, project.roster, found, message)
        if settled and message.kind == "retry":
            settle_config(project, store, state, choose_config(state, config, again=True))
        if drive_on and settled:
            return drive_on_with(open_session(project, store, state, as_json=as_json))
        if message.kind == "cancel" and settled:
            open_session(project, store, state).wind_up()
        if as_json:
            print_json({"schema_version": SCHEMA_VERSION, "ok": True, "run": found, "driven": not settled})
        else:
            click.echo(request.done)
            if settled and message.kind != "cancel":
                say(f"  next: drumline resume {found} (nobody is driving this run)")
        return 0
    finally:
        store.close()
