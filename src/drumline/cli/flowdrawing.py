"""`drumline flow graph`: a flow as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from drumline.cli.output import show_problems
from drumline.errors import InvalidInput
from drumline.flowfiles import read_flow
from drumline.views.flowgraph import flow_dot, flow_mermaid


@click.command("graph")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--as", "shape", type=click.Choice(["mermaid", "dot"]), default="mermaid", help="What to draw it with.")
def command(file: Path, shape: str) -> None:
    """Draw the flow in FILE."""
    reading = read_flow(file)
    if reading.flow is None:
        show_problems(reading.problems)
        raise InvalidInput(f"{file} cannot be drawn", hint=f"drumline flow validate {file}")
    draw = flow_dot if shape == "dot" else flow_mermaid
    click.echo(draw(reading.flow), nl=False)
