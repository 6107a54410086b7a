"""`drumline checks PLAN`: what proves the steps of a plan, and checks proposed for those that nothing proves.

`drumline checks test` plays lies against the checks; it is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click

from drumline.app.detection import FORMAT, SETUP, Detected, detect_at_head
from drumline.app.proposing import Proposal, as_checks, propose
from drumline.cli.introduction import list_proposals
from drumline.cli.options import format_option, json_option, plan_argument
from drumline.cli.output import SCHEMA_VERSION, print_json, print_lines, say
from drumline.cli.preview import proposed_json, proved_json
from drumline.cli.retyping import name_plan
from drumline.core.ids import StepId
from drumline.core.outlook import Outlook, look_ahead, todo
from drumline.core.plan import Reading, Step
from drumline.core.profile import profile
from drumline.errors import InvalidPlan
from drumline.views.cells import flatten
from drumline.views.explain import list_caveats
from drumline.wiring import open_site

MOST_STEPS = 3
"""How many steps with the same check are listed one by one."""
SHOW, TEST = "show", "test"


class ChecksCommands(click.Group):
    """The commands about checks; where none is named, `show` is meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order people meet them."""
        return [SHOW, TEST]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name == TEST:
            found: click.Command = import_module("drumline.cli.checkstest").command
            return found
        return show if cmd_name == SHOW else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A plan in the place of a command is shown."""
        named = not args or args[0] in (SHOW, TEST, *ctx.help_option_names)
        return super().parse_args(ctx, args if named else [SHOW, *args])


@click.group("checks", cls=ChecksCommands)
def command() -> None:
    """Show the checks of a plan (`drumline checks PLAN`), or play lies against them."""


@click.command(SHOW)
@plan_argument
@format_option
@click.option("--accept", is_flag=True, help="Keep the proposed checks in a file beside the plan.")
@json_option
def show(plan: str, format: str, accept: bool, as_json: bool) -> None:
    """Show the checks of PLAN, and propose some for steps that have none. Nothing is run."""
    site = open_site()
    planfiles = site.open_plan(plan, format)
    reading = planfiles.read()
    if reading.errors:
        raise InvalidPlan(
            f"{plan} cannot be read", reading.problems, hint=f"drumline validate {name_plan(plan, format)}"
        )
    detected = detect_at_head(site.repository)
    configured = site.settings.checks
    proposals = propose(reading, detected, configured)
    kept = planfiles.keep_checks(as_checks(proposals)) if accept and proposals else ""
    reading = planfiles.read() if kept else reading
    outlook = look_ahead(reading, configured)
    if as_json:
        print_json(checks_json(reading, outlook, proposals, detected, kept=kept))
        return
    print_lines(list_checks(todo(reading)))
    for command in configured:
        click.echo(f"every step: {flatten(command)}")
    click.echo(outlook.in_words())
    print_lines(list_caveats(outlook, profile(reading.plan.steps)))
    print_lines(list_proposals(proposals, word="accepted" if kept else "proposed"))
    for found in detected.of(SETUP, FORMAT) if proposals else ():
        click.echo(f"found for {found.kind}: {found.command} (from {found.place})")
    if kept:
        say(f"wrote {kept}")
        say(f"  next: drumline run {name_plan(plan, format)}")
    elif proposals:
        say(f"  next: drumline checks {name_plan(plan, format)} --accept")


def list_checks(steps: Sequence[Step]) -> list[str]:
    """One line for each check; one that more than a few steps have is one line for all of them."""
    found: dict[str, list[StepId]] = {}
    for step in steps:
        for check in step.checks:
            red = " (must be red before the work)" if check.red_first else ""
            found.setdefault(f"{flatten(check.command)}{red}", []).append(step.id)
    lines: list[str] = []
    for command, ids in found.items():
        many = len(ids) > MOST_STEPS
        named = [f"{len(ids)} steps ({', '.join(ids[:MOST_STEPS])}, …)"] if many else ids
        lines += [f"{each}: {command}" for each in named]
    return lines


def _detected_json(detected: Detected) -> list[dict[str, object]]:
    return [{"kind": each.kind, "command": each.command, "from": each.place} for each in detected.found]


def checks_json(
    reading: Reading, outlook: Outlook, proposals: Sequence[Proposal], detected: Detected, *, kept: str = ""
) -> dict[str, object]:
    """The contract that scripts use; `kept` is the file that has the proposals now, which are accepted then."""
    return {
        "schema_version": SCHEMA_VERSION,
        "plan": reading.plan.path,
        "format": reading.plan.format,
        "steps": [
            {
                "id": step.id,
                "checks": [{"command": check.command, "red_first": check.red_first} for check in step.checks],
                "not_run": list(step.not_run),
            }
            for step in todo(reading)
        ],
        **proved_json(outlook),
        "proposed": [] if kept else proposed_json(proposals),
        "accepted": proposed_json(proposals) if kept else [],
        "detected": _detected_json(detected),
        "written": kept,
    }
