"""`drumline agents`: which agents there are, what they can do, and whether one really works."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from drumline.app.agents import TRIAL, UNCONFIGURED, Configured, Listed, Trial, list_agents, sort_listed, try_agent
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.engine.services import Worker
from drumline.errors import DrumlineError
from drumline.ports.processes import Processes
from drumline.profiles import read_profiles
from drumline.record import to_plain
from drumline.wiring import Project, open_project
from drumline.wiring.agents import AgentRegistry
from drumline.workspace.repository import find_repository


@click.group("agents", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the agents: what is installed, in which version, what each can do."""
    if context.invoked_subcommand is not None:
        return
    found = list_agents(find_configured())
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "agents": [listed_json(listed) for listed in found]})
    else:
        _show_all(sort_listed(found))


@command.command("test")
@click.argument("name")
@click.option("--timeout", type=click.FloatRange(min=1), default=TRIAL, show_default=True, help="Seconds it may take.")
@json_option
def test(name: str, timeout: float, as_json: bool) -> int:
    """Let the agent NAME, such as claude or codex:MODEL, do a tiny task in a temporary repository.

    This asks its model, which costs a little. In a repository its configuration counts, and NAME may be one of its.
    """
    if _is_in_repository():
        open_project().check_speaker()

    def begin() -> None:
        if not as_json:
            say(f"{name} is asked to write a word into a file …")

    trial = try_agent(name, timeout=timeout, configured=find_configured(), begin=begin)
    if as_json:
        print_json(trial_json(trial))
    else:
        _show_trial(trial)
    return 1 if trial.fault else 0


def find_configured() -> Configured:
    """What the repository around here says of agents; outside of one there is nothing to say."""
    if not _is_in_repository():
        return UNCONFIGURED
    project = open_project()
    tables = read_profiles(project.config).agents
    return Configured(
        tables=tables, own=project.settings.agent, open=lambda name, processes: _open(project, name, processes)
    )


def _is_in_repository() -> bool:
    try:
        find_repository(Path.cwd())
    except DrumlineError:
        return False
    return True


def _open(project: Project, name: str, processes: Processes) -> Worker:
    """An agent as a run would open it."""
    configured = read_profiles(project.config)
    registry = AgentRegistry(
        agent=project.settings.agent,
        profiles=project.profiles,
        processes=processes,
        base=project.repository.top,
        servers=configured.mcp,
        tables=configured.agents,
        redaction=project.redaction,
    )
    return registry.open(name if name in project.profiles else project.anchor(name, typed=True))


def listed_json(listed: Listed) -> dict[str, object]:
    """An agent as scripts read it."""
    return {**to_plain(listed), "usable": listed.usable}


def trial_json(trial: Trial) -> dict[str, object]:
    """A trial as scripts read it."""
    outcome = trial.outcome
    return {
        "schema_version": SCHEMA_VERSION,
        "ok": not trial.fault,
        "agent": trial.spec,
        "edited": trial.edited,
        "seconds": round(trial.seconds, 1),
        "jailed": trial.jailed,
        "message": outcome.message,
        "failure": outcome.failure,
        "session": outcome.session,
        "usage": dict(outcome.usage),
        "resets_at": outcome.resets_at,
        "notices": list(outcome.notices),
        "fault": trial.fault,
        "next": trial.next,
    }


def _show_all(found: Sequence[Listed]) -> None:
    for listed in found:
        if listed.usable:
            _show_usable(listed)
        else:
            told = listed.fault or "not installed"
            click.echo(f"{click.style('·', fg='yellow')} {listed.name}: {told}")
            if listed.installed:
                _show_abilities(listed)
            _show_next(listed.next)
    say("  next: drumline agents test NAME")


def _show_usable(listed: Listed) -> None:
    version = f" {listed.version}" if listed.version else ""
    place = f" at {listed.path}" if listed.path else ""
    origin = "" if listed.origin == "drumline" else f" ({listed.origin})"
    stands = f" is {listed.agent}" if listed.agent else ""
    sign = click.style("✓", fg="green")
    click.echo(f"{sign} {listed.name}{stands}{version}{place}{origin}, as --agent {listed.spec}")
    _show_abilities(listed)
    if listed.tiers:
        click.echo(f"    tiers: {describe_tiers(listed.tiers, listed.efforts)}")


def describe_tiers(tiers: Mapping[str, str], efforts: Mapping[str, str]) -> str:
    """The models of the tiers; where none is known the program takes its own, and may think harder in a higher tier."""
    if not any(tiers.values()) and not efforts:
        return "its own model for all of them"
    return ", ".join(f"{tier} {model or _name_own(efforts.get(tier, ''))}" for tier, model in tiers.items())


def _name_own(effort: str) -> str:
    return f"its own model with {effort} effort" if effort else "its own model"


def _show_abilities(listed: Listed) -> None:
    if listed.abilities:
        click.echo(f"    {', '.join(listed.abilities)}")


def _show_trial(trial: Trial) -> None:
    outcome = trial.outcome
    sign = click.style("✗", fg="red") if trial.fault else click.style("✓", fg="green")
    what = trial.fault or f"works: it wrote the file in {trial.seconds:.1f} s"
    click.echo(f"{sign} {trial.spec}: {what}")
    click.echo(f"    held by bubblewrap: {'yes' if trial.jailed else 'no'}")
    if outcome.usage:
        click.echo(f"    usage: {', '.join(f'{name} {count:g}' for name, count in outcome.usage.items())}")
    if outcome.session:
        click.echo(f"    session: {outcome.session}")
    if outcome.resets_at:
        click.echo(f"    again at {time.strftime('%Y-%m-%d %H:%M', time.localtime(outcome.resets_at))}")
    for notice in outcome.notices:
        click.echo(f"    {notice}")
    _show_next(trial.next)


def _show_next(advice: str) -> None:
    if advice:
        click.echo(f"    next: {advice}")
