"""State is a fold over events. `fold_run` and `fold_step` are the only places that change it.

The objects are mutable for speed (a run may have a hundred thousand events) but nobody outside this module and its
sister `stepstate.py` assigns to them, but for `barrier` and `cleared`, which the scheduler remembers. Everything shown
or decided is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.graph import depths
from drumline.core.ids import FLOW, GateId, RunId, StepId
from drumline.core.plan import Marks, Plan, Reading, Status, Step
from drumline.errors import NotAllowed
from drumline.record import replace


@dataclass(kw_only=True, slots=True)
class Gate:
    """A question, and its answer once there is one."""

    opened: ev.GateOpened
    answer: ev.GateAnswered | None = None


@dataclass(kw_only=True, slots=True)
class RunState:
    """Everything the run's own stream says.

    `rounds` counts how often a step was reopened; `rewritten` is the round from which on its present text counts.
    `quiet` says that no step was claimed since the run branch was seen where we left it.
    """

    id: RunId
    version: int = 0
    started: ev.RunStarted | None = None
    plan: Plan = field(default_factory=lambda: Plan(name="", path=""))
    digests: dict[str, str] = field(default_factory=dict)
    marks: dict[StepId, Marks] = field(default_factory=dict)
    inherited: set[StepId] = field(default_factory=set)
    working: dict[StepId, int] = field(default_factory=dict)
    finished: dict[StepId, ev.StepFinished] = field(default_factory=dict)
    declared: set[StepId] = field(default_factory=set)
    rounds: dict[StepId, int] = field(default_factory=dict)
    rewritten: dict[StepId, int] = field(default_factory=dict)
    redone: dict[StepId, int] = field(default_factory=dict)
    gates: dict[GateId, Gate] = field(default_factory=dict)
    unanswered: dict[GateId, Gate] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    depth: dict[StepId, int] = field(default_factory=dict)
    has_loners: bool = False
    manual_waves: tuple[int, ...] = ()
    barrier: int | None = None
    barrier_at: int = -1
    cleared: set[StepId] = field(default_factory=set)
    cleared_at: int = -1
    mirrored: dict[StepId, ev.PlanMirrored] = field(default_factory=dict)
    deferred: dict[StepId, ev.StepDeferred] = field(default_factory=dict)
    usage: dict[StepId, dict[str, Mapping[str, float]]] = field(default_factory=dict)
    resettled: tuple[ev.BranchSettled, ...] = ()
    mode: str = "sequential"
    flow: ev.FlowPinned | None = None
    cancel: ev.CancelRequested | None = None
    parked: bool = False
    parked_until: float | None = None
    parked_for: str = ""
    quiet: bool = True
    ended: ev.RunEnded | None = None

    @property
    def begun(self) -> ev.RunStarted:
        """The run's first event; NotAllowed on a run that never started."""
        if self.started is None:
            raise NotAllowed(f"run {self.id!r} has no beginning in the journal", hint="drumline runs")
        return self.started

    @property
    def open_gates(self) -> list[Gate]:
        """Gates without an answer, oldest first."""
        return list(self.unanswered.values())

    def flow_of(self, step: Step) -> str:
        """The flow that a step walks by name; empty for the shipped one."""
        return step.flow or self.begun.flow

    def names_flow(self, step: StepId) -> bool:
        """Whether a step walks a flow by name: of the shipped one, what it does to the work is all there is to tell."""
        return step not in self.plan.by_id or bool(self.flow_of(self.plan.by_id[step]))

    def selected(self) -> list[Step]:
        """The steps this run is about, in plan order; those of other repositories are not among them."""
        chosen = self.begun.selection
        names = None if chosen is None else set(chosen)
        return [s for s in self.plan.steps if not s.elsewhere and (names is None or s.id in names)]

    def reading(self) -> Reading:
        """The plan as the journal knows it, so that only files changed since have to be parsed.

        A file we marked may hold an edit that waits for its answer: those of steps in work are always parsed.
        """
        marks = {step.id: self.marks.get(step.id, Marks()) for step in self.plan.steps}
        unsure = {step.path for step in self.plan.steps if step.id in self.working}
        digests = {path: digest for path, digest in self.digests.items() if path not in unsure}
        return Reading(plan=self.plan, marks=marks, digests=digests)

    def count_asked(self, kind: str, step: StepId) -> int:
        """How many questions of a kind were asked about a step, those included that are idle by now."""
        return self.asked.get(f"{kind}-{step}", 0)

    def find_gate(self, kind: str, step: StepId, about: int) -> Gate | None:
        """The last question of a kind about one attempt or round of a step."""
        same = (g for g in reversed(self.gates.values()) if g.opened.kind == kind and g.opened.step == step)
        return next((gate for gate in same if gate.opened.about == about), None)

    def answer(self, gate: GateId) -> str | None:
        """The choice made at a gate; None while it is open or was never asked."""
        found = self.gates.get(gate)
        return found.answer.choice if found and found.answer else None


def fold_run(state: RunState, events: Iterable[ev.Event]) -> RunState:
    """Apply the run stream's events in order; returns the same object."""
    for event in events:
        _APPLY[type(event)](state, event)
        state.version += 1
    return state


def _started(state: RunState, event: ev.RunStarted) -> None:
    if event.protocol > ev.PROTOCOL:
        raise NotAllowed(
            f"run {state.id!r} was started with protocol {event.protocol}, this version speaks {ev.PROTOCOL}",
            hint="upgrade Drumline; nothing was changed",
        )
    state.started = event
    state.mode = event.mode


def _pinned(state: RunState, event: ev.PlanPinned) -> None:
    state.plan = Plan(
        name=state.begun.plan_name,
        path=state.begun.plan,
        format=event.format,
        title=event.title,
        ticket=event.ticket,
        complexity=event.complexity,
        express=event.express,
        steps=event.steps,
    )
    survey(state)
    state.digests = dict(event.digests)
    state.marks = {StepId(step): marks for step, marks in event.marks.items()}
    state.inherited = set(event.inherited)


def _repinned(state: RunState, event: ev.ConfigRepinned) -> None:
    pins = {name: getattr(event, name) for name in event.__struct_fields__ if name not in ("changed", "by")}
    state.started = replace(state.begun, **pins)


def survey(state: RunState, depth: dict[StepId, int] | None = None) -> None:
    """Work out once what scheduling asks about the plan at every decision; `depth` if that is known already."""
    state.depth = depths(state.plan.steps) if depth is None else depth
    state.has_loners = any(step.alone for step in state.plan.steps)
    state.manual_waves = tuple(sorted({state.depth.get(step.id, 0) for step in state.selected() if step.manual}))


def _flow_pinned(state: RunState, event: ev.FlowPinned) -> None:
    state.flow = event
    step = Step(id=FLOW, title=event.flow, flow=event.flow)
    state.plan = Plan(name=event.flow, path=event.path, format=FLOW, title=event.flow, steps=(step,))
    state.depth = {FLOW: 0}


def _changed(state: RunState, event: ev.PlanChanged) -> None:
    steps = dict(state.plan.by_id)
    for step_id in event.removed:
        steps.pop(step_id, None)
        state.working.pop(step_id, None)
        state.deferred.pop(step_id, None)
    _withdraw_gates(state, event.removed)
    steps.update({step.id: step for step in event.changed})
    for step in event.changed:
        if step.id in state.finished or step.id in state.working:
            state.rewritten[step.id] = state.rounds.get(step.id, 0) + 1
    order = dict.fromkeys((*event.order, *steps))
    state.plan = state.plan.with_steps([steps[step_id] for step_id in order if step_id in steps])
    state.digests.update(event.digests)
    state.marks.update({StepId(step): marks for step, marks in event.marks.items()})
    survey(state)


def _declared(state: RunState, event: ev.StepsDeclared) -> None:
    state.declared.update(event.steps)
    _withdraw_gates(state, event.steps)


def _gate_opened(state: RunState, event: ev.GateOpened) -> None:
    if event.gate not in state.gates:
        if event.kind == "edit":  # a further edit makes the question about the one before idle
            _withdraw_gates(state, (event.step,), kind=event.kind)
        state.gates[event.gate] = state.unanswered[event.gate] = Gate(opened=event)
        name = f"{event.kind}-{event.step}"
        state.asked[name] = state.asked.get(name, 0) + 1


def _gate_answered(state: RunState, event: ev.GateAnswered) -> None:
    gate = state.gates[event.gate]
    gate.answer = event
    state.unanswered.pop(event.gate, None)
    state.parked = False
    last = state.mirrored.get(gate.opened.step)
    if gate.opened.kind == gates.REDO and event.choice == gates.KEEP and last is not None:
        # What the file says is known and not wanted: it is written over.
        state.mirrored[last.step] = replace(last, marks=Marks(status=Status.READY))


def _step_started(state: RunState, event: ev.StepStarted) -> None:
    state.working[event.step] = event.round
    state.deferred.pop(event.step, None)
    state.quiet = False


def _step_finished(state: RunState, event: ev.StepFinished) -> None:
    state.finished[event.step] = event
    state.working.pop(event.step, None)
    state.deferred.pop(event.step, None)
    state.declared.discard(event.step)
    _withdraw_gates(state, (event.step,))


def _step_deferred(state: RunState, event: ev.StepDeferred) -> None:
    state.deferred[event.step] = event


def _usage_counted(state: RunState, event: ev.UsageCounted) -> None:
    agents = state.usage.setdefault(event.step, {})
    known = agents.get(event.agent, {})  # drivers may be heard out of order, and a count never shrinks
    agents[event.agent] = {
        name: max(known.get(name, 0.0), event.usage.get(name, 0.0)) for name in {**known, **event.usage}
    }


def _step_reopened(state: RunState, event: ev.StepReopened) -> None:
    state.deferred.pop(event.step, None)
    state.finished.pop(event.step, None)
    state.declared.discard(event.step)
    state.rounds[event.step] = state.rounds.get(event.step, 0) + 1
    if event.redo:
        state.redone[event.step] = state.rounds[event.step]
    _withdraw_gates(state, (event.step,))
    # Who tries a step again wants it done: a no to further spending is asked about again, at a gate of its own.
    _take_back(state, gates.BUDGET, gates.NO)
    state.ended = None
    state.parked = False


def _take_back(state: RunState, kind: str, choice: str) -> None:
    """Let an answer no longer count because a person wants something else by now."""
    for gate in state.gates.values():
        if gate.opened.kind == kind and gate.answer is not None and gate.answer.choice == choice:
            gate.answer = replace(gate.answer, choice=gates.TAKEN_BACK)


def _withdraw_gates(state: RunState, steps: Collection[StepId], *, kind: str = "") -> None:
    """Forget questions about steps whose case has changed since: an answer would decide nothing any more."""
    idle = [g.opened for g in state.unanswered.values() if g.opened.step in steps and kind in ("", g.opened.kind)]
    for gate in [opened.gate for opened in idle]:
        del state.unanswered[gate], state.gates[gate]


def _mirrored(state: RunState, event: ev.PlanMirrored) -> None:
    state.mirrored[event.step] = event
    state.marks[event.step] = event.marks
    state.digests[event.path] = event.digest
    if event.marks.status is Status.CLAIMED:  # recorded with every claim, before anything is started for the step
        state.deferred.pop(event.step, None)
        state.quiet = False


def _branch_settled(state: RunState, event: ev.BranchSettled) -> None:
    state.resettled = (*state.resettled, event)


def _mode(state: RunState, event: ev.ModeChanged) -> None:
    state.mode = event.mode


def _cancel(state: RunState, event: ev.CancelRequested) -> None:
    state.cancel = event


def _parked(state: RunState, event: ev.RunParked) -> None:
    state.parked = True
    state.parked_until = event.until
    state.parked_for = event.reason
    state.quiet = event.quiet


def _resumed(state: RunState, event: ev.RunResumed) -> None:
    if state.ended is not None and state.ended.state == "cancelled":
        state.cancel = None  # the person who resumes it has changed their mind
    state.parked = False
    if state.ended is not None:  # a person who resumes a run that a person stopped no longer wants it stopped
        _take_back(state, gates.WAVE, gates.STOP)
        _take_back(state, gates.BUDGET, gates.NO)
    state.ended = None
    # Beside a question there may be work that could not be done before.
    state.deferred = {step: deferred for step, deferred in state.deferred.items() if not deferred.gates}


def _ended(state: RunState, event: ev.RunEnded) -> None:
    state.ended = event
    state.parked = False
    state.quiet = event.quiet


_APPLY: dict[type[ev.Event], Callable[[RunState, Any], None]] = {
    ev.RunStarted: _started,
    ev.PlanPinned: _pinned,
    ev.ConfigRepinned: _repinned,
    ev.FlowPinned: _flow_pinned,
    ev.PlanChanged: _changed,
    ev.StepsDeclared: _declared,
    ev.GateOpened: _gate_opened,
    ev.GateAnswered: _gate_answered,
    ev.StepStarted: _step_started,
    ev.StepFinished: _step_finished,
    ev.StepDeferred: _step_deferred,
    ev.UsageCounted: _usage_counted,
    ev.StepReopened: _step_reopened,
    ev.PlanMirrored: _mirrored,
    ev.BranchSettled: _branch_settled,
    ev.ModeChanged: _mode,
    ev.CancelRequested: _cancel,
    ev.RunParked: _parked,
    ev.RunResumed: _resumed,
    ev.RunEnded: _ended,
}
