"""Which commits or trees show what a step, or a whole run, has changed."""

from __future__ import annotations

from drumline.core.ids import Commit, StepId, Tree
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.record import Record


class Change(Record):
    """What lies between two trees: `note` says what it is if it did not land."""

    old: Commit
    new: Commit | Tree
    step: StepId | None = None
    note: str = ""


def find_change(run: RunState, step: StepId, state: StepState | None) -> Change | None:
    """What a step landed, else what the journal knows of its work so far; None if it changed nothing."""
    finished = run.finished.get(step)
    if finished is not None and finished.landed_by:
        by = finished.landed_by
        landed = run.finished.get(by)
        if landed is not None and landed.commit is not None:
            return Change(
                old=_below(landed.commit, landed.base), new=landed.commit, step=step, note=f"{step} was landed by {by}"
            )
    if finished is not None and finished.commit is not None:
        return Change(old=_below(finished.commit, finished.base), new=finished.commit, step=step)
    if state is None or state.base is None or state.tree is None:
        return None
    how = f"is {finished.state}" if finished is not None else "is not finished"
    return Change(old=state.base, new=state.tree, step=step, note=f"{step} {how}: this is its last recorded work")


def _below(commit: Commit, base: Commit | None) -> Commit:
    """What the commit stands on; journals of earlier versions do not say it."""
    return base or Commit(f"{commit}^")
