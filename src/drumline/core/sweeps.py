"""What a sweep for edge cases says, as records: about the step itself, for later steps, and what it would change."""

from __future__ import annotations

from drumline.core.ids import StepId
from drumline.record import Record


class EdgeCase(Record):
    """One case that the work may meet: what became of it, and why if it is deferred."""

    kind: str
    title: str
    handled: bool
    reason: str = ""


class Annotation(Record):
    """What a later step should know of edge cases; `fault` says why its file does not take that."""

    step: StepId
    text: str
    fault: str = ""


class Proposal(Record):
    """A change of scope: in what a later step says, `old` would become `new`.

    `diff` shows exactly that; `fault` says why it cannot be done, `applied` that it was.
    """

    id: str
    step: StepId
    title: str
    why: str
    old: str
    new: str
    diff: str = ""
    fault: str = ""
    applied: bool = False


class Sweep(Record):
    """What a sweep said, or why it was not made. `by` is the agent."""

    by: str = ""
    failure: str = ""
    cases: tuple[EdgeCase, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    proposals: tuple[Proposal, ...] = ()
