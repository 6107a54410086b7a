"""`drumline trust`: which commands of this repository were accepted or refused, and saying otherwise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from drumline.app.brought import list_flow_commands, list_plan_commands
from drumline.cli.options import format_option, json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.cli.trusting import LABELS, describe
from drumline.core.plan import list_around
from drumline.core.trust import Brought, distinct
from drumline.errors import InvalidInput
from drumline.processes.census import MARK
from drumline.store.trustfile import ACCEPTED, LISTED, REFUSED, FileTrust
from drumline.wiring import Project, open_project

NEW = "new"
FLOW_ENDINGS = (".yaml", ".yml")
WORDS = {ACCEPTED: "accepted", REFUSED: "refused", LISTED: "listed, not accepted", NEW: "new"}


@click.command("trust")
@click.argument("place", required=False, default="", metavar="[PLAN|FLOW]")
@click.option("--accept", "said", flag_value=ACCEPTED, help="Accept what is not accepted yet.")
@click.option("--refuse", "said", flag_value=REFUSED, help="Refuse it: no run executes it.")
@click.option("--revoke", "said", flag_value=NEW, help="Forget what was said, so that it is asked again.")
@click.option("--only", "ids", multiple=True, metavar="ID", help="Only this command; may be repeated.")
@format_option
@json_option
def command(place: str, said: str | None, ids: Sequence[str], format: str, as_json: bool) -> int:
    """Show the commands that this repository brings, and what you said about each.

    With a plan or a flow those that it would execute, else those of the configuration and all that were met before.
    """
    project = open_project()
    trust = project.open_trust()
    chosen = _choose(_gather(project, trust, place, format), ids)
    if said is not None:
        project.check_speaker()
        _check_person()
        _say(trust, said, chosen)
    _show(trust, chosen, as_json=as_json)
    return 0


def _gather(project: Project, trust: FileTrust, place: str, format: str) -> list[Brought]:
    """The commands in question, each once."""
    sources = project.list_sources()
    if not place:
        return distinct([*list_plan_commands(sources, ()), *(v.command for v in trust.read().values())])
    if place.endswith(FLOW_ENDINGS):
        return _gather_flow(project, Path(place))
    try:
        reading = project.open_plan(place, format).read()
    except InvalidInput:
        if Path(place).suffix:
            raise
        return _gather_flow(project, Path(place))
    here = [step for step in reading.plan.steps if not step.elsewhere]
    return list_plan_commands(sources, [*list_around(reading.plan), *here])


def _gather_flow(project: Project, place: Path) -> list[Brought]:
    from drumline.flowfiles.library import locate_flow, open_flow
    from drumline.wiring.flows import describe_surroundings, list_flows, open_library

    library = open_library(project, project.state_dir)
    around = describe_surroundings(project.repository.top, project.config)
    flow, _ = open_flow(locate_flow(place, top=project.repository.top).absolute(), around=around)
    return list_flow_commands(project.list_sources(), list_flows(library, flow))


def _choose(found: list[Brought], ids: Sequence[str]) -> list[Brought]:
    unknown = [name for name in ids if not any(item.digest.startswith(name) for item in found)]
    if unknown:
        legal = ", ".join(item.id for item in found[:10]) or "there is none"
        raise InvalidInput(f"no command has the id {unknown[0]!r} (legal: {legal})", hint="drumline trust")
    return [item for item in found if not ids or any(item.digest.startswith(name) for name in ids)]


def _check_person() -> None:
    """Refuse to hear what a run has started: an agent or a check does not accept commands for a person."""
    if os.environ.get(MARK):
        raise InvalidInput(
            "what a run has started cannot accept commands; a person has to say this", hint="drumline trust"
        )


def _say(trust: FileTrust, said: str, chosen: Sequence[Brought]) -> None:
    if said == NEW:
        trust.forget(item.digest for item in chosen)
    else:
        trust.remember(said, chosen)


def _show(trust: FileTrust, found: Sequence[Brought], *, as_json: bool) -> None:
    known = trust.read()
    states = [(item, known[item.digest].said if item.digest in known else NEW) for item in found]
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "repository": trust.repository,
                "policy": trust.policy,
                "file": str(trust.path),
                "commands": [_spell(item, state) for item, state in states],
            }
        )
        return
    for item, state in states:
        click.echo(f"{item.id}  {WORDS[state]:<20}  {describe(item)}")
    if not states:
        click.echo("this repository has brought no commands yet")
    elif any(state != ACCEPTED for _, state in states):
        say("  next: drumline trust [PLAN|FLOW] --accept, or --refuse; --only ID takes one")


def _spell(item: Brought, state: str) -> dict[str, object]:
    return {
        "id": item.id,
        "digest": item.digest,
        "state": state,
        "kind": item.kind,
        "label": LABELS[item.kind],
        "command": item.text,
        "where": item.place,
    }
