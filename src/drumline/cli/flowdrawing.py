"""`drumline flow graph`: a flow as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

import click

from drumline.cli.columns import find_columns
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, show_problems
from drumline.core.flow.model import Flow
from drumline.errors import InvalidInput
from drumline.flowfiles import read_flow
from drumline.flowfiles.library import locate_flow
from drumline.views.flowgraph import flow_dot, flow_mermaid
from drumline.views.flowtable import flow_table
from drumline.workspace.repository import find_repository


@click.command("graph")
@click.argument("flow", type=click.Path(path_type=Path))
@click.option(
    "--as",
    "shape",
    type=click.Choice(["table", "mermaid", "dot"]),
    help="A table of the nodes on a terminal, mermaid otherwise.",
)
@json_option
def command(flow: Path, shape: str | None, as_json: bool) -> None:
    """Draw FLOW (a file, a folder with one, or a name)."""
    file = locate_flow(flow, top=_find_top())
    reading = read_flow(file)
    if reading.flow is None:
        show_problems(reading.problems)
        raise InvalidInput(f"{file} cannot be drawn", hint=f"drumline flow validate {quote(str(file))}")
    shape = shape or ("table" if sys.stdout.isatty() and not as_json else "mermaid")
    drawing = _draw(reading.flow, shape)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "flow": reading.flow.name, "as": shape, "drawing": drawing})
    else:
        click.echo(drawing, nl=False)


def _draw(flow: Flow, shape: str) -> str:
    if shape == "table":
        return flow_table(flow, columns=find_columns(100))
    return flow_dot(flow) if shape == "dot" else flow_mermaid(flow)


def _find_top() -> Path:
    try:
        return find_repository(Path.cwd()).top
    except InvalidInput:
        return Path.cwd()  # a flow can be drawn outside of any repository
