"""Shows the commands that a repository brings, and asks about them where a person is there.

The rule: a person is asked once about each command. Without a person it is listed once, and the run goes on unless
somebody refused it before or `trust = "ask"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import click

from drumline.app.begin import list_todo
from drumline.app.brought import list_flow_commands, list_plan_commands
from drumline.cli.output import is_terminal, say
from drumline.configfiles import CONFIG
from drumline.core.flow.model import Flow
from drumline.core.needs import settled
from drumline.core.plan import Step, list_around
from drumline.core.state import RunState
from drumline.core.trust import AGENT, CHECK, GRANT, NOTIFY, SCRIPT, SERVER, SETUP, Brought, spell_out
from drumline.engine.vetting import Vetting
from drumline.errors import InvalidInput, NeedsPerson
from drumline.protection import ASK, OFF
from drumline.record import Record, replace
from drumline.store.trustfile import LISTED, REFUSED, FileTrust, Verdict
from drumline.wiring import Project

LABELS: Mapping[str, str] = MappingProxyType(
    {
        SETUP: "in every new workspace",
        CHECK: "check",
        AGENT: "agent",
        SCRIPT: "script",
        SERVER: "MCP server",
        NOTIFY: "when a run waits",
        GRANT: "granted",
    }
)
MOST = 20
"""Commands that are listed where nobody can be asked; a person who is asked sees all of them."""


class Offer(Record):
    """What a run would execute: `brought` by the repository, `everything` with what a person typed.

    `place` is the plan or the flow, as `drumline trust` takes it; empty for a task.
    """

    brought: Sequence[Brought]
    everything: Sequence[Brought]
    place: str


def ask_trust(project: Project, offer: Offer, *, as_json: bool = False) -> None:
    """Ask about commands that are new, or changed; NeedsPerson if they are refused or nobody can be asked."""
    if project.settings.trust == OFF:
        return
    asks = is_terminal() and not as_json
    trust = project.open_trust(asks=asks)
    untrusted = [] if not asks and project.settings.trust != ASK else list(trust.find_untrusted(offer.brought))
    if asks and untrusted:
        _ask(trust, untrusted, offer.place)
        return
    refused = [item for item in offer.brought if _is_refused(trust.read(), item)]
    if untrusted or refused:
        if not offer.place:  # nothing but memory can tell `drumline trust` later what is to be accepted
            trust.remember(LISTED, trust.find_new(untrusted))
        raise _refuse(untrusted or refused, offer.place, refused=bool(refused))
    if new := trust.find_new(offer.brought):
        list_commands(offer.everything, place=offer.place)
        trust.remember(LISTED, new)


def ask_flow_trust(project: Project, flows: Sequence[Flow], *, agent: str, model: str, as_json: bool) -> None:
    """Ask about what walking these flows executes; the first is the one that is run."""
    brought, everything = (
        list_flow_commands(project.list_sources(everything=each), flows, agent=agent, model=model)
        for each in (False, True)
    )
    offer = Offer(brought=brought, everything=everything, place=project.name_path(Path(flows[0].path)))
    ask_trust(project, offer, as_json=as_json)


def ask_walked_trust(project: Project, steps: Iterable[Step], *, as_json: bool) -> None:
    """Refuse a run of these steps that walks a flow which is not there or broken; ask about what flows execute."""
    names = sorted({name for step in steps if (name := step.flow or project.settings.flow)})
    if not names and not (project.repository.top / CONFIG).with_name("flows").is_dir():
        return
    from drumline.wiring.flows import open_walked_flows  # brings readers of flows

    for flows in open_walked_flows(project, names):
        ask_flow_trust(project, flows, agent="", model="", as_json=as_json)


def ask_again(project: Project, run: RunState, *, as_json: bool) -> None:
    """Ask about what came since a run began: the configuration, and its steps as their files are now.

    Flows are as they were, their scripts as they are now. Steps that nobody can be asked about here, or that were
    refused, are left to the driver: they wait at gates.
    """
    if not run.lands:
        from drumline.wiring.flows import list_flows, open_library

        agent = run.begun.agent
        library = open_library(project, project.logs(run.id) / "flows", override=agent)
        flows = list_flows(library, library.recall(run.plan.path, run.begun.plan_digest))
        ask_flow_trust(project, flows, agent=agent, model=run.model, as_json=as_json)
        return
    trust = project.open_trust(asks=is_terminal() and not as_json)
    Vetting(trust=trust, base=project.repository.top).look(run)  # remembers what was answered at gates
    begun = run.begun
    pinned = replace(project.settings, agent=begun.agent, fallback=begun.fallback, setup=begun.setup)
    pinned = replace(pinned, provide=begun.provide, checks=begun.checks, kinds=begun.kinds)
    sources = replace(project.list_sources(), settings=pinned)
    own = list_plan_commands(sources, ())
    known = trust.read()
    edited = list_plan_commands(sources, _read_todo(project, run)) if trust.asks else []
    found = [*own, *(item for item in edited if item not in own and not _is_refused(known, item))]
    ask_trust(project, Offer(brought=found, everything=found, place=begun.plan), as_json=as_json)


def _read_todo(project: Project, run: RunState) -> list[Step]:
    """The steps still to do, as their files are now; none if these cannot be read, which the driver tells."""
    try:
        reading = project.plan_of(run).read()
    except InvalidInput:
        return []
    todo = [*list_around(reading.plan), *list_todo(reading, run.begun.selection)]
    return [step for step in todo if not settled(run, step.id)]


def open_trust(project: Project, *, as_json: bool, tell: Callable[[str], None] = say) -> FileTrust:
    """What decides in mid-run: a person at this terminal is asked, else what is new is printed and executed."""

    def list_new(found: Sequence[Brought]) -> None:
        for item in found:
            tell(f"new command, not accepted by anybody: {describe(item)}")

    return project.open_trust(asks=is_terminal() and not as_json, list_new=list_new)


def describe(item: Brought, *, mark: str = "") -> str:
    """A command on one line, with where it is written."""
    here, place = Path.cwd(), Path(item.place)
    shown = str(place.relative_to(here)) if place.is_relative_to(here) else item.place
    where = f"  ({spell_out(shown)}{mark})" if item.place else ""
    return f"{LABELS[item.kind]}: {item.shown}{where}"


def list_commands(found: Sequence[Brought], *, place: str) -> None:
    """List what will be executed, for those who read logs."""
    checks = sum(item.kind == CHECK for item in found)
    counts = [
        count for count in (_count(checks, "different check"), _count(len(found) - checks, "other command")) if count
    ]
    say(f"nobody has accepted these commands of the repository yet; it will execute {' and '.join(counts)}:")
    place = spell_out(place)
    for item in found[:MOST]:
        say(f"  {describe(item)}")
    if len(found) > MOST:
        say(f"  … and {len(found) - MOST} more ({_accepting(place).removesuffix(' --accept')} shows all)")
    say(f"  accept them with: {_accepting(place)}")


def _ask(trust: FileTrust, untrusted: Sequence[Brought], place: str) -> None:
    known = trust.read()
    how_many = "a command" if len(untrusted) == 1 else f"{len(untrusted)} commands"
    held = "" if all(item.kind == CHECK for item in untrusted) else "; only agents and checks run in a sandbox"
    say(f"this repository brings {how_many} that you have not accepted yet{held}:")
    for item in untrusted:
        say(f"  {describe(item, mark=_mark(known, item))}")
    if click.confirm("Execute them in this run and later ones", default=True, err=True):
        trust.accept(untrusted)
        return
    trust.refuse(untrusted)
    raise NeedsPerson(f"you refused {how_many} of this repository; nothing was started", hint=_accepting(place))


def _accepting(place: str) -> str:
    """The command that accepts what a plan or a flow brings, or, without a place, all that was met."""
    return f"drumline trust {place} --accept" if place else "drumline trust --accept"


def _mark(known: Mapping[str, Verdict], item: Brought) -> str:
    if _is_refused(known, item):
        return ", refused before"
    earlier = {(v.command.kind, v.command.slot) for v in known.values() if v.command.slot}
    return ", changed" if item.slot and (item.kind, item.slot) in earlier else ""


def _is_refused(known: Mapping[str, Verdict], item: Brought) -> bool:
    verdict = known.get(item.digest)
    return verdict is not None and verdict.said == REFUSED


def _refuse(found: Sequence[Brought], place: str, *, refused: bool) -> NeedsPerson:
    for item in found:
        say(f"  {describe(item)}")
    how_many = "1 command" if len(found) == 1 else f"{len(found)} commands"
    why = "a person refused" if refused else "trust = 'ask', and nobody has accepted"
    return NeedsPerson(f"{why} {how_many} of this repository", hint=_accepting(place))


def _count(number: int, noun: str) -> str:
    return "" if not number else f"1 {noun}" if number == 1 else f"{number} {noun}s"
