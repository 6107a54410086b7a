"""What a run has pinned of the configuration, what differs by now, and taking the present one for what is tried again.

The rule: a run keeps what it began with. Only a person who tries again what did not get through takes the
present configuration, and it is journaled. What was typed when the run began is never replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.app.catalog import read_run
from drumline.core.events import ConfigRepinned, RunStarted
from drumline.core.ids import RunId, Stream
from drumline.core.kinds import CONFIGURED, ENVIRONMENT, PLAN
from drumline.core.plan import Check
from drumline.core.state import RunState
from drumline.core.vocabulary import Mutants, OnConflict, Ownership, Review
from drumline.errors import Conflict
from drumline.ports.journal import Addition, Journal
from drumline.record import Record, field, replace
from drumline.settings import Settings

TIMEOUTS = (
    "step_timeout",
    "agent_timeout",
    "agent_idle",
    "check_timeout",
    "build_timeout",
    "lint_timeout",
    "format_timeout",
    "quota_wait",
)
OF_STEPS = (
    *("agent", "checks", "setup", "provide", "subject", "retries", "judge", "mutants", "held_out", "kinds"),
    *("ownership", "shared", "review", "on_conflict"),
)
"""Settings that a run of a flow does not read: its nodes say what they are about."""
TRIES = 5


class Present(Record):
    """The configuration as it is now, with the agent named so that it means the same from any folder.

    `held_out` are the files of checks that agents do not see, if they are of the kinds in `jailed`.
    """

    settings: Settings
    agent: str
    profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    held_out: tuple[str, ...] = ()
    jailed: tuple[str, ...] = ()


class Difference(Record):
    """One setting: what the run has pinned, and what the configuration says now."""

    name: str
    pinned: object
    present: object

    def __str__(self) -> str:
        return f"{self.name}: {_spell(self.pinned)} → {_spell(self.present)}"


def pin_timeouts(settings: Settings) -> dict[str, float]:
    """The timeouts of a run that begins with these settings."""
    return {name: getattr(settings, name) for name in TIMEOUTS}


def apply_pins(settings: Settings, begun: RunStarted) -> Settings:
    """The settings of a process, with the timeouts of the run that it drives."""
    return replace(settings, **begun.timeouts)


def _list_wanted(run: RunState, present: Present) -> dict[str, object]:
    """What the present configuration says, by the names of the pins."""
    begun, settings = run.begun, present.settings
    return {
        "agent": present.agent or begun.agent,
        "fallback": settings.fallback,
        "profiles": {} if not run.lands and not settings.fallback else present.profiles,
        "checks": settings.checks,
        "setup": settings.setup,
        "provide": settings.provide,
        "subject": settings.subject,
        "retries": settings.retries,
        "budget": settings.budget,
        "commands": present.commands,
        "judge": settings.judge,
        "mutants": Mutants(settings.mutants),
        "ownership": Ownership(settings.ownership),
        "shared": settings.shared,
        "review": Review(settings.review),
        "on_conflict": OnConflict(settings.on_conflict),
        "held_out": present.held_out,
        "jailed": present.jailed,
        "kinds": _take_kinds(begun.kinds, settings.kinds),
    }


def repin(run: RunState, present: Present, *, by: str) -> tuple[ConfigRepinned, list[Difference]]:
    """The event by which the run takes the present configuration, and what differs from what it has pinned."""
    begun, settings = run.begun, present.settings
    kept = {*begun.typed, *(OF_STEPS if not run.lands else ())}
    wanted = _list_wanted(run, present)
    pins = {name: getattr(begun, name) if name in kept else value for name, value in wanted.items()}
    timeouts = {
        name: begun.timeouts[name] if name in kept and name in begun.timeouts else value
        for name, value in pin_timeouts(settings).items()
    }
    found = [
        Difference(name=name, pinned=getattr(begun, name), present=value)
        for name, value in pins.items()
        if value != getattr(begun, name)
    ]
    found += [
        Difference(name=name, pinned=begun.timeouts[name], present=value)
        for name, value in timeouts.items()
        if value != begun.timeouts.get(name, value)
    ]
    changed = tuple(one.name for one in found)
    event = ConfigRepinned(changed=changed, timeouts=timeouts, by=by, **pins)  # type: ignore[arg-type]  # as in `begun`
    return event, found


async def record_repin(store: Journal, run: RunId, event: ConfigRepinned) -> None:
    """Journal it; nobody drives the run, but somebody may speak to it at the same time."""
    for _ in range(TRIES):
        try:
            expected = read_run(store, run).version
            await store.append({Stream(run): Addition(events=[event], expected=expected)})
        except Conflict:
            continue
        return


def _take_kinds(pinned: Sequence[Check], present: Sequence[Check]) -> tuple[Check, ...]:
    """The commands for kinds of checks: what a variable or the plan named stays, unless a variable names another."""
    typed = {check.kind: check for check in (*pinned, *present) if check.source == ENVIRONMENT}
    plan = (check for check in pinned if check.source == PLAN)
    # In the order in which a run begins with them: another one is not another configuration.
    return (*typed.values(), *(check for check in present if check.source == CONFIGURED), *plan)


def _spell(value: object) -> str:
    match value:
        case "" | () | None:
            return "(none)"
        case tuple():
            return ", ".join(each.command if isinstance(each, Check) else str(each) for each in value)
        case Mapping():
            return ", ".join(value) or "(none)"
        case float():
            return f"{value:g}"
        case _:
            return str(value)
