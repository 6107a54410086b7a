"""`drumline runs`: every run of this repository."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import RunBrief, list_runs, list_strange, read_run
from drumline.cli.options import json_option
from drumline.cli.output import print_json
from drumline.cli.paging import page_lines, pager_option
from drumline.core.ids import FLOW, Stream
from drumline.store.sqlite import SqliteStore
from drumline.views.runs import RunRow, count_visits, run_row, runs_json, runs_lines, strange_row
from drumline.wiring import Project, open_project


@click.command("runs")
@pager_option
@json_option
def command(as_json: bool) -> None:
    """List all runs, newest first."""
    project = open_project()
    rows: list[RunRow] = []
    if project.has_store():
        store = project.open_store(read_only=True)
        rows = [_row(project, store, brief) for brief in list_runs(store)]
        rows += [strange_row(brief.state, started_at=brief.started_at) for brief in list_strange(store)]
    if as_json:
        print_json(runs_json(rows))
    elif rows:
        page_lines(runs_lines(rows, now=time.time()))
    else:
        click.echo("no runs yet; start one with: drumline run PLAN")


def _row(project: Project, store: SqliteStore, brief: RunBrief) -> RunRow:
    run = read_run(store, brief.run)
    # A walk's own state is not needed here, and working it out for every run would take long.
    ends = store.read(Stream(brief.run, FLOW), kinds=("NodeEnded", "FlowEnded"))
    visits = None if run.lands else count_visits(ends)
    return run_row(run, live=bool(project.roster.drivers(brief.run)), started_at=brief.started_at, visits=visits)
