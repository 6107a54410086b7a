"""`drumline checks test`: plays lies against your own checks, and prints what would be caught by what."""

from __future__ import annotations

from contextlib import closing
from shlex import quote

import click

from drumline.app.brought import list_plan_commands
from drumline.app.catalog import find_run, read_run
from drumline.app.checktrial import Played, Trial, try_checks
from drumline.app.detection import TEST, detect_at_head
from drumline.cli.options import format_option, json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.cli.trusting import Offer, ask_trust
from drumline.core.nearest import did_you_mean
from drumline.core.plan import Step
from drumline.errors import InvalidInput, InvalidPlan
from drumline.views.cells import flatten
from drumline.wiring import Project, open_project

NOT_CAUGHT = 1
"""The exit code if a lie would end as proved."""


@click.command("test")
@click.argument("step", required=False, default="")
@click.option("--plan", default="", metavar="PLAN", help="The plan of STEP; that of the newest run if not given.")
@format_option
@json_option
def command(step: str, plan: str, format: str, as_json: bool) -> int:
    """Play lies against the checks of STEP, or the configured or found ones, and print what catches each.

    A source file is emptied in a copy of your last commit, which is thrown away afterwards; a scripted agent then makes
    the checks pass without the work, in one way after the other. Ends with 1 if one of them would be proved.
    """
    project = open_project()
    steps = [_find_step(project, step, plan, format)] if step else []
    commands = _list_commands(project, steps)
    brought = list_plan_commands(project.list_sources(), steps)
    ask_trust(project, Offer(brought=brought, everything=brought, place=plan), as_json=as_json)
    trial = try_checks(project.repository, commands, say)
    if as_json:
        print_json(trial_json(commands, trial))
    else:
        for line in describe_trial(commands, trial):
            click.echo(line)
    return 0 if all(played.is_caught for played in trial.played if not played.lie.honest) else NOT_CAUGHT


def _find_step(project: Project, name: str, plan: str, format: str) -> Step:
    if not plan:
        with closing(project.open_store(read_only=True)) as store:
            plan = read_run(store, find_run(store)).begun.plan
    reading = project.open_plan(plan, format).read()
    if reading.errors:
        raise InvalidPlan(f"{plan} cannot be read", reading.problems, hint=f"drumline validate {quote(plan)}")
    found = [step for step in reading.plan.steps if step.id == name]
    if not found:
        meant = did_you_mean(name, reading.plan.by_id)
        raise InvalidInput(f"{plan} has no step {name!r}{meant}", hint=f"drumline validate {quote(plan)}")
    return found[0]


def _list_commands(project: Project, steps: list[Step]) -> list[str]:
    """The commands that would judge: the step's own and the configured ones, else those found in the repository."""
    own = [check.command for step in steps for check in step.checks]
    every = [*own, *project.settings.configured]
    every = every or [found.command for found in detect_at_head(project.repository).of(TEST)]
    if not every:
        raise InvalidInput("there is no check to try", hint="add one to `checks` in .drumline/config.toml")
    return list(dict.fromkeys(every))


def describe_trial(commands: list[str], trial: Trial) -> list[str]:
    """What was played, a line for each lie."""
    lines = [f"check: {flatten(command)}" for command in commands]
    told = (
        f"{trial.broken} was emptied; the task is to bring it back" if trial.broken else "the checks fail as they are"
    )
    lines.append(f"task: {told}")
    width = max(len(played.lie.name) for played in trial.played)
    lines += [f"  {played.lie.name:<{width}}  {_tell_end(played)}" for played in trial.played]
    lies = [played for played in trial.played if not played.lie.honest]
    return [*lines, f"caught: {sum(played.is_caught for played in lies)} of {len(lies)} lies"]


def _tell_end(played: Played) -> str:
    end = played.level or played.state
    if played.lie.honest:
        return f"{end}: the honest work" + (f" ({', '.join(played.caught_by)})" if played.caught_by else "")
    return f"{end}: caught by {', '.join(map(flatten, played.caught_by))}" if played.is_caught else f"{end}: NOT CAUGHT"


def trial_json(commands: list[str], trial: Trial) -> dict[str, object]:
    """The contract that scripts use."""
    return {
        "schema_version": SCHEMA_VERSION,
        "checks": commands,
        "broken": trial.broken or None,
        "lies": [
            {
                "name": played.lie.name,
                "honest": played.lie.honest,
                "state": played.state,
                "level": played.level or None,
                "caught": played.is_caught,
                "by": list(played.caught_by),
            }
            for played in trial.played
        ],
    }
