"""`drumline handoff`: what a step leaves for those behind it, made of what the journal knows."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.inbox import check_step
from drumline.cli.options import json_option, run_option, step_argument
from drumline.cli.output import SCHEMA_VERSION, print_json
from drumline.core.flow.events import NodeEnded
from drumline.core.handoffdoc import find_staleness, write_handoff
from drumline.core.ids import Stream
from drumline.core.orders import orders_for
from drumline.errors import InvalidInput
from drumline.wiring import open_project


@click.command("handoff")
@step_argument
@run_option
@json_option
def command(step: str, run: str, as_json: bool) -> int:
    """Show the handoff of STEP: what it did and did not do, with evidence from its checks.

    It is made of what the journal knows; no agent is asked for it. Steps of plans in phases have it as a file, too.
    """
    project = open_project()
    store = project.open_store(read_only=True)
    state = read_run(store, find_run(store, run))
    name = check_step(state, step)
    finished = state.finished.get(name)
    if finished is None:
        raise InvalidInput(f"{step} has not ended yet, so that it leaves nothing", hint=f"drumline why {step}")
    worked = project.watcher(store, state).look(time.time(), also=name).steps[name]
    told = (entry.event for entry in store.read(Stream(state.id, name), kinds=(NodeEnded.__name__,)))
    staleness = find_staleness(told)
    text = write_handoff(state, orders_for(state, state.define(name)), worked, finished, staleness=staleness)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "run": state.id, "step": name, "text": text})
    else:
        click.echo(text, nl=False)
    return 0
