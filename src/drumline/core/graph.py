"""The shape of a plan: order, cycles, depths and ranks. Every function is linear in steps plus needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.ids import StepId
from drumline.core.plan import NO_ESTIMATE, Step

HOUR = 3600.0


def dependents(steps: Sequence[Step]) -> dict[StepId, list[StepId]]:
    """Who needs each step, in plan order. Unknown needs are left out."""
    found: dict[StepId, list[StepId]] = {step.id: [] for step in steps}
    for step in steps:
        for need in dict.fromkeys(step.needs):
            if need in found:
                found[need].append(step.id)
    return found


def topological(steps: Sequence[Step]) -> list[StepId]:
    """Step ids so that needs come first, plan order among equals. Steps on or behind a cycle are missing."""
    after = dependents(steps)
    left = {step.id: len({n for n in step.needs if n in after}) for step in steps}
    order = [step.id for step in steps if left[step.id] == 0]
    for step_id in order:  # grows while it is walked
        for dependent in after[step_id]:
            left[dependent] -= 1
            if left[dependent] == 0:
                order.append(dependent)
    return order


def cycle(steps: Sequence[Step]) -> list[StepId]:
    """One cycle, as the ids along it with the first repeated at the end; empty if there is none."""
    sorted_ids = set(topological(steps))
    stuck = {step.id: step for step in steps if step.id not in sorted_ids}
    if not stuck:
        return []
    path: list[StepId] = []
    seen: dict[StepId, int] = {}
    here = next(iter(stuck))
    while here not in seen:
        seen[here] = len(path)
        path.append(here)
        here = next(n for n in stuck[here].needs if n in stuck)
    return [*path[seen[here] :], here][::-1]


def depths(steps: Sequence[Step]) -> dict[StepId, int]:
    """0 for a step without needs, else one more than its deepest need. Needs a plan without cycles."""
    by_id = {step.id: step for step in steps}
    found: dict[StepId, int] = {}
    for step_id in topological(steps):
        found[step_id] = max((found[n] + 1 for n in by_id[step_id].needs if n in found), default=0)
    return found


def ranks(steps: Sequence[Step], costs: Mapping[StepId, float] | None = None) -> dict[StepId, float]:
    """The cost of the longest chain that starts with each step: the critical path begins at the highest rank."""
    costs = costs or {step.id: step.estimate for step in steps}
    after = dependents(steps)
    found: dict[StepId, float] = {}
    for step_id in reversed(topological(steps)):
        found[step_id] = costs[step_id] + max((found[d] for d in after[step_id]), default=0.0)
    return found


def estimate(steps: Sequence[Step], durations: Mapping[str, float]) -> dict[StepId, float]:
    """What each step costs, in hours: what its file says, else the seconds that it took in earlier runs.

    A step of which nobody knows anything counts as the others do on average.
    """
    known = {step.id: durations[step.id] / HOUR for step in steps if durations.get(step.id)}
    usual = sum(known.values()) / len(known) if known else NO_ESTIMATE
    return {s.id: s.estimate if s.estimate != NO_ESTIMATE else known.get(s.id, usual) for s in steps}


def critical_path(steps: Sequence[Step]) -> list[StepId]:
    """The chain that bounds the run's length, first step first."""
    rank = ranks(steps)
    if not rank:
        return []
    after = dependents(steps)
    roots: Mapping[StepId, Step] = {s.id: s for s in steps if not any(n in rank for n in s.needs)}
    here: StepId | None = max(roots, key=lambda s: rank[s], default=None)
    path: list[StepId] = []
    while here is not None:
        path.append(here)
        here = max(after[here], key=lambda s: rank[s], default=None)
    return path
