"""`drumline attach` looks at a run that others drive; `wait` waits for it without looking."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.look import Watcher
from drumline.cli.options import json_option, run_argument
from drumline.cli.output import is_terminal, print_json, print_lines, print_text, say
from drumline.cli.watching import Watch, watch
from drumline.store.sqlite import SqliteStore
from drumline.views.states import EXIT_CODES, run_state
from drumline.views.status import status_json
from drumline.views.summary import output_lines, summary, summary_lines
from drumline.wiring import Project, open_project

if TYPE_CHECKING:
    from drumline.cli.desk import Desk


@click.command("attach")
@run_argument
@json_option
def command(run: str, as_json: bool) -> int:
    """Watch RUN (the newest if not given); q or Ctrl-C stops watching, not the run.

    On a terminal the board listens to keys: its last line names them.

    With --json every line is an object, as `run --json` prints them, and the last one is the status.
    """
    project = open_project()
    store = project.open_store(read_only=True)
    found = find_run(store, run)
    watcher = project.watcher(store, read_run(store, found))
    try:
        tell_data = print_json if as_json else None
        watched = Watch(store=store, run=found, watcher=watcher, tell_data=tell_data)
        desk = partial(_open_desk, project, store, watcher)
        watch(watched, desk, draw=is_terminal() and not as_json, quiet=as_json)
    except KeyboardInterrupt:
        say(f"no longer watching; run {found} goes on")
        return 0
    snapshot = watcher.look(time.time())
    if as_json:
        print_json(status_json(snapshot))
        return EXIT_CODES[run_state(snapshot)]
    changed = project.repository.uncommitted()
    print_text(summary_lines(summary(snapshot, changed=changed)))
    print_lines(output_lines(snapshot))
    return EXIT_CODES[run_state(snapshot)]


def _open_desk(project: Project, store: SqliteStore, watcher: Watcher, keys: bool) -> Desk:
    from drumline.cli.desk import open_desk

    return open_desk(project, store, watcher, inbox=lambda: closing(project.open_store()), keys=keys)
