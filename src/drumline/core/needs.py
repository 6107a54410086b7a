"""Which needs of a step are met, and which steps nobody has to drive any more.

Needs have AND semantics.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from drumline.core import gates
from drumline.core.ids import StepId
from drumline.core.plan import Marks, Status, Step
from drumline.core.state import RunState
from drumline.core.vocabulary import PASSING, PlanCause, StepEnd

STUCK = frozenset({Status.CLAIMED, Status.BLOCKED, Status.FAILED})
"""What the plan says of a step that somebody has begun and not finished."""


def is_skipped(run: RunState, step: StepId) -> bool:
    """Whether the step was left out: it holds up nothing, and is not done."""
    finished = run.finished.get(step)
    return finished is not None and finished.state is StepEnd.SKIPPED


def satisfied(run: RunState, need: StepId) -> bool:
    """Whether a need counts as met: landed, declared done in the plan, skipped by a person, or left to others.

    A step of another repository is left to others unless the plan says that it stands still there.
    """
    finished = run.finished.get(need)
    if finished is not None:
        return finished.state in PASSING
    if need in run.declared:
        return True
    known = run.plan.by_id.get(need)
    return known is not None and bool(known.elsewhere) and run.marks.get(need, Marks()).status not in STUCK


def unmet(run: RunState, step: Step, *, cleared: AbstractSet[StepId] | None = None) -> list[StepId]:
    """Needs that are not met yet, in the plan's words; where the order is the need, all open steps before it.

    `cleared` is what `find_cleared` finds, if that is known.
    """
    if not step.ordered:
        sent = [name for need in step.needs for name in list_sent_back(run, need)]
        return [*(need for need in step.needs if not satisfied(run, need)), *sent]
    clear = find_cleared(run) if cleared is None else cleared
    found: dict[StepId, None] = dict.fromkeys(name for need in step.needs for name in list_sent_back(run, need))
    seen = set(step.needs)
    waiting = list(reversed(step.needs))
    while waiting:
        need = waiting.pop()
        if need in clear:
            continue
        if not satisfied(run, need):
            found[need] = None
            continue
        further = [n for n in _before(run, need) if n not in seen]
        seen.update(further)
        waiting += reversed(further)
    return list(found)


def list_sent_back(run: RunState, need: StepId) -> list[StepId]:
    """The corrective steps of a landed step that a person sent back, until they are done: who needs it waits."""
    return [
        name
        for name, planned in run.corrections.items()
        if planned.helps == need and planned.cause is PlanCause.MANUAL and not satisfied(run, name)
    ]


def find_cleared(run: RunState) -> frozenset[StepId]:
    """Steps that are met together with everything before them."""
    found: set[StepId] = set()
    for step in sorted(run.plan.steps, key=lambda s: run.depth.get(s.id, 0)):
        if satisfied(run, step.id) and all(need in found for need in _before(run, step.id)):
            found.add(step.id)
    return frozenset(found)


def _before(run: RunState, step: StepId) -> tuple[StepId, ...]:
    """What has to be met before a step; nothing if a person said to proceed without."""
    known = run.plan.by_id.get(step)
    return () if known is None or run.answer(gates.proceed_id(step)) == gates.YES else known.needs


def settled(run: RunState, step: StepId) -> bool:
    """Whether nobody has to drive the step any more."""
    return step in run.finished or step in run.declared
