"""A step's life as a table: which event may follow in which phase, and where it leads.

The phase says what a step's stream has reached; who holds its claim, and whether a gate is open, is said elsewhere.
`WorkLost` leads back to the phase before the intent it closes, so that recovery only appends and the ordinary
decision starts the work again.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from enum import Enum
from types import MappingProxyType

from drumline.core.events import (
    AttemptEnded,
    AttemptStarted,
    AttemptUsed,
    CheckEnded,
    CheckStarted,
    ComparisonEnded,
    ComparisonStarted,
    Event,
    LandingRefused,
    LandingStarted,
    MutantsEnded,
    MutantsStarted,
    SessionOpened,
    StepClaimed,
    StepLanded,
    StepRechecked,
    StepReleased,
    StepRestarted,
    WorkChanged,
    WorkLost,
    WorkRebased,
    WorkspaceAssigned,
    WorkspaceFailed,
    WorkspaceReady,
)
from drumline.core.flow.events import (
    FlowEnded,
    FlowStarted,
    NodeBlocked,
    NodeEnded,
    NodeLost,
    NodeStarted,
    NodeUsed,
    SessionKept,
)
from drumline.core.reviewevents import REVIEWING
from drumline.errors import NotAllowed


class Phase(Enum):
    """How far a step's stream has got."""

    WAITING = "waiting"
    PREPARING = "preparing"
    PREPARED = "prepared"
    WORKING = "working"
    WORKED = "worked"
    CHECKING = "checking"
    COMPARING = "comparing"
    MUTATING = "mutating"
    LANDING = "landing"
    LANDED = "landed"

    __hash__ = object.__hash__  # tables are asked for every event; that of Enum is a call of Python


OPEN = frozenset({Phase.PREPARING, Phase.WORKING, Phase.CHECKING, Phase.COMPARING, Phase.MUTATING, Phase.LANDING})
"""Phases in which an intent is recorded and its outcome is not."""

TRANSITIONS: Mapping[Phase, Mapping[type[Event], Phase]] = MappingProxyType(
    {
        Phase.WAITING: {WorkspaceAssigned: Phase.PREPARING, StepRechecked: Phase.WAITING},
        Phase.PREPARING: {
            WorkspaceReady: Phase.PREPARED,
            WorkspaceFailed: Phase.WAITING,
            WorkLost: Phase.WAITING,
        },
        Phase.PREPARED: {
            AttemptStarted: Phase.WORKING,
            CheckStarted: Phase.CHECKING,
            WorkChanged: Phase.WORKED,
            StepRechecked: Phase.PREPARED,
            LandingStarted: Phase.LANDING,
            **dict.fromkeys(REVIEWING, Phase.PREPARED),
        },
        Phase.WORKING: {
            AttemptEnded: Phase.WORKED,
            SessionOpened: Phase.WORKING,
            AttemptUsed: Phase.WORKING,
            WorkLost: Phase.PREPARED,
        },
        Phase.WORKED: {
            AttemptStarted: Phase.WORKING,
            CheckStarted: Phase.CHECKING,
            ComparisonStarted: Phase.COMPARING,
            MutantsStarted: Phase.MUTATING,
            WorkChanged: Phase.WORKED,
            WorkRebased: Phase.WORKED,
            StepRechecked: Phase.WORKED,
            LandingStarted: Phase.LANDING,
            **dict.fromkeys(REVIEWING, Phase.WORKED),
        },
        Phase.CHECKING: {CheckEnded: Phase.WORKED, WorkLost: Phase.WORKED},
        Phase.COMPARING: {ComparisonEnded: Phase.WORKED, WorkLost: Phase.WORKED},
        Phase.MUTATING: {MutantsEnded: Phase.WORKED, WorkLost: Phase.WORKED},
        Phase.LANDING: {StepLanded: Phase.LANDED, LandingRefused: Phase.WORKED, WorkLost: Phase.WORKED},
        Phase.LANDED: {},
    }
)

WALKING: Set[type[Event]] = frozenset(
    {FlowStarted, NodeStarted, NodeEnded, NodeLost, NodeBlocked, NodeUsed, SessionKept, FlowEnded}
)
"""What a walk records of itself: it says nothing about how far the step's work is."""

_ANYWHERE: Mapping[type[Event], Phase | None] = MappingProxyType(
    {StepClaimed: None, StepReleased: None, StepRestarted: Phase.WAITING, **dict.fromkeys(WALKING)}
)


def step_forward(phase: Phase, kind: type[Event]) -> Phase:
    """The phase that follows, or NotAllowed naming what would have been legal."""
    if kind in _ANYWHERE:
        return _ANYWHERE[kind] or phase
    allowed = TRANSITIONS[phase]
    if kind not in allowed:
        legal = ", ".join(k.__name__ for k in allowed) or "nothing"
        raise NotAllowed(
            f"{kind.__name__!r} cannot follow in phase {phase.value!r} (legal here: {legal})",
            hint="drumline doctor",
        )
    return allowed[kind]
