"""The one word for how a run or a step is; scripts use these words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drumline.core.events import RunEnded
from drumline.core.ids import GateId, StepId
from drumline.core.plan import RUN_WALKS, Marks, Status, Step
from drumline.core.schedule import Obstacle, obstacle
from drumline.core.state import RunState
from drumline.core.vocabulary import Hindrance, RunEnd, RunStanding, StepStanding
from drumline.views.snapshot import RunSnapshot, Snapshot

EXIT_CODES: Mapping[RunStanding, int] = MappingProxyType(
    {
        RunStanding.DONE: 0,
        RunStanding.FAILED: 1,
        RunStanding.REJECTED: 1,
        RunStanding.CANCELLED: 1,
        RunStanding.PARKED: 2,
        RunStanding.BLOCKED: 2,
        RunStanding.INTERRUPTED: 130,
        RunStanding.RUNNING: 0,
    }
)

SPINNER = "◐◓◑◒"
SYMBOLS: Mapping[StepStanding, str] = {
    StepStanding.WAITING: "·",
    StepStanding.READY: "○",
    StepStanding.RUNNING: SPINNER[0],
    StepStanding.PARKED: "?",
    StepStanding.DONE: "✓",
    StepStanding.BLOCKED: "■",
    StepStanding.FAILED: "✗",
    StepStanding.REJECTED: "⊘",
    StepStanding.SKIPPED: "–",
}

_MARKED = (Status.BLOCKED, Status.FAILED, Status.SKIPPED)


def run_state(snapshot: RunSnapshot) -> RunStanding:
    """How the run is."""
    return name_state(snapshot.run, live=bool(snapshot.live))


def name_state(run: RunState, *, live: bool) -> RunStanding:
    """How a run is; an open run that is neither parked nor driven by anybody is interrupted."""
    if run.ended is not None:
        return RunStanding.REJECTED if is_rejected(run, run.ended) else RunStanding(run.ended.state)
    if run.parked:
        return RunStanding.PARKED
    return RunStanding.RUNNING if live else RunStanding.INTERRUPTED


def is_rejected(run: RunState, ended: RunEnded) -> bool:
    """Whether a run failed because a person rejected work, and for no other reason."""
    finished = run.finished.get(ended.step)
    return ended.state is RunEnd.FAILED and finished is not None and finished.rejected


def step_state(snapshot: Snapshot, step: StepId) -> StepStanding:
    """How the step is."""
    run = snapshot.run
    finished = run.finished.get(step)
    if finished is not None:
        return StepStanding.REJECTED if finished.rejected else StepStanding(finished.state)
    if step in run.declared:
        return StepStanding.DONE
    if step in snapshot.owners:
        return StepStanding.RUNNING
    definition = run.find_step(step)
    if definition is None or (step not in snapshot.selected and step not in RUN_WALKS):
        return StepStanding.WAITING
    return _held_back(snapshot, definition)


def elapsed(snapshot: RunSnapshot) -> float:
    """Seconds in which the run was driven, up to now or to its last event; waiting and interruptions do not count."""
    end = snapshot.now if run_state(snapshot) is RunStanding.RUNNING else snapshot.last_at
    watch = snapshot.stopwatch
    return max(0.0, end - snapshot.started_at) if watch is None else watch.read(end)


def own_gate(snapshot: Snapshot, step: StepId, gate: GateId) -> bool:
    """Whether the gate is about this very step and not about a whole wave."""
    return snapshot.run.gates[gate].opened.step == step


def _held_back(snapshot: Snapshot, step: Step) -> StepStanding:
    found = obstacle(snapshot.run, step, snapshot.around, snapshot.horizon)
    if found is None:
        return StepStanding.READY
    if found.gate is not None:
        return StepStanding.PARKED if own_gate(snapshot, step.id, found.gate) else StepStanding.WAITING
    if found.kind is Hindrance.QUOTA:
        return StepStanding.PARKED
    return StepStanding.BLOCKED if _is_marked(snapshot, step.id, found) else StepStanding.WAITING


def _is_marked(snapshot: Snapshot, step: StepId, found: Obstacle) -> bool:
    return found.kind is Hindrance.MARKED and snapshot.around.marks.get(step, Marks()).status in _MARKED
