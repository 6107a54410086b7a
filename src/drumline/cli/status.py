"""`drumline status`: where a run stands."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.cli.columns import find_columns
from drumline.cli.options import json_option, run_argument
from drumline.cli.output import print_json
from drumline.cli.paging import page_lines, pager_option
from drumline.views.board import board_segments
from drumline.views.status import status_json
from drumline.wiring import open_project

PLENTY = 10_000


@click.command("status")
@run_argument
@pager_option
@json_option
def command(run: str, as_json: bool) -> None:
    """Show where RUN stands (the newest if not given)."""
    project = open_project()
    store = project.open_store(read_only=True)
    snapshot = project.watcher(store, read_run(store, find_run(store, run)), given=True).look(time.time())
    if as_json:
        print_json(status_json(snapshot))
        return
    width = min(find_columns(100), 140)
    rows = board_segments(snapshot, width=width, height=PLENTY, tick=0)
    page_lines("".join(text for text, _ in row).rstrip() for row in rows)
