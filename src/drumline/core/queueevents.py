"""The events of the landing queue, in the run's stream: tickets, candidates, and how the run branch moved."""

from __future__ import annotations

from drumline.core.event import Event
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.vocabulary import DropCause


class TicketTaken(Event):
    """A step whose work passes its checks lines up to land. `head` is the head of the run branch, if git told it."""

    step: StepId
    head: Commit | None = None


class CandidateFormed(Event):
    """The step's change as the commit that would land, on the commit `on`: the head, or the candidate before it.

    `ahead` are the steps whose candidates it stands on, `files` those that it changes. `head` is the head of the run
    branch, if git told it.
    """

    step: StepId
    commit: Commit
    tree: Tree
    on: Commit
    ahead: tuple[StepId, ...] = ()
    files: tuple[str, ...] = ()
    head: Commit | None = None


class CandidateProved(Event):
    """All checks of a candidate pass; it lands once those ahead of it have. `commands` are the checks that passed."""

    step: StepId
    commit: Commit
    commands: tuple[str, ...] = ()


class CandidateDropped(Event):
    """A step leaves the queue without landing. `on` is the candidate that it conflicts with, if that has not landed.

    `head` is the head of the run branch, if git told it.
    """

    step: StepId
    cause: DropCause
    on: Commit | None = None
    head: Commit | None = None


class BranchMoved(Event):
    """The run branch moved from `old` to `new`, the step's commit; recorded together with `StepLanded`."""

    step: StepId
    old: Commit
    new: Commit
    tree: Tree
