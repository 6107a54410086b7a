"""`drumline graph`: the plan as a picture."""

from __future__ import annotations

import sys
from shlex import quote

import click

from drumline.cli.options import format_option, json_option, some_plan_argument
from drumline.cli.output import SCHEMA_VERSION, print_json
from drumline.cli.retyping import choose_plan
from drumline.core.ids import StepId
from drumline.core.plan import Reading, Status
from drumline.core.vocabulary import StepStanding
from drumline.errors import InvalidPlan
from drumline.views.graph import dot, mermaid, tree
from drumline.views.states import SYMBOLS
from drumline.wiring import open_project

_INK = {
    StepStanding.DONE: "green",
    StepStanding.RUNNING: "cyan",
    StepStanding.BLOCKED: "red",
    StepStanding.FAILED: "red",
    StepStanding.REJECTED: "red",
}
_STATES = {Status.READY: StepStanding.WAITING, Status.CLAIMED: StepStanding.RUNNING}


@click.command("graph")
@some_plan_argument
@click.option(
    "--as",
    "shape",
    type=click.Choice(["mermaid", "dot", "svg", "tree"]),
    help="A tree on a terminal, mermaid otherwise.",
)
@click.option("--svg", "shape", flag_value="svg", help="A picture for browsers and pages; same as --as svg.")
@format_option
@json_option
def command(plan: str, shape: str | None, format: str, as_json: bool) -> None:
    """Draw PLAN, coloured by status; the newest unfinished plan if not given."""
    project = open_project()
    plan = plan or choose_plan(project)
    reading = project.open_plan(plan, format).read()
    if reading.errors:
        raise InvalidPlan(f"{plan} cannot be drawn", reading.problems, hint=f"drumline validate {quote(plan)}")
    if as_json:
        print_json(graph_json(reading))
        return
    shape = shape or ("tree" if sys.stdout.isatty() else "mermaid")
    if shape == "tree":
        for line, state in tree(reading.plan, states(reading)):
            click.echo(click.style(f"{SYMBOLS[state]} ", fg=_INK.get(state)) + line)
        return
    if shape == "svg":
        click.echo(_draw_svg(reading), nl=False)
        return
    draw = dot if shape == "dot" else mermaid
    click.echo(draw(reading.plan, states(reading)), nl=False)


def _draw_svg(reading: Reading) -> str:
    from drumline.views.graphsvg import Box, graph_svg

    shown = states(reading)
    return graph_svg(
        [
            Box(id=step.id, title=step.title, state=shown.get(step.id, StepStanding.WAITING).value, needs=step.needs)
            for step in reading.plan.steps
        ]
    )


def graph_json(reading: Reading) -> dict[str, object]:
    """The plan's nodes and edges, for programs that draw by themselves."""
    shown = states(reading)
    nodes = [{"id": s.id, "title": s.title, "state": shown.get(s.id, "waiting")} for s in reading.plan.steps]
    edges = [{"from": need, "to": step.id} for step in reading.plan.steps for need in step.needs]
    return {"schema_version": SCHEMA_VERSION, "plan": reading.plan.path, "nodes": nodes, "edges": edges}


def states(reading: Reading) -> dict[StepId, StepStanding]:
    """The colour of each step, by what its file says."""
    return {
        step: _STATES.get(marks.status) or StepStanding(marks.status.value) for step, marks in reading.marks.items()
    }
