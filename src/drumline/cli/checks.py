"""`drumline checks PLAN`: what proves the steps of a plan, and checks proposed for those that nothing proves.

`drumline checks test` plays lies against the checks; it is imported when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib import import_module
from types import MappingProxyType

import click

from drumline.app.detection import FORMAT, SETUP, Detected, detect_at_head
from drumline.app.ledger import read_ledger
from drumline.app.proposing import Proposal, as_checks, propose
from drumline.cli.introduction import list_proposals
from drumline.cli.options import format_option, json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, print_lines, say
from drumline.cli.preview import proposed_json, proved_json
from drumline.cli.retyping import name_plan
from drumline.configfiles import CONFIG
from drumline.core.checklist import arrange_step
from drumline.core.kinds import CONFIGURED, ENVIRONMENT, FIELDS, PLAN, VARIABLES, arrange
from drumline.core.outlook import Outlook, look_ahead, tell_worth, todo
from drumline.core.parallelism import measure_parallelism
from drumline.core.plan import ACCEPTED, SIDECAR, Check, Reading, Step
from drumline.core.tally import Tally
from drumline.core.vocabulary import CheckKind
from drumline.errors import InvalidPlan
from drumline.settings import PREFIX
from drumline.views.cells import flatten
from drumline.views.explain import list_caveats
from drumline.views.flakes import find_tally, tally_json
from drumline.wiring import Project, open_project

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
        named = bool(args) and args[0] in (SHOW, TEST, *ctx.help_option_names)
        return super().parse_args(ctx, args if named else [SHOW, *args])


@click.group("checks", cls=ChecksCommands)
def command() -> None:
    """Show the checks of a plan (`drumline checks PLAN`), or play lies against them."""


@click.command(SHOW)
@click.argument("plan", required=False, default="")
@format_option
@click.option("--accept", is_flag=True, help="Keep the proposed checks in a file beside the plan.")
@json_option
def show(plan: str, format: str, accept: bool, as_json: bool) -> None:
    """Show every check of PLAN, where it comes from and what it would prove, and propose some for steps that have none.

    Nothing is run. Without PLAN, what is configured for every step and what is found in the repository is shown.
    """
    project = open_project()
    if not plan:
        _show_repository(project, as_json=as_json)
        return
    if accept:
        project.check_speaker()
    planfiles = project.open_plan(plan, format)
    reading = planfiles.read()
    if reading.errors:
        raise InvalidPlan(
            f"{plan} cannot be read", reading.problems, hint=f"drumline validate {name_plan(plan, format)}"
        )
    project = project.with_plan(reading.plan)
    detected = detect_at_head(project.repository)
    configured = project.settings.configured
    proposals = propose(reading, detected, configured)
    kept = planfiles.keep_checks(as_checks(proposals)) if accept and proposals else ""
    reading = planfiles.read() if kept else reading
    outlook = look_ahead(reading, configured)
    if as_json:
        told = checks_json(reading, outlook, proposals, detected, kept=kept)
        print_json(told | {"every_step": _named_json(project, todo(reading))})
        return
    ledger = _read_ledger(project)
    print_lines(list_checks(todo(reading), plan, ledger))
    _show_configured(project, ledger, todo(reading))
    click.echo(outlook.in_words())
    print_lines(list_caveats(outlook, measure_parallelism(reading.plan.steps, reading.plan.format)))
    print_lines(list_proposals(proposals, word="accepted" if kept else "proposed"))
    for found in detected.of(SETUP, FORMAT) if proposals else ():
        click.echo(f"found for {found.kind}: {found.command} (from {found.place})")
    if kept:
        say(f"wrote {kept}")
        say(f"  next: drumline run {name_plan(plan, format)}")
    elif proposals:
        say(f"  next: drumline checks {name_plan(plan, format)} --accept")
    elif outlook.unproved:
        say("nothing to propose: no tests were found in the last commit, and no step names a command")
        say(f"  write one below a step (Run: `make test`), or run it as it is: drumline run {name_plan(plan, format)}")


def _read_ledger(project: Project) -> Mapping[str, Tally]:
    """What earlier runs know of checks."""
    if not project.has_store():
        return {}
    with closing(project.open_store(read_only=True)) as store:
        return read_ledger(store)


def list_checks(steps: Sequence[Step], plan: str, ledger: Mapping[str, Tally] = MappingProxyType({})) -> list[str]:
    """A line for each check and one for its origin; a check that more than a few steps have is listed once."""
    found: dict[tuple[str, str], list[tuple[Step, Check]]] = {}
    for step in steps:
        for check in step.checks:
            red = " (must be red before the work)" if check.red_first else ""
            told = f"{_name_kind(check)}{flatten(check.command)}{red}", _tell_worth(check, ledger, own=True)
            found.setdefault(told, []).append((step, check))
    lines: list[str] = []
    for (command, worth), places in found.items():
        many = len(places) > MOST_STEPS
        ids = [str(step.id) for step, _ in places]
        named = [f"{len(ids)} steps ({', '.join(ids[:MOST_STEPS])}, …)"] if many else ids
        for name, (step, check) in zip(named, places, strict=False):
            lines += [f"{name}: {command}", f"    from {_name_origin(check, step, plan)}; {worth}"]
    return lines


def _tell_worth(check: Check, ledger: Mapping[str, Tally], *, own: bool) -> str:
    """What a check would prove, and whether it has changed its verdict on one tree."""
    tally = find_tally(ledger, check.command)
    return f"{tell_worth(check, own=own)}; {tally.in_words()}" if tally else tell_worth(check, own=own)


def _show_repository(project: Project, *, as_json: bool) -> None:
    """What judges every step, whatever the plan."""
    detected = detect_at_head(project.repository)
    if as_json:
        configured = _named_json(project, ())
        told = {"schema_version": SCHEMA_VERSION, "setup": project.settings.setup, "configured": configured}
        told["provide"] = list(project.settings.provide)
        print_json(told | {"detected": _detected_json(detected)})
        return
    if project.settings.setup:
        click.echo(f"setup: {flatten(project.settings.setup)}")
        click.echo(f"    from {_name_place(project, 'setup')}; brings what checks need and proves nothing")
    for entry in project.settings.provide:
        click.echo(f"provide: {flatten(entry)}")
        click.echo(f"    from {_name_place(project, 'provide')}; brings what checks need and proves nothing")
    _show_configured(project, _read_ledger(project))
    for found in detected.found:
        click.echo(f"found for {found.kind}: {flatten(found.command)} (from {found.place})")
    if detected.found and not project.settings.configured:
        say("  to run them for every step: drumline init --accept")


def _show_configured(project: Project, ledger: Mapping[str, Tally], steps: Sequence[Step] = ()) -> None:
    """What judges every step, and what does not because another source names a command of its kind."""
    arranged, lost = _arrange(project, steps)
    unused = {check for check, ids in lost if steps and len(ids) == len(steps)}
    for check in [check for check in arranged if check not in unused]:
        click.echo(f"every step: {_name_kind(check)}{flatten(check.command)}")
        click.echo(f"    from {_name_source(project, check)}; {_tell_worth(check, ledger, own=False)}")
    for check, ids in lost:
        where = "every step" if len(ids) == len(steps) else ", ".join(ids)
        click.echo(f"not a check of {where}: {_name_kind(check)}{flatten(check.command)}")
        bare = {step.id for step in steps if step.compiles}
        why = "a compile check only" if ids and bare >= {*ids} else "another source names a command of this kind"
        click.echo(f"    from {_name_source(project, check)}; {why}")


def _arrange(project: Project, steps: Sequence[Step]) -> tuple[Sequence[Check], list[tuple[Check, list[str]]]]:
    """The checks for every step in order, and each command that is not a check of some steps, with their ids."""
    settings = project.settings
    shared = (*settings.kinds, *(Check(command=command, source=CONFIGURED) for command in settings.checks))
    lost: dict[Check, list[str]] = {check: [step.id for step in steps] for check in arrange((), shared).lost}
    for step in steps:
        for check in arrange_step(step, shared).lost:
            lost.setdefault(check, [])
            lost[check] += [step.id] if step.id not in lost[check] else []
    return arrange((), shared).checks, list(lost.items())


def _name_kind(check: Check) -> str:
    return f"{check.kind}: " if check.kind is not CheckKind.OWN else ""


def _name_source(project: Project, check: Check) -> str:
    if check.source == ENVIRONMENT:
        return VARIABLES[check.kind]
    if check.source == PLAN:
        return f"{FIELDS[check.kind]} of the plan"
    if check.source != CONFIGURED:
        return "its file"
    return f"[commands] of {CONFIG.as_posix()}" if check.kind is not CheckKind.OWN else _name_place(project, "checks")


def _named_json(project: Project, steps: Sequence[Step]) -> list[dict[str, object]]:
    ledger = _read_ledger(project)
    arranged, lost = _arrange(project, steps)
    found = [(check, True, [str(step.id) for step in steps]) for check in arranged]
    found += [(check, False, ids) for check, ids in lost]
    return [
        {
            "command": check.command,
            "kind": check.kind.value or None,
            "source": check.source,
            "from": _name_source(project, check),
            "counts": counts,
            "steps": ids,
            "proves": tell_worth(check, own=False),
            "flaky": tally_json(find_tally(ledger, check.command)),
        }
        for check, counts, ids in found
    ]


def _name_place(project: Project, key: str) -> str:
    """Where a setting comes from."""
    if os.environ.get(f"{PREFIX}{key.upper()}"):
        return f"{PREFIX}{key.upper()}"
    return CONFIG.as_posix() if key in project.config else "your own config.toml"


def _name_origin(check: Check, step: Step, plan: str) -> str:
    place = step.path or plan
    if check.source == ACCEPTED:
        return f"{place}{SIDECAR}"
    line = check.line or step.line
    return f"{place}:{line}" if line else place


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
                "checks": [
                    {
                        "command": check.command,
                        "red_first": check.red_first,
                        "from": _name_origin(check, step, reading.plan.path),
                        "kind": check.kind.value or None,
                        "proves": tell_worth(check, own=True),
                    }
                    for check in step.checks
                ],
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
