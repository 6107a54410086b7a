"""`drumline flow graph`: a flow as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, show_problems
from drumline.errors import InvalidInput
from drumline.flowfiles import read_flow
from drumline.flowfiles.library import locate_flow
from drumline.views.flowgraph import flow_dot, flow_mermaid
from drumline.workspace.repository import find_repository


@click.command("graph")
@click.argument("flow", type=click.Path(path_type=Path))
@click.option("--as", "shape", type=click.Choice(["mermaid", "dot"]), default="mermaid", help="What to draw it with.")
@json_option
def command(flow: Path, shape: str, as_json: bool) -> None:
    """Draw FLOW (a file, a folder with one, or a name)."""
    file = locate_flow(flow, top=_find_top())
    reading = read_flow(file)
    if reading.flow is None:
        show_problems(reading.problems)
        raise InvalidInput(f"{file} cannot be drawn", hint=f"drumline flow validate {file}")
    draw = flow_dot if shape == "dot" else flow_mermaid
    drawing = draw(reading.flow)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "flow": reading.flow.name, "as": shape, "drawing": drawing})
    else:
        click.echo(drawing, nl=False)


def _find_top() -> Path:
    try:
        return find_repository(Path.cwd()).top
    except InvalidInput:
        return Path.cwd()  # a flow can be drawn outside of any repository
