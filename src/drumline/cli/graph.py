"""`drumline graph`: the plan as a picture."""

from __future__ import annotations

import click

from drumline.cli.options import format_option, plan_argument
from drumline.core.ids import StepId
from drumline.core.plan import Reading, Status
from drumline.errors import InvalidPlan
from drumline.views.graph import mermaid
from drumline.wiring import open_site

_STATES = {Status.READY: "waiting", Status.CLAIMED: "running"}


@click.command("graph")
@plan_argument
@format_option
def command(plan: str, format: str) -> None:
    """Draw PLAN as a mermaid flowchart, coloured by status."""
    reading = open_site().open_plan(plan, format).read()
    if reading.errors:
        raise InvalidPlan(f"{plan} cannot be drawn", reading.problems, hint=f"drumline validate {plan}")
    click.echo(mermaid(reading.plan, states(reading)))


def states(reading: Reading) -> dict[StepId, str]:
    """The colour of each step, by what its file says."""
    return {step: _STATES.get(marks.status, marks.status.value) for step, marks in reading.marks.items()}
