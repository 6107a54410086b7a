"""How people name a step: by its id or, where ids are numbers, by the number however many zeros it has in front.

Every command that takes a step asks here, so that one name means one step everywhere.
"""

from __future__ import annotations

from drumline.core.ids import StepId
from drumline.core.plan import Plan


def find_step(plan: Plan, name: str) -> StepId | None:
    """The step with this id, or else the only one whose id is the same number; None if there is none."""
    if StepId(name) in plan.by_id:
        return StepId(name)
    if not _is_number(name):
        return None
    same = [step.id for step in plan.steps if _is_number(step.id) and step.id.lstrip("0") == name.lstrip("0")]
    return same[0] if len(same) == 1 else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
