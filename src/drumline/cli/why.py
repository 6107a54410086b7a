"""`drumline why`: what a step or a node is waiting for, or why it ended as it did."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.say import check_step
from drumline.cli.options import json_option, run_option
from drumline.cli.output import print_json, say
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.store.sqlite import SqliteStore
from drumline.views.flowwhy import flow_why, flow_why_json
from drumline.views.why import why, why_json
from drumline.wiring import Site, open_site

Answer = tuple[list[str], str, dict[str, object]]
"""A sentence and what else is known, the command to type next, and all of it as data."""


@click.command("why")
@click.argument("step", required=False, default="")
@run_option
@json_option
def command(step: str, run: str, as_json: bool) -> None:
    """Name the owner, the timer or the blocker of STEP.

    In a run that walks a flow, STEP is a node (`implement`) or a visit (`implement#2`, `coder#1/implement`); without
    it the whole run is explained.
    """
    site = open_site()
    store = site.open_store(read_only=True)
    state = read_run(store, find_run(store, run))
    told, hint, data = _explain_flow(site, store, state, step) if state.flow else _explain(site, store, state, step)
    if as_json:
        print_json(data)
        return
    for number, line in enumerate(told):
        click.echo(line if number == 0 else f"  {line}")
    if hint:
        say(f"  next: {hint}")


def _explain(site: Site, store: SqliteStore, state: RunState, step: str) -> Answer:
    if not step:
        raise InvalidInput("no step was named (legal: a step of the plan)", hint="drumline why STEP")
    step_id = check_step(state, step)
    found = why(site.watcher(store, state).look(time.time(), also=step_id), step_id)
    return [found.sentence, *found.notes], found.hint, why_json(found)


def _explain_flow(site: Site, store: SqliteStore, state: RunState, name: str) -> Answer:
    snapshot = site.flow_watcher(store, state.id).look(time.time())
    found = flow_why(snapshot, name)
    return [found.sentence], found.hint, flow_why_json(snapshot, found)
