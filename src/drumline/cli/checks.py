"""`drumline checks`: what proves the steps of a plan, and checks proposed for those that nothing proves."""

from __future__ import annotations

import click

from drumline.app.detection import FORMAT, SETUP, Detected, detect_at_head
from drumline.app.proposing import Proposal, as_checks, propose
from drumline.cli.options import format_option, json_option, plan_argument
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.outlook import count_proved, todo, unproved
from drumline.core.plan import Reading
from drumline.errors import InvalidPlan
from drumline.views.cells import flatten
from drumline.wiring import open_site


@click.command("checks")
@plan_argument
@format_option
@click.option("--accept", is_flag=True, help="Keep the proposed checks in a file beside the plan.")
@json_option
def command(plan: str, format: str, accept: bool, as_json: bool) -> None:
    """Show the checks of PLAN, and propose some for steps that have none. Nothing is run."""
    site = open_site()
    planfiles = site.open_plan(plan, format)
    reading = planfiles.read()
    if reading.errors:
        raise InvalidPlan(f"{plan} cannot be read", reading.problems, hint=f"drumline validate {plan}")
    detected = detect_at_head(site.repository)
    proposals = propose(reading, detected)
    kept = planfiles.keep_checks(as_checks(proposals)) if accept and proposals else ""
    if as_json:
        print_json(_checks_json(reading, proposals, kept) | {"detected": _detected_json(detected)})
        return
    for step in todo(reading):
        for check in step.checks:
            red = " (must be red before the work)" if check.red_first else ""
            click.echo(f"{step.id}: {flatten(check.command)}{red}")
    click.echo(count_proved(reading))
    show_proposals(proposals)
    for found in detected.of(SETUP, FORMAT) if proposals else ():
        click.echo(f"found for {found.kind}: {found.command} (from {found.place})")
    if kept:
        say(f"wrote {kept}")
    elif proposals:
        say(f"  next: drumline checks {plan} --accept")


def show_proposals(proposals: list[Proposal]) -> None:
    """One line for each proposal."""
    for one in proposals:
        place = f"step {one.step}" if one.step else "every step without a check"
        click.echo(f"proposed for {place}: {flatten(one.command)} (from {one.why})")


def _detected_json(detected: Detected) -> list[dict[str, object]]:
    return [{"kind": each.kind, "command": each.command, "from": each.place} for each in detected.found]


def _checks_json(reading: Reading, proposals: list[Proposal], kept: str) -> dict[str, object]:
    steps = todo(reading)
    return {
        "schema_version": SCHEMA_VERSION,
        "plan": reading.plan.path,
        "steps": [
            {
                "id": step.id,
                "checks": [{"command": check.command, "red_first": check.red_first} for check in step.checks],
                "not_run": list(step.not_run),
            }
            for step in steps
        ],
        "proved": len(steps) - len(unproved(reading)),
        "of": len(steps),
        "proposed": [{"command": one.command, "step": one.step, "from": one.why} for one in proposals],
        "written": kept,
    }
