"""`drumline why`: what a step is waiting for, or why it ended as it did."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.say import check_step
from drumline.cli.options import json_option, run_option
from drumline.cli.output import print_json, say
from drumline.core.ids import StepId
from drumline.views.why import why, why_json
from drumline.wiring import open_site


@click.command("why")
@click.argument("step")
@run_option
@json_option
def command(step: str, run: str, as_json: bool) -> None:
    """Name the owner, the timer or the blocker of STEP."""
    site = open_site()
    store = site.open_store(read_only=True)
    state = read_run(store, find_run(store, run))
    check_step(state, step)
    found = why(site.watcher(store, state).look(time.time(), also=StepId(step)), StepId(step))
    if as_json:
        print_json(why_json(found))
        return
    click.echo(found.sentence)
    if found.hint:
        say(f"  next: {found.hint}")
