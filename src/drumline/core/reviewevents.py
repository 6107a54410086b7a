"""The events of a step's stream about who looked at its work: reviews, sweeps, and the words of its handoff."""

from __future__ import annotations

from drumline.core.event import Event
from drumline.core.findings import Finding
from drumline.core.handoffwords import HandoffWords
from drumline.core.ids import NO_TREE, Tree
from drumline.core.sweeps import Sweep
from drumline.core.vocabulary import Settlement


class WorkReviewed(Event):
    """A reviewer looked at the work, or could not: `failure` says why.

    `by` is the agent, `chosen` says why it is that one, `reasons` are why there was a review, `tree` is what it saw.
    """

    tree: Tree = NO_TREE
    by: str = ""
    chosen: str = ""
    reasons: tuple[str, ...] = ()
    failure: str = ""


class FindingRecorded(Event):
    """A reviewer found something."""

    finding: Finding


class FindingConfirmed(Event):
    """Somebody else than who found it says that a finding holds: it is to be put right."""

    finding: str
    by: str
    why: str = ""


class FindingSettled(Event):
    """Nothing is left to do about a finding; `by` is who says so, and never the agent whose work it is about."""

    finding: str
    how: Settlement
    by: str
    why: str = ""


class WorkSwept(Event):
    """An agent looked for edge cases of the work, or could not; `tree` is what it saw."""

    sweep: Sweep
    tree: Tree = NO_TREE


class HandoffWritten(Event):
    """An agent wrote what the handoff of the work says, or could not; `tree` is what it saw."""

    words: HandoffWords
    tree: Tree = NO_TREE


REVIEWING: tuple[type[Event], ...] = (
    WorkReviewed,
    WorkSwept,
    HandoffWritten,
    FindingRecorded,
    FindingConfirmed,
    FindingSettled,
)
"""What is recorded of a look at the work: it says nothing about how far the step's work is."""
