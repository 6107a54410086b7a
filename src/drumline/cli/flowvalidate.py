"""`drumline flow validate`: every problem of a flow at once. Nothing is run and nothing written."""

from __future__ import annotations

from pathlib import Path

import click

from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, problem_json, say, show_problems
from drumline.core.plan import Severity
from drumline.errors import InvalidInput
from drumline.flowfiles import FlowReading, check_flow
from drumline.flowfiles.library import locate_flow
from drumline.flowwiring import describe_surroundings
from drumline.views.flowgraph import flow_json
from drumline.wiring import open_site

INVALID = 3


@click.command("validate")
@click.argument("flow", type=click.Path(path_type=Path))
@json_option
def command(flow: Path, as_json: bool) -> int:
    """Check FLOW (a file, a folder with one, or a name) and show every problem at once."""
    try:
        site = open_site(flow.parent if flow.parent.is_dir() else None)
        file = locate_flow(flow, top=site.repository.top)
        around = describe_surroundings(site.repository.top, site.config, folder=file.parent)
    except InvalidInput:
        file = locate_flow(flow, top=Path.cwd())
        around = describe_surroundings(None, {}, folder=file.parent)  # a flow can be checked outside of any repository
    reading = check_flow(file, around=around)
    if as_json:
        print_json(flow_validation_json(reading))
    else:
        show_problems(reading.problems)
        _show_verdict(reading, file)
    return INVALID if reading.errors else 0


def flow_validation_json(reading: FlowReading) -> dict[str, object]:
    """The contract that scripts use."""
    return {
        "schema_version": SCHEMA_VERSION,
        "ok": not reading.errors,
        "flow": flow_json(reading.draft) if reading.draft else None,
        "problems": [problem_json(problem) for problem in reading.problems],
    }


def _show_verdict(reading: FlowReading, file: Path) -> None:
    warnings = sum(problem.severity is Severity.WARNING for problem in reading.problems)
    verdict = "not valid" if reading.errors else "valid"
    click.echo(f"{file}: {verdict} ({len(reading.errors)} errors, {warnings} warnings)")
    if reading.draft is not None:
        click.echo(f"{reading.draft.name}: {len(reading.draft.nodes)} nodes, starts at {reading.draft.start}")
    if reading.errors:
        say(f"  next: mend the errors above, then: drumline flow validate {file}")
    else:
        say(f"  next: drumline flow run {file}")
