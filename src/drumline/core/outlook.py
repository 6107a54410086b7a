"""What is still to do in a plan, and what of it nothing would prove."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.plan import Marks, Reading, Status, Step


def todo(reading: Reading) -> list[Step]:
    """Steps that are still to do here."""
    over = (Status.DONE, Status.SKIPPED)
    marks = reading.marks
    return [s for s in reading.plan.steps if not s.elsewhere and marks.get(s.id, Marks()).status not in over]


def unproved(reading: Reading, configured: Sequence[str] = ()) -> list[Step]:
    """Steps still to do that nothing would prove: without a check of any kind, or with criteria that are not run."""
    return [step for step in todo(reading) if step.not_run or not (step.checks or configured)]


def count_proved(reading: Reading, configured: Sequence[str] = ()) -> str:
    """How many of the steps still to do have something that proves them, in words."""
    every = len(todo(reading))
    return f"would be proved: {every - len(unproved(reading, configured))} of {every}"
