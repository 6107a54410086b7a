"""`drumline flow`: looks at flows, the graphs of nodes that work walks. Nothing is run and nothing written."""

from __future__ import annotations

from pathlib import Path

import click

from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, problem_json, say, show_problems
from drumline.core.flow.inspection import Surroundings
from drumline.core.plan import Severity
from drumline.errors import InvalidInput
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles import FlowReading, check_flow, read_flow
from drumline.views.flowgraph import flow_dot, flow_json, flow_mermaid

INVALID = 3

_file_argument = click.argument("file", type=click.Path(path_type=Path))


@click.group("flow")
def command() -> None:
    """Look at flows: the graphs of nodes that work walks."""


@command.command("validate")
@_file_argument
@json_option
def validate_command(file: Path, as_json: bool) -> int:
    """Check the flow in FILE and show every problem at once."""
    reading = check_flow(file, around=Surroundings(parse_expression=SafeExpressions().check))
    ok = not reading.errors
    if as_json:
        print_json(flow_validation_json(reading))
    else:
        show_problems(reading.problems)
        _show_verdict(reading, file)
    return 0 if ok else INVALID


@command.command("graph")
@_file_argument
@click.option("--as", "shape", type=click.Choice(["mermaid", "dot"]), default="mermaid", help="What to draw it with.")
def graph_command(file: Path, shape: str) -> None:
    """Draw the flow in FILE."""
    reading = read_flow(file)
    if reading.flow is None:
        show_problems(reading.problems)
        raise InvalidInput(f"{file} cannot be drawn", hint=f"drumline flow validate {file}")
    draw = flow_dot if shape == "dot" else flow_mermaid
    click.echo(draw(reading.flow), nl=False)


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
        say(f"  next: drumline flow graph {file}")
