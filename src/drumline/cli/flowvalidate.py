"""`drumline flow validate`: every problem of a flow at once. Nothing is run and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import click

from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, count_problems, print_json, problem_json, say, show_problems
from drumline.core.flow.model import is_for_runs, is_for_steps
from drumline.errors import InvalidInput
from drumline.flowfiles import FlowReading
from drumline.flowfiles.library import SHIPPED, locate_flow
from drumline.views.flowgraph import flow_json
from drumline.wiring import open_project
from drumline.wiring.flows import open_check

INVALID = 3


@click.command("validate")
@click.argument("flow", type=click.Path(path_type=Path))
@json_option
def command(flow: Path, as_json: bool) -> int:
    """Check FLOW (a file, a folder with one, or a name) and the flows it calls, and show every problem at once."""
    try:
        project = open_project(flow.parent if flow.parent.is_dir() else None)
        file = locate_flow(flow, top=project.repository.top)
        check = open_check(project.repository.top, project.config)
    except InvalidInput:
        file = locate_flow(flow, top=Path.cwd())
        check = open_check(None, {})  # a flow can be checked outside of any repository
    reading = check.check(file)
    called = list(check.check_called(reading.draft))
    if as_json:
        print_json(flow_validation_json(reading, called))
    else:
        show_problems([problem for one in (reading, *called) for problem in one.problems])
        _show_verdict(reading, called, file)
    return INVALID if any(one.errors for one in (reading, *called)) else 0


def flow_validation_json(reading: FlowReading, called: Sequence[FlowReading] = ()) -> dict[str, object]:
    """The contract that scripts use."""
    return {
        "schema_version": SCHEMA_VERSION,
        "ok": not any(one.errors for one in (reading, *called)),
        "flow": flow_json(reading.draft) if reading.draft else None,
        "calls": [
            {"name": one.draft.name, "path": one.draft.path, "ok": not one.errors} for one in called if one.draft
        ],
        "problems": [problem_json(problem) for one in (reading, *called) for problem in one.problems],
    }


def _show_verdict(reading: FlowReading, called: Sequence[FlowReading], file: Path) -> None:
    click.echo(f"{file}: {_judge(reading)}")
    if reading.draft is not None:
        click.echo(f"{reading.draft.name}: {len(reading.draft.nodes)} nodes, starts at {reading.draft.start}")
    for one in called:
        click.echo(f"calls {_name(one)}: {_judge(one)}")
    if any(one.errors for one in (reading, *called)):
        say(f"  next: fix the errors above, then: drumline flow validate {quote(str(file))}")
    else:
        say(f"  next: {_next_command(reading, file)}")


def _next_command(reading: FlowReading, file: Path) -> str:
    """What walks the flow: a plan's step if it lands work, a run of a plan before or after its steps, or itself."""
    flow = reading.flow
    if flow is None or not (is_for_steps(flow) or is_for_runs(flow)):
        return f"drumline flow run {quote(str(file))}"
    return f"drumline run PLAN --flow {flow.name}" if is_for_steps(flow) else "drumline run PLAN"


def _judge(reading: FlowReading) -> str:
    return f"{'not valid' if reading.errors else 'valid'} ({count_problems(reading.problems)})"


def _name(reading: FlowReading) -> str:
    """A called flow by its name and its file."""
    if reading.draft is None:
        return reading.problems[0].path
    shipped = Path(reading.draft.path).is_relative_to(SHIPPED)
    return f"{reading.draft.name} ({'shipped' if shipped else reading.draft.path})"
