"""What can happen: the events of a run's stream and of its steps' streams, under one roof.

Events are facts, named by past participles, and carry deltas. A run *is* the sequence of its events; nothing is ever
changed or removed. `codec.py` turns them into JSON and back; adding a kind or a field raises its version there.
"""

from __future__ import annotations

from drumline.core.event import PROTOCOL, Event
from drumline.core.runevents import (
    CancelRequested,
    FlowPinned,
    GateAnswered,
    GateOpened,
    ModeChanged,
    PlanChanged,
    PlanMirrored,
    PlanPinned,
    RunEnded,
    RunParked,
    RunResumed,
    RunStarted,
    StepDeferred,
    StepFinished,
    StepReopened,
    StepsDeclared,
    StepStarted,
    UsageCounted,
)
from drumline.core.stepevents import (
    AttemptEnded,
    AttemptStarted,
    CheckEnded,
    CheckStarted,
    LandingRefused,
    LandingStarted,
    SessionOpened,
    StepClaimed,
    StepLanded,
    StepReleased,
    StepRestarted,
    WorkLost,
    WorkspaceAssigned,
    WorkspaceFailed,
    WorkspaceReady,
)

__all__ = [
    "PROTOCOL",
    "AttemptEnded",
    "AttemptStarted",
    "CancelRequested",
    "CheckEnded",
    "CheckStarted",
    "Event",
    "FlowPinned",
    "GateAnswered",
    "GateOpened",
    "LandingRefused",
    "LandingStarted",
    "ModeChanged",
    "PlanChanged",
    "PlanMirrored",
    "PlanPinned",
    "RunEnded",
    "RunParked",
    "RunResumed",
    "RunStarted",
    "SessionOpened",
    "StepClaimed",
    "StepDeferred",
    "StepFinished",
    "StepLanded",
    "StepReleased",
    "StepReopened",
    "StepRestarted",
    "StepStarted",
    "StepsDeclared",
    "UsageCounted",
    "WorkLost",
    "WorkspaceAssigned",
    "WorkspaceFailed",
    "WorkspaceReady",
]
