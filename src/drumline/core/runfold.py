"""State is a fold over events: here that of a run, in `stepstate.py` that of a step. Nothing else changes it.

The rule: an event that the run's phase does not allow, or that names what the run does not have, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.graph import depths, estimate, ranks
from drumline.core.ids import FINAL, FLOW, StepId
from drumline.core.plan import RUN_WALKS, Marks, Plan, Status, Step
from drumline.core.queue import KINDS, fold_queue
from drumline.core.runlife import check_event
from drumline.core.state import Gate, RunState
from drumline.core.vocabulary import STUCK, GateKind, Mode, PlanCause, RunEnd
from drumline.errors import NotAllowed
from drumline.record import replace


def fold_run(state: RunState, events: Iterable[ev.Event]) -> RunState:
    """Apply the run stream's events in order; returns the same object."""
    for event in events:
        check_event(state, event)
        _APPLY[type(event)](state, event)
        if type(event) in KINDS:
            state.queue = fold_queue(state.queue, event)
        state.version += 1
    return state


def glance_run(state: RunState, events: Iterable[ev.Event]) -> RunState:
    """Apply some kinds of events in order: whether they are legal cannot be said without the others."""
    for event in events:
        _APPLY[type(event)](state, event)
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
        preamble=event.preamble,
        preflight=event.preflight,
        final=event.final,
        not_run=event.not_run,
        repositories=event.repositories,
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
    state.elsewhere = frozenset(step.id for step in state.plan.steps if step.elsewhere)
    state.chosen = None
    state.chosen = tuple(state.selected())
    _rank(state)
    manual = {name for name, planned in state.corrections.items() if planned.items}
    by_hand = [step.id for step in state.selected() if step.manual or step.id in manual]
    state.manual_waves = tuple(sorted({state.depth.get(step, 0) for step in by_hand}))


def _rank(state: RunState) -> None:
    """Order the steps by the longest chain that begins with each, where that decides who comes first."""
    if state.mode is not Mode.PARALLEL:
        state.ranked = ()
        return
    rank = ranks(state.plan.steps, estimate(state.plan.steps, state.begun.durations))
    state.ranked = tuple(sorted(state.chosen or (), key=lambda step: -rank.get(step.id, 0.0)))


def _flow_pinned(state: RunState, event: ev.FlowPinned) -> None:
    state.flow = event
    step = Step(id=FLOW, title=event.flow, flow=event.flow)
    state.plan = Plan(name=event.flow, path=event.path, format=FLOW, title=event.flow, steps=(step,))
    state.depth = {FLOW: 0}


def _changed(state: RunState, event: ev.PlanChanged) -> None:
    steps = dict(state.plan.by_id)
    for step_id in event.removed:
        steps.pop(step_id, None)
        state.removed.add(step_id)
        state.working.pop(step_id, None)
        state.deferred.pop(step_id, None)
    _withdraw_gates(state, event.removed)
    steps.update({step.id: step for step in event.changed})
    for step in event.changed:
        if state.has_begun(step.id) and event.cause not in (PlanCause.HEAL, PlanCause.ANNOTATION):
            # These are not about what it does. A round that was asked for before the edit has not begun.
            over = step.id in state.finished or step.id in state.working
            state.rewritten[step.id] = state.rounds.get(step.id, 0) + over
        state.unfiled.discard(step.id)
    state.unrevised.discard(event.revision)
    order = dict.fromkeys((*event.order, *steps))
    plan = state.plan.with_steps([steps[step_id] for step_id in order if step_id in steps])
    said = {name: getattr(event, name) for name in ("preamble", "preflight", "final", "not_run")}
    state.plan = replace(plan, **{name: words for name, words in said.items() if words is not None})
    state.digests.update(event.digests)
    state.marks.update({StepId(step): marks for step, marks in event.marks.items()})
    survey(state)


def _correction_planned(state: RunState, event: ev.CorrectionPlanned) -> None:
    state.corrections[event.correction.id] = event
    state.unfiled.add(event.correction.id)


def _correction_refused(state: RunState, event: ev.CorrectionRefused) -> None:
    state.corrections.pop(event.step, None)
    state.unfiled.discard(event.step)


def _revision_planned(state: RunState, event: ev.RevisionPlanned) -> None:
    state.revisions[event.id] = event
    state.unrevised.add(event.id)


def _revision_refused(state: RunState, event: ev.RevisionRefused) -> None:
    state.revisions.pop(event.id, None)
    state.unrevised.discard(event.id)


def _document_written(state: RunState, event: ev.DocumentWritten) -> None:
    if event.path:
        state.unwritten[event.path] = event


def _file_written(state: RunState, event: ev.FileWritten) -> None:
    state.documents[event.path] = event.digest
    wanted = state.unwritten.get(event.path)
    if wanted is not None and wanted.digest == event.digest:
        del state.unwritten[event.path]


def _declared(state: RunState, event: ev.StepsDeclared) -> None:
    state.declared.update(event.steps)
    _withdraw_gates(state, event.steps)


def _gate_opened(state: RunState, event: ev.GateOpened) -> None:
    if event.gate not in state.gates:
        if event.kind in (GateKind.EDIT, GateKind.ACCEPT):  # a further one makes the question before it idle
            _withdraw_gates(state, (event.step,), kind=event.kind)
        state.gates[event.gate] = state.unanswered[event.gate] = Gate(opened=event)
        name = f"{event.kind}-{event.step}"
        state.asked[name] = state.asked.get(name, 0) + 1


def _gate_answered(state: RunState, event: ev.GateAnswered) -> None:
    gate = state.gates[event.gate]
    gate.answer = event
    state.unanswered.pop(event.gate, None)
    state.parked = False
    if event.choice == gates.YES:
        _accept(state, gate.opened.doubts)
    last = state.mirrored.get(gate.opened.step)
    if gate.opened.kind is GateKind.REDO and event.choice == gates.KEEP and last is not None:
        # What the file says is known and not wanted: it is written over.
        state.mirrored[last.step] = replace(last, marks=Marks(status=Status.READY))


def _accept(state: RunState, doubts: Collection[ev.Doubt]) -> None:
    """A person who accepts a landing has seen the tests that it changed."""
    for doubt in doubts:
        finished = state.finished.get(doubt.step)
        if finished is None or finished.proof is None or finished.commit != doubt.commit:
            continue
        proof = finished.proof.after_review()
        if proof != finished.proof:
            state.finished[doubt.step] = replace(finished, level=proof.level, why=proof.why)


def _step_started(state: RunState, event: ev.StepStarted) -> None:
    state.working[event.step] = event.round
    state.deferred.pop(event.step, None)
    state.quiet = False
    if event.step not in RUN_WALKS:
        _outdate_final(state)


def _outdate_final(state: RunState) -> None:
    """The run branch is about to change: what the last walk has looked at is not what the run leaves behind."""
    if FINAL in state.working or FINAL in state.finished:
        state.final_before = state.finished.get(FINAL, state.final_before)
        for known in (state.working, state.finished, state.deferred):
            known.pop(FINAL, None)
        state.rounds[FINAL] = state.rounds.get(FINAL, 0) + 1
        _withdraw_gates(state, (FINAL,))


def _step_finished(state: RunState, event: ev.StepFinished) -> None:
    if event.step in RUN_WALKS and event.step not in state.working:
        return  # of a round that was outdated meanwhile
    state.finished[event.step] = event
    state.working.pop(event.step, None)
    state.deferred.pop(event.step, None)
    state.declared.discard(event.step)
    _withdraw_gates(state, (event.step,))


def _lessons_changed(state: RunState, event: ev.LessonsChanged) -> None:
    state.lessons = event


def _step_deferred(state: RunState, event: ev.StepDeferred) -> None:
    state.deferred[event.step] = event


def _usage_counted(state: RunState, event: ev.UsageCounted) -> None:
    agents = state.usage.setdefault(event.step, {})
    known = agents.get(event.agent, {})  # drivers may be heard out of order, and a count never shrinks
    agents[event.agent] = {
        name: max(known.get(name, 0.0), event.usage.get(name, 0.0)) for name in {**known, **event.usage}
    }


def _mutants_tried(state: RunState, event: ev.MutantsTried) -> None:
    finished = state.finished.get(event.step)
    if finished is not None and finished.commit == event.commit:
        state.finished[event.step] = replace(finished, mutants=event.found)


def _step_reopened(state: RunState, event: ev.StepReopened) -> None:
    state.deferred.pop(event.step, None)
    state.finished.pop(event.step, None)
    state.declared.discard(event.step)
    state.rounds[event.step] = state.rounds.get(event.step, 0) + 1
    if event.redo:
        state.redone[event.step] = state.rounds[event.step]
    state.reopened.pop(event.step, None)
    if event.is_special:
        state.reopened[event.step] = event
    _withdraw_gates(state, (event.step,))
    # Who tries a step again wants it done: a no to further spending is asked about again, at a gate of its own.
    _take_back(state, GateKind.BUDGET, gates.NO)
    state.ended = None
    state.parked = False


def _take_back(state: RunState, kind: str, choice: str) -> None:
    """Let an answer no longer count because a person wants something else by now."""
    for gate in state.gates.values():
        if gate.opened.kind == kind and gate.answer is not None and gate.answer.choice == choice:
            gate.withdrawn = gate.answer
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
    state.misplaced = None
    _outdate_final(state)


def _branch_misplaced(state: RunState, event: ev.BranchMisplaced) -> None:
    state.misplaced = event


def _mode(state: RunState, event: ev.ModeChanged) -> None:
    state.mode = event.mode
    _rank(state)


def _cancel(state: RunState, event: ev.CancelRequested) -> None:
    state.cancel = event
    state.ended = None  # a run that was stuck ends once more, as cancelled


def _pause(state: RunState, event: ev.PauseRequested) -> None:
    state.pause = event


def _parked(state: RunState, event: ev.RunParked) -> None:
    state.parked = True
    state.parked_until = event.until
    state.parked_for = event.reason
    state.quiet = event.quiet


def _resumed(state: RunState, event: ev.RunResumed) -> None:
    if state.ended is not None and state.ended.state is RunEnd.CANCELLED:
        state.cancel = None  # the person who resumes it has changed their mind
    state.parked = False
    state.pause = None
    if state.ended is not None:  # a person who resumes a run that a person stopped no longer wants it stopped
        # What ended as blocked was not ended by a stop: one that was said since then still has to end it.
        for kind in (GateKind.WAVE, *sorted(STUCK)) if state.ended.state is not RunEnd.BLOCKED else ():
            _take_back(state, kind, gates.STOP)
        _take_back(state, GateKind.BUDGET, gates.NO)
        _take_back(state, GateKind.ACCEPT, gates.NO)
    state.ended = None
    # Beside a question there may be work that could not be done before.
    state.deferred = {step: deferred for step, deferred in state.deferred.items() if not deferred.gates}


def _ended(state: RunState, event: ev.RunEnded) -> None:
    state.ended = event
    state.parked = False
    state.quiet = event.quiet


def _queued(state: RunState, event: ev.Event) -> None:
    """The fold of the landing queue says it all."""


_APPLY: dict[type[ev.Event], Callable[[RunState, Any], None]] = {
    ev.RunStarted: _started,
    ev.PlanPinned: _pinned,
    ev.ConfigRepinned: _repinned,
    ev.FlowPinned: _flow_pinned,
    ev.PlanChanged: _changed,
    ev.CorrectionPlanned: _correction_planned,
    ev.CorrectionRefused: _correction_refused,
    ev.RevisionPlanned: _revision_planned,
    ev.RevisionRefused: _revision_refused,
    ev.DocumentWritten: _document_written,
    ev.FileWritten: _file_written,
    ev.StepsDeclared: _declared,
    ev.GateOpened: _gate_opened,
    ev.GateAnswered: _gate_answered,
    ev.StepStarted: _step_started,
    ev.StepFinished: _step_finished,
    ev.StepDeferred: _step_deferred,
    ev.UsageCounted: _usage_counted,
    ev.MutantsTried: _mutants_tried,
    ev.StepReopened: _step_reopened,
    ev.LessonsChanged: _lessons_changed,
    ev.PlanMirrored: _mirrored,
    ev.BranchSettled: _branch_settled,
    ev.BranchMisplaced: _branch_misplaced,
    ev.ModeChanged: _mode,
    ev.CancelRequested: _cancel,
    ev.PauseRequested: _pause,
    ev.RunParked: _parked,
    ev.RunResumed: _resumed,
    ev.RunEnded: _ended,
    ev.TicketTaken: _queued,
    ev.CandidateFormed: _queued,
    ev.CandidateProved: _queued,
    ev.CandidateDropped: _queued,
    ev.BranchMoved: _queued,
}
