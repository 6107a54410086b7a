"""How parallel a plan is, and the mode that follows from it. Steps on or behind a cycle have no depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from drumline.core import graph
from drumline.core.ids import StepId
from drumline.core.ownership import Overlap, overlaps
from drumline.core.plan import Step
from drumline.record import Record

PARALLEL = "parallel"
SEQUENTIAL = "sequential"
MAESTRO = "maestro"
"""The format whose plans are run in parallel only if more than half of their steps can be."""


class Parallelism(Record):
    """The shape of a plan: waves hold the steps of one depth.

    `eligible` counts the steps that are free to run beside another: of those in a wave that share files, one has its
    turn while the others wait, and steps that run alone do not count.
    """

    total: int
    depths: int
    waves: tuple[tuple[StepId, ...], ...]
    width: int
    eligible: int
    critical_path: tuple[StepId, ...]
    cost: float
    mode: str
    reason: str
    overlaps: tuple[Overlap, ...] = ()


def measure_parallelism(steps: Sequence[Step], format: str = "") -> Parallelism:
    """Measure the plan and recommend a mode; plans of one format have a rule of their own for that."""
    depths = graph.depths(steps)
    by_depth: dict[int, list[StepId]] = {}
    for step_id, depth in depths.items():
        by_depth.setdefault(depth, []).append(step_id)
    waves = tuple(tuple(by_depth[depth]) for depth in sorted(by_depth))
    path = graph.critical_path([step for step in steps if step.id in depths])
    estimates = {step.id: step.estimate for step in steps}
    clashes = overlaps([step for step in steps if step.id in depths])
    eligible = _count_eligible(waves, steps, clashes)
    mode, reason = _recommend(eligible, len(steps), format)
    return Parallelism(
        total=len(steps),
        depths=len(waves),
        waves=waves,
        width=max((len(wave) for wave in waves), default=0),
        eligible=eligible,
        critical_path=tuple(path),
        cost=sum(estimates[step_id] for step_id in path),
        mode=mode,
        reason=reason,
        overlaps=tuple(clashes),
    )


def parallelism_json(found: Parallelism) -> dict[str, object]:
    """The profile as the commands print it."""
    return {
        "total": found.total,
        "depths": found.depths,
        "waves": [list(wave) for wave in found.waves],
        "width": found.width,
        "eligible": found.eligible,
        "critical_path": list(found.critical_path),
        "cost": found.cost,
        "mode": found.mode,
        "reason": found.reason,
        "overlaps": [{"steps": list(o.steps), "paths": list(o.paths)} for o in found.overlaps],
    }


def _count_eligible(waves: Sequence[Sequence[StepId]], steps: Sequence[Step], clashes: Sequence[Overlap]) -> int:
    """Steps that are free to run at the same time as another of their wave, summed over the waves."""
    loners = {step.id for step in steps if step.alone or step.elsewhere}
    clashing: dict[StepId, list[int]] = {}
    for number, clash in enumerate(clashes):
        for step_id in clash.steps:
            clashing.setdefault(step_id, []).append(number)
    sizes = [len(_side_by_side([s for s in wave if s not in loners], clashing)) for wave in waves]
    return sum(size for size in sizes if size > 1)


def _side_by_side(wave: Sequence[StepId], clashing: Mapping[StepId, Sequence[int]]) -> list[StepId]:
    """Steps of the wave no two of which clash: who clashes with fewest comes first, and none can be added.

    Two steps of one depth clash exactly if one overlap names both.
    """
    crowds = Counter(number for step_id in wave for number in clashing.get(step_id, ()))
    rivals = {step_id: sum(crowds[number] - 1 for number in clashing.get(step_id, ())) for step_id in wave}
    taken: set[int] = set()
    found: list[StepId] = []
    for step_id in sorted(wave, key=rivals.__getitem__):
        if taken.isdisjoint(clashing.get(step_id, ())):
            taken.update(clashing.get(step_id, ()))
            found.append(step_id)
    return found


def _recommend(eligible: int, total: int, format: str) -> tuple[str, str]:
    if eligible <= 1:
        return SEQUENTIAL, "no two steps of a wave are free to run side by side"
    share = f"{eligible} of {total} steps are free to run side by side"
    if format != MAESTRO:
        return PARALLEL, share
    if eligible * 2 > total:
        return PARALLEL, f"{share}: more than half"
    return SEQUENTIAL, f"{share}: not more than half"
