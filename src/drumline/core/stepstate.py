"""The state of one step, folded from its stream along the table in `life.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from drumline.core import events as ev
from drumline.core.ids import NO_DRIVER, Commit, DriverId, Tree
from drumline.core.life import Phase, step_forward
from drumline.core.taxonomy import Failure, consumes_fix, waits


@dataclass(kw_only=True, slots=True)
class Verdict:
    """The latest result of one check since the last attempt, and how often it ran."""

    ended: ev.CheckEnded
    runs: int = 1


@dataclass(kw_only=True, slots=True)
class StepState:
    """Everything a step's stream says."""

    version: int = 0
    phase: Phase = Phase.WAITING
    round: int = 0
    driver: DriverId = NO_DRIVER
    base: Commit | None = None
    workspace: str = ""
    tree: Tree | None = None
    fresh: bool = True
    attempts: int = 0
    fixes: int = 0
    waits: int = 0
    last: ev.AttemptEnded | None = None
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    feedback: tuple[ev.CheckEnded, ...] = ()
    complaint: str = ""
    trouble: str = ""
    landing_head: Commit | None = None
    candidate: Commit | None = None
    refused: ev.LandingRefused | None = None
    landed: ev.StepLanded | None = None
    seconds: float = 0.0
    usage: dict[str, float] = field(default_factory=dict)

    @property
    def failure(self) -> Failure | None:
        """The class of failure the last attempt ended with, if it failed."""
        return Failure(self.last.failure) if self.last and self.last.failure else None

    def failing(self) -> tuple[ev.CheckEnded, ...]:
        """Checks that did not pass on the tree as it is, in order."""
        return tuple(v.ended for _, v in sorted(self.verdicts.items()) if v.ended.exit_code != 0)

    def proves(self, check: int) -> bool:
        """Whether the check passed on exactly the tree as it is now."""
        found = self.verdicts.get(check)
        return bool(found and found.ended.exit_code == 0 and found.ended.tree == found.ended.tree_after == self.tree)


def fold_step(state: StepState, events: Iterable[ev.Event]) -> StepState:
    """Apply the step stream's events in order; returns the same object."""
    for event in events:
        before = state.phase
        state.phase = step_forward(before, type(event))
        _APPLY[type(event)](state, event, before)
        state.version += 1
    return state


def _claimed(state: StepState, event: ev.StepClaimed, _: Phase) -> None:
    state.driver = event.driver


def _released(state: StepState, event: ev.StepReleased, _: Phase) -> None:
    state.driver = NO_DRIVER


def _restarted(state: StepState, event: ev.StepRestarted, _: Phase) -> None:
    if state.failing():
        state.feedback = state.failing()
    state.round = event.round
    state.base = state.tree = None  # a landing is looked for from the first head on, in every round
    state.fixes = state.waits = 0
    state.last = state.refused = None
    state.verdicts = {}
    state.trouble = ""


def _assigned(state: StepState, event: ev.WorkspaceAssigned, _: Phase) -> None:
    state.workspace = event.path
    state.base = event.base
    state.trouble = ""


def _ready(state: StepState, event: ev.WorkspaceReady, _: Phase) -> None:
    state.tree = event.tree
    state.fresh = True


def _unready(state: StepState, event: ev.WorkspaceFailed, _: Phase) -> None:
    state.trouble = event.reason


def _attempt_started(state: StepState, event: ev.AttemptStarted, before: Phase) -> None:
    if before is Phase.WORKED:
        _spend(state)
    state.last = state.refused = None
    state.verdicts = {}


def _spend(state: StepState) -> None:
    """Charge the attempt that just begins to a budget, and keep what its agent has to be told."""
    failure = state.failure
    if failure and waits(failure):
        state.waits += 1  # the agent never got to work: what it was told before still holds
        return
    state.waits = 0
    state.feedback = state.failing()
    state.complaint = state.last.message if failure and state.last else ""
    if consumes_fix(failure) if failure else state.feedback:
        state.fixes += 1


def _attempt_ended(state: StepState, event: ev.AttemptEnded, _: Phase) -> None:
    state.last = event
    state.attempts = event.attempt
    state.fresh = False
    state.tree = event.tree
    state.seconds += event.seconds
    for name, amount in event.usage.items():
        state.usage[name] = state.usage.get(name, 0.0) + amount


def _check_ended(state: StepState, event: ev.CheckEnded, _: Phase) -> None:
    known = state.verdicts.get(event.check)
    state.verdicts[event.check] = Verdict(ended=event, runs=known.runs + 1 if known else 1)
    state.tree = event.tree_after
    state.seconds += event.seconds


def _landing_started(state: StepState, event: ev.LandingStarted, _: Phase) -> None:
    state.landing_head = state.landing_head or event.head
    state.candidate = event.commit


def _refused(state: StepState, event: ev.LandingRefused, _: Phase) -> None:
    state.refused = event


def _landed(state: StepState, event: ev.StepLanded, _: Phase) -> None:
    state.landed = event


def _nothing(state: StepState, event: ev.Event, _: Phase) -> None:
    """The phase says it all."""


_APPLY: dict[type[ev.Event], Callable[[StepState, Any, Phase], None]] = {
    ev.StepClaimed: _claimed,
    ev.StepReleased: _released,
    ev.StepRestarted: _restarted,
    ev.WorkspaceAssigned: _assigned,
    ev.WorkspaceReady: _ready,
    ev.WorkspaceFailed: _unready,
    ev.AttemptStarted: _attempt_started,
    ev.AttemptEnded: _attempt_ended,
    ev.CheckStarted: _nothing,
    ev.CheckEnded: _check_ended,
    ev.LandingStarted: _landing_started,
    ev.LandingRefused: _refused,
    ev.StepLanded: _landed,
    ev.WorkLost: _nothing,
}
