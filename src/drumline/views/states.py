"""The one word for how a run or a step is. Run states and step states are closed sets, used by scripts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drumline.core.ids import GateId, StepId
from drumline.core.plan import Marks, Status, Step
from drumline.core.schedule import Obstacle, obstacle
from drumline.core.state import RunState
from drumline.views.snapshot import RunSnapshot, Snapshot

RUN_STATES = ("running", "parked", "done", "failed", "blocked", "cancelled", "interrupted")
STEP_STATES = ("waiting", "ready", "running", "parked", "done", "blocked", "failed", "skipped")

EXIT_CODES: Mapping[str, int] = MappingProxyType(
    {"done": 0, "failed": 1, "cancelled": 1, "parked": 2, "blocked": 2, "interrupted": 130, "running": 0}
)

SPINNER = "◐◓◑◒"
SYMBOLS: Mapping[str, str] = {
    "waiting": "·",
    "ready": "○",
    "running": SPINNER[0],
    "parked": "?",
    "done": "✓",
    "blocked": "■",
    "failed": "✗",
    "skipped": "–",
}

_MARKED = (Status.BLOCKED, Status.FAILED, Status.SKIPPED)


def run_state(snapshot: RunSnapshot) -> str:
    """One of RUN_STATES."""
    return name_state(snapshot.run, live=bool(snapshot.live))


def name_state(run: RunState, *, live: bool) -> str:
    """One of RUN_STATES; an open run that is neither parked nor driven by anybody is interrupted."""
    if run.ended is not None:
        return run.ended.state
    if run.parked:
        return "parked"
    return "running" if live else "interrupted"


def step_state(snapshot: Snapshot, step: StepId) -> str:
    """One of STEP_STATES."""
    run = snapshot.run
    finished = run.finished.get(step)
    if finished is not None:
        return finished.state
    if step in run.declared:
        return "done"
    if step in snapshot.owners:
        return "running"
    if step not in snapshot.selected:
        return "waiting"
    return _held_back(snapshot, run.plan.by_id[step])


def elapsed(snapshot: RunSnapshot) -> float:
    """Seconds in which the run was driven, up to now or to its last event; waiting and interruptions do not count."""
    end = snapshot.now if run_state(snapshot) == "running" else snapshot.last_at
    watch = snapshot.stopwatch
    return max(0.0, end - snapshot.started_at) if watch is None else watch.read(end)


def own_gate(snapshot: Snapshot, step: StepId, gate: GateId) -> bool:
    """Whether the gate is about this very step and not about a whole wave."""
    return snapshot.run.gates[gate].opened.step == step


def _held_back(snapshot: Snapshot, step: Step) -> str:
    found = obstacle(snapshot.run, step, snapshot.around)
    if found is None:
        return "ready"
    if found.gate is not None:
        return "parked" if own_gate(snapshot, step.id, found.gate) else "waiting"
    if found.kind == "quota":
        return "parked"
    return "blocked" if _is_marked(snapshot, step.id, found) else "waiting"


def _is_marked(snapshot: Snapshot, step: StepId, found: Obstacle) -> bool:
    return found.kind == "marked" and snapshot.around.marks.get(step, Marks()).status in _MARKED
