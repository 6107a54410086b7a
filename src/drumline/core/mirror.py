"""What the plan's files should say: an outbox derived from the fold, re-applied until the file agrees.

A file's value is foreign only if it differs both from the last value we wrote and from the wanted one; foreign values
are never overwritten here.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Status, Step, wait_for
from drumline.core.schedule import assignee, was_waiting
from drumline.core.state import RunState
from drumline.core.vocabulary import StepEnd
from drumline.core.waves import list_verified
from drumline.record import Record

_FINAL: Mapping[StepEnd, Status] = {
    StepEnd.DONE: Status.DONE,
    StepEnd.BLOCKED: Status.BLOCKED,
    StepEnd.FAILED: Status.FAILED,
    StepEnd.SKIPPED: Status.SKIPPED,
}
MOST_REASON = 200
"""Characters of a reason in a file."""


class Wanted(Record):
    """The marks a step's file should have, and the lines of the boxes to tick."""

    marks: Marks
    ticked: tuple[int, ...] = ()


def wanted(run: RunState, step: Step, found: Marks, *, claimed_at: str) -> Wanted | None:
    """What the step's file, which says `found`, should say; None where this run has no opinion.

    `claimed_at` is the time to show for a claim held now, "" if none is held.
    """
    finished = run.finished.get(step.id)
    if finished is not None:
        ticked = tuple(c.line for c in step.checks if c.line) if finished.state is StepEnd.DONE else ()
        ticked += _list_verified(run, step)
        if finished.rejected:
            return Wanted(marks=Marks(status=Status.READY))  # what was done is not wanted: the step is still to do
        return Wanted(marks=Marks(status=_FINAL[finished.state], reason=_one_line(finished.reason)), ticked=ticked)
    if step.id in run.working:
        return Wanted(marks=_in_work(run, step.id, claimed_at=claimed_at))
    ours = step.id in run.mirrored or found.assignee == assignee(run)
    if ours and step.id not in run.declared and not claimed_at:
        return Wanted(marks=Marks(status=Status.READY))
    return None


def _list_verified(run: RunState, step: Step) -> tuple[int, ...]:
    """The lines of the boxes that a person has verified."""
    if not step.manual_lines:
        return ()
    good = list_verified(run, step.id)
    return tuple(line for line, text in zip(step.manual_lines, step.manual, strict=True) if line and text in good)


def outstanding(run: RunState, step: Step, want: Wanted | None) -> bool:
    """Whether the file has not been brought to `want` yet, as far as the journal knows."""
    if want is None:
        return False
    last = run.mirrored.get(step.id)
    return last is None or last.marks != want.marks or not set(want.ticked).issubset(last.ticked)


def has_late_marks(run: RunState) -> bool:
    """Whether a finished step's file still says that this run works on it, as far as the journal knows."""
    return any(step in run.finished and last.marks.status is Status.CLAIMED for step, last in run.mirrored.items())


def expected_marks(run: RunState, step: StepId, found: Marks) -> Marks:
    """The marks a write may replace: the last we wrote, or what was found before we ever wrote.

    A step that is finished also replaces a ready that stands where we wrote our claim: git took the claim back. So do
    marks that wait for a gate of this run: git brought them back.
    """
    last = run.mirrored.get(step)
    if last is None:
        return found
    taken_back = last.marks.status is Status.CLAIMED and found == Marks() and step in run.finished
    return found if taken_back or was_waiting(run, found) else last.marks


def _in_work(run: RunState, step: StepId, *, claimed_at: str) -> Marks:
    if claimed_at:
        return Marks(status=Status.CLAIMED, assignee=assignee(run), claimed_at=claimed_at)
    for gate in run.unanswered.values():
        if gate.opened.step == step and run.cancel is None:
            return wait_for(f"gate {gate.opened.gate}")
    if step in run.deferred and run.cancel is None:
        return wait_for("the quota of its agent")
    return Marks(status=Status.READY)


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_REASON else flat[: MOST_REASON - 1] + "…"
