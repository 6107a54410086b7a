"""`drumline wait`: come back when a run needs nobody or somebody."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.cli.options import json_option, run_argument
from drumline.cli.output import print_json, say
from drumline.cli.watching import Watch
from drumline.views.states import EXIT_CODES, run_state
from drumline.views.status import status_json
from drumline.wiring import open_project


@click.command("wait")
@run_argument
@click.option("--timeout", type=float, metavar="SECONDS", help="Give up waiting after this long (exit code 1).")
@json_option
def command(run: str, timeout: float | None, as_json: bool) -> int:
    """Wait until RUN (the newest if not given) has ended or waits for a person; exit as the run did."""
    project = open_project()
    store = project.open_store(read_only=True)
    found = find_run(store, run)
    watched = Watch(store=store, run=found, watcher=project.watcher(store, read_run(store, found)))
    over = watched.follow(limit=timeout)
    snapshot = watched.watcher.look(time.time())
    if as_json:
        print_json(status_json(snapshot))
    if not over:
        say(f"run {found} is still running after {timeout:g} s")
        say(f"  next: drumline wait {found}, or to see it work: drumline attach {found}")
        return 1
    if not as_json:
        click.echo(run_state(snapshot))
    return EXIT_CODES[run_state(snapshot)]
