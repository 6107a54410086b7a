"""`drumline attach` looks at a run that others drive; `wait` waits for it without looking."""

from __future__ import annotations

import click

from drumline.app.catalog import find_run
from drumline.cli.options import run_argument
from drumline.cli.output import is_terminal, print_lines, say
from drumline.cli.sights import open_sight
from drumline.cli.watching import watch
from drumline.views.states import EXIT_CODES
from drumline.wiring import open_site


@click.command("attach")
@run_argument
def command(run: str) -> int:
    """Watch RUN (the newest if not given); Ctrl-C stops watching, not the run."""
    site = open_site()
    store = site.open_store(read_only=True)
    found = find_run(store, run)
    sight = open_sight(site, store, found)
    try:
        watch(store, found, sight, draw=is_terminal())
    except KeyboardInterrupt:
        say(f"no longer watching; run {found} goes on")
        return 0
    state = sight.look()
    print_lines(sight.conclude())
    return EXIT_CODES[state]
