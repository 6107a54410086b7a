"""How people name a step: by its id, or by its number without the word and the zeros in front (`3` for `step-03`).

Every command that takes a step asks here, so that one name means one step everywhere.
"""

from __future__ import annotations

import re

from drumline.core.ids import StepId
from drumline.core.plan import Plan

_NUMBERED = re.compile(
    r"(?:(?:step|phase|chunk|task)[-_. ]*)?0*([0-9]{1,18}(?:h[0-9]{0,18})?)", re.ASCII | re.IGNORECASE
)


def find_step(plan: Plan, name: str) -> StepId | None:
    """The step with this id, or else the only one whose id has the same number; None if there is none."""
    if StepId(name) in plan.by_id:
        return StepId(name)
    wanted = _number(name)
    same = [step.id for step in plan.steps if _number(step.id) == wanted] if wanted else []
    return same[0] if len(same) == 1 else None


def _number(text: str) -> str:
    """What is left of an id without its word and its zeros; empty if that is not a number."""
    found = _NUMBERED.fullmatch(text)
    return found[1].casefold() if found else ""
