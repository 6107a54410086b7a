"""Landed steps whose files the work changes as well: their checks judge it, too. Pure.

The rule: work breaks no check of a step that landed before it. Where that step is one that it needs, its agent hears of
it once; then the work may land, and says that it supersedes what the check demands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from drumline.core.baseline import list_inherited
from drumline.core.checklist import list_own
from drumline.core.findings import Finding, Found, Superseded
from drumline.core.ids import StepId
from drumline.core.kinds import find_lander, name_lander
from drumline.core.orders import Orders
from drumline.core.ownership import SHARED, names
from drumline.core.plan import Check
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import Severity
from drumline.record import replace

ENGINE = "drumline"
"""Who says that something is superseded."""


def list_sharing(
    run: RunState, own: StepId, changed: Collection[str], landed: Iterable[tuple[StepId, Sequence[str]]]
) -> tuple[StepId, ...]:
    """The landed steps, given with their files, that have checks of their own and share a file with the work.

    What programs write for whoever changes something is not shared.
    """
    common = (*SHARED, *run.begun.shared)
    mine = {path for path in changed if not any(names(entry, path) for entry in common)}
    known = run.plan.by_id
    found = [
        step for step, files in landed if step != own and step in known and not mine.isdisjoint(files)
    ]  # a rename is a deletion and a new file
    return tuple(step for step in dict.fromkeys(found) if list_own(run, known[step]))


def add_shared(orders: Orders, run: RunState, sharing: Sequence[StepId]) -> Orders:
    """The orders with the checks of steps that share files with the work, each command once, after all others."""
    if not sharing:
        return orders
    needed = list_needed(run, orders.step.id)
    known = {check.command for check in orders.checks}
    added: dict[str, Check] = {}
    for step in sorted(sharing, key=lambda name: name in needed):
        for check in list_own(run, run.plan.by_id[step]) if step in run.plan.by_id else ():
            if check.command not in known:
                added.setdefault(check.command, replace(check, source=name_lander(step), line=0, red_first=False))
    return replace(orders, checks=(*orders.checks, *added.values()))


def list_needed(run: RunState, step: StepId) -> set[StepId]:
    """The steps that this one needs, directly or not."""
    found: set[StepId] = set()
    left = [step]
    while left:
        one = run.plan.by_id.get(left.pop())
        fresh = [need for need in one.needs if need not in found] if one is not None else []
        found.update(fresh)
        left += fresh
    return found


def list_broken(orders: Orders, state: StepState, run: RunState) -> list[int]:
    """The failing checks, by number, if all that fail through the work are those of steps that it needs."""
    if not state.sharing or len(state.faults()) < len(state.failing()):
        return []
    inherited = list_inherited(orders.checks, state, last=orders.last)
    failing = [n for n, verdict in sorted(state.verdicts.items()) if verdict.ended.failed and n not in inherited]
    needed = list_needed(run, orders.step.id)
    return failing if all(find_lander(orders.checks[n]) in needed for n in failing) else []


def list_superseded(orders: Orders, state: StepState, run: RunState) -> list[int]:
    """Those of them that the work may break: its agent has heard of it, and has left it so."""
    return list_broken(orders, state, run) if state.superseding else []


def complain_broken(orders: Orders, state: StepState, run: RunState) -> str:
    """What the agent hears of it once; empty if there is nothing, or it has heard it."""
    broken = [] if state.superseding or state.conflicts else list_broken(orders, state, run)
    if not broken:
        return ""
    told = ", ".join(f"`{orders.checks[n].command}` of {find_lander(orders.checks[n])}" for n in broken)
    return (
        f"Your work passes its own checks and breaks those of steps that it builds on: {told}. Let them pass again. "
        "Only if this step is meant to change what they demand, leave it so and say why: it then lands as work that "
        "supersedes them, and a person is told."
    )


def name_superseded(orders: Orders, state: StepState, run: RunState) -> tuple[Superseded, ...]:
    """What the work supersedes, with the steps whose checks they are."""
    broken = list_superseded(orders, state, run)
    checks = [orders.checks[n] for n in broken]
    return tuple(Superseded(step=StepId(find_lander(check)), command=check.command) for check in checks)


def write_concerns(by: StepId, superseded: Sequence[Superseded]) -> tuple[Found, ...]:
    """The same as findings: nobody has to put them right, and somebody should know."""
    return tuple(
        Found(
            finding=Finding(
                id=f"{by}-S{number}",
                severity=Severity.CONCERN,
                step=one.step,
                title=f"superseded by {by}: the check {one.command} fails",
                by=ENGINE,
            )
        )
        for number, one in enumerate(superseded, 1)
    )
