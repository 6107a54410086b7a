"""Checks of a group of steps. A group is not run, so its checks are those of the step that ends it.

Where the steps of a group may end in any order no step can tell that it is the last: the checks are named, not run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from drumline.core import graph
from drumline.core.ids import StepId
from drumline.core.plan import Check, Problem, Step
from drumline.planfiles.source import digest
from drumline.planfiles.tasklist import warning
from drumline.record import Record, replace


class Group(Record):
    """A group that names checks: what it is called, its steps without those that are skipped, and where it stands."""

    name: str
    members: tuple[StepId, ...]
    checks: tuple[Check, ...]
    line: int


def find_last(steps: Sequence[Step], groups: Sequence[Group]) -> Mapping[str, StepId]:
    """The step that ends each group, by the group's name: all others of the group are done before it."""
    by_id = {step.id: step for step in steps}
    place = {step: number for number, step in enumerate(graph.topological(steps))} if groups else {}
    found: dict[str, StepId] = {}
    for group in groups:
        members = [member for member in group.members if member in place]
        if not members:
            continue
        last = max(members, key=place.__getitem__)
        if _comes_after(last, {*members} - {last}, by_id, place):
            found[group.name] = last
    return found


def hand_down(steps: Sequence[Step], groups: Sequence[Group], path: str) -> tuple[tuple[Step, ...], list[Problem]]:
    """The steps with the checks of the groups that they end, and a warning for each group that no step ends."""
    last = find_last(steps, groups)
    added: dict[StepId, list[Check]] = {}
    problems: list[Problem] = []
    for group in groups:
        if group.name in last:
            added.setdefault(last[group.name], []).extend(group.checks)
        else:
            commands = ", ".join(check.command for check in group.checks)
            message = f"{group.name} has a check, {commands!r}, that no step runs: its steps may end in any order"
            problems.append(warning("group_check", f"{message}; write it below one of them", path, group.line))
    return tuple(_with_checks(step, added.get(step.id, ())) for step in steps), problems


def _with_checks(step: Step, checks: Sequence[Check]) -> Step:
    known = {check.command for check in step.checks}
    fresh = [check for check in checks if check.command not in known]
    if not fresh:
        return step
    said = "\0".join([step.text_digest, *(check.command for check in fresh)])
    return replace(step, checks=(*step.checks, *fresh), text_digest=digest(said.encode("utf-8", "replace")))


def _comes_after(
    last: StepId, others: Collection[StepId], by_id: Mapping[StepId, Step], place: Mapping[StepId, int]
) -> bool:
    """Whether the step needs all others, directly or through further steps; what comes before them is not looked at."""
    left, waiting, seen = {*others}, [last], {last}
    first = min((place[other] for other in others), default=0)
    while left and waiting:
        for need in by_id[waiting.pop()].needs:
            if need not in seen and place.get(need, -1) >= first:
                seen.add(need)
                left.discard(need)
                waiting.append(need)
    return not left
