"""`drumline attach` looks at a run that others drive; `wait` waits for it without looking."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.cli.options import run_argument
from drumline.cli.output import is_terminal, print_lines, say
from drumline.cli.watching import Watch, watch
from drumline.views.states import EXIT_CODES, run_state
from drumline.views.summary import output_lines, summary, summary_lines
from drumline.wiring import open_site


@click.command("attach")
@run_argument
def command(run: str) -> int:
    """Watch RUN (the newest if not given); Ctrl-C stops watching, not the run."""
    site = open_site()
    store = site.open_store(read_only=True)
    found = find_run(store, run)
    watcher = site.watcher(store, read_run(store, found))
    try:
        watch(Watch(store=store, run=found, watcher=watcher), draw=is_terminal())
    except KeyboardInterrupt:
        say(f"no longer watching; run {found} goes on")
        return 0
    snapshot = watcher.look(time.time())
    print_lines([*summary_lines(summary(snapshot)), *output_lines(snapshot)])
    return EXIT_CODES[run_state(snapshot)]
