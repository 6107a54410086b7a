"""`drumline report`: what came of a run, as JSON, as Markdown, or as one page for a browser."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.reporting import make_report
from drumline.cli.options import json_option, run_argument
from drumline.cli.output import print_json, say
from drumline.cli.paging import page_lines, pager_option
from drumline.record import to_plain
from drumline.wiring import open_project
from drumline.workspace.differences import show_commit


@click.command("report")
@run_argument
@click.option("--md", "shape", flag_value="md", default=True, help="Print Markdown; this is the default.")
@click.option("--html", "shape", flag_value="html", help="Print one page for a browser that needs nothing else.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead.")
@pager_option
@json_option
def command(run: str, shape: str, output: Path | None, as_json: bool) -> None:
    """Report what came of RUN (the newest if not given): steps, proof, times, cost, gates and changes."""
    project = open_project()
    store = project.open_store(read_only=True)
    watcher = project.watcher(store, read_run(store, find_run(store, run)))
    logs = project.logs(watcher.run)
    report = to_plain(make_report(watcher, time.time(), partial(show_commit, project.repository), logs=logs))
    if as_json:
        print_json(report)
        return
    if shape == "html":
        from drumline.views.reporthtml import report_html as render
    else:
        from drumline.views.reportmd import report_md as render
    text = render(report)
    if output is None:
        page_lines(text.splitlines())
    else:
        output.write_text(text, encoding="utf-8")
        say(f"wrote {output}")
