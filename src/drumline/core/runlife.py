"""A run's life as a table: which event may follow in which phase, and where it leads; and which names it may use.

What a driver decides is appended only if nobody else has recorded something since, and is legal in few phases. What
happens to a step is recorded by who holds its claim, whatever the run has come to meanwhile, and changes no phase.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Protocol

from drumline.core import events as ev
from drumline.core.ids import NO_STEP, GateId, StepId
from drumline.core.plaintext import name_some
from drumline.core.plan import Plan, Step
from drumline.errors import NotAllowed

MOST_NAMED = 10


class RunPhase(Enum):
    """How far a run is, as its own stream says."""

    NEW = "new"
    BEGUN = "begun"
    OPEN = "open"
    PARKED = "parked"
    ENDED = "ended"


class Known(Protocol):
    """What the fold of a run knows by now."""

    plan: Plan
    removed: set[StepId]

    @property
    def phase(self) -> RunPhase:
        """How far the run is."""
        ...

    @property
    def unanswered(self) -> Mapping[GateId, object]:
        """The open gates."""
        ...

    def find_step(self, step: StepId) -> Step | None:
        """A step of the plan, or one of the walks of the run itself."""
        ...


OF_STEPS: tuple[type[ev.Event], ...] = (
    ev.StepStarted,
    ev.StepFinished,
    ev.StepDeferred,
    ev.UsageCounted,
    ev.MutantsTried,
    ev.PlanMirrored,
    ev.GateOpened,
    ev.CorrectionPlanned,
    ev.CorrectionRefused,
    ev.RevisionPlanned,
    ev.RevisionRefused,
    ev.DocumentWritten,
    ev.FileWritten,
    ev.TicketTaken,
    ev.CandidateFormed,
    ev.CandidateProved,
    ev.CandidateDropped,
    ev.BranchMoved,
    ev.BranchMisplaced,
)
"""What who holds a claim records, and what is written into files: another driver may have parked or ended the run."""

_STAYING: tuple[type[ev.Event], ...] = (*OF_STEPS, ev.LessonsChanged, ev.ConfigRepinned, ev.ModeChanged, ev.PlanChanged)

TRANSITIONS: Mapping[RunPhase, Mapping[type[ev.Event], RunPhase]] = MappingProxyType(
    {
        RunPhase.NEW: {ev.RunStarted: RunPhase.BEGUN},
        RunPhase.BEGUN: {ev.PlanPinned: RunPhase.OPEN, ev.FlowPinned: RunPhase.OPEN},
        RunPhase.OPEN: {
            **dict.fromkeys(_STAYING, RunPhase.OPEN),
            ev.GateAnswered: RunPhase.OPEN,
            ev.StepsDeclared: RunPhase.OPEN,
            ev.StepReopened: RunPhase.OPEN,
            ev.BranchSettled: RunPhase.OPEN,
            ev.CancelRequested: RunPhase.OPEN,
            ev.PauseRequested: RunPhase.OPEN,
            ev.RunResumed: RunPhase.OPEN,
            ev.RunParked: RunPhase.PARKED,
            ev.RunEnded: RunPhase.ENDED,
        },
        RunPhase.PARKED: {
            **dict.fromkeys(_STAYING, RunPhase.PARKED),
            ev.CancelRequested: RunPhase.PARKED,
            ev.GateAnswered: RunPhase.OPEN,
            ev.StepReopened: RunPhase.OPEN,
            ev.RunResumed: RunPhase.OPEN,
        },
        RunPhase.ENDED: {
            **dict.fromkeys(_STAYING, RunPhase.ENDED),
            ev.GateAnswered: RunPhase.ENDED,
            ev.CancelRequested: RunPhase.OPEN,
            ev.StepReopened: RunPhase.OPEN,
            ev.RunResumed: RunPhase.OPEN,
        },
    }
)

_OF_RUN_TOO = (ev.GateOpened, ev.RunEnded)
"""What is about the run as a whole where it names no step."""
_KINDS = frozenset(kind for allowed in TRANSITIONS.values() for kind in allowed)
_STEP: Mapping[type[ev.Event], str] = MappingProxyType(
    dict.fromkeys((kind for kind in _KINDS - {ev.CorrectionRefused} if "step" in kind.__struct_fields__), "step")
    | {ev.CorrectionPlanned: "helps"}
)
"""The field that has the step of an event; a corrective step that was refused is in no plan."""
_STEPS: Mapping[type[ev.Event], str] = MappingProxyType(
    {ev.StepsDeclared: "steps", ev.PlanChanged: "removed", ev.BranchSettled: "steps"}
)


def run_forward(phase: RunPhase, kind: type[ev.Event]) -> RunPhase:
    """The phase that follows, or NotAllowed naming what would have been legal."""
    allowed = TRANSITIONS[phase]
    if kind not in allowed:
        legal = ", ".join(k.__name__ for k in allowed)
        raise NotAllowed(
            f"{kind.__name__!r} cannot follow in a run that is {phase.value!r} (legal here: {legal})",
            hint="drumline doctor",
        )
    return allowed[kind]


def check_events(run: Known, events: Iterable[ev.Event]) -> None:
    """Refuse to record events of which one is not legal: a journal that has it cannot be folded any more."""
    phase = run.phase
    for event in events:
        phase = run_forward(phase, type(event))
        _check_names(run, event)


def check_event(run: Known, event: ev.Event) -> None:
    """Refuse an event that the run's phase does not allow, or that names a step or a gate which the run does not have.

    A step that an edit removed stays known: who works on it records its end.
    """
    run_forward(run.phase, type(event))
    _check_names(run, event)


def _check_names(run: Known, event: ev.Event) -> None:
    kind = type(event)
    if kind in _STEP:
        step = getattr(event, _STEP[kind])
        if step != NO_STEP or kind not in _OF_RUN_TOO:
            _check_steps(run, event, (step,))
    elif kind in _STEPS:
        _check_steps(run, event, getattr(event, _STEPS[kind]))
    elif isinstance(event, ev.GateAnswered):
        _check_gates(run, event, (event.gate,))
    elif isinstance(event, ev.RunParked):
        _check_gates(run, event, event.gates)


def _check_steps(run: Known, event: ev.Event, steps: Iterable[StepId]) -> None:
    for step in steps:
        if run.find_step(step) is None and step not in run.removed:
            raise _refuse(event, "step", step, run.plan.by_id)


def _check_gates(run: Known, event: ev.Event, gates: Iterable[GateId]) -> None:
    for gate in gates:
        if gate not in run.unanswered:
            raise _refuse(event, "open gate", gate, run.unanswered)


def _refuse(event: ev.Event, what: str, name: str, known: Iterable[str]) -> NotAllowed:
    legal = name_some(known, MOST_NAMED)
    return NotAllowed(
        f"{type(event).__name__!r} is about {name!r}, and the run has no such {what} (it has {legal or 'none'})",
        hint="drumline doctor",
    )
