"""Folds what people said into the journal: each message is settled in the transaction that records its event."""

from __future__ import annotations

from collections.abc import Collection

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.corrections import send_back
from drumline.core.decide import is_hindered
from drumline.core.gates import check_reply, read_items, read_reply
from drumline.core.ids import FLOW, GateId, StepId
from drumline.core.needs import settled
from drumline.core.plan import RUN_WALKS
from drumline.core.retryrequest import read_round
from drumline.core.spending import COST, sum_run
from drumline.core.state import RunState
from drumline.core.vocabulary import STUCK, GateKind, Mode, RunEnd, StepEnd
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.record import replace

MODES = tuple(Mode)


def outcome_of(run: RunState, message: Message, claimed: Collection[StepId]) -> list[ev.Event] | None:
    """The events a message leads to; empty if it came too late; None if it has to wait: for a claim or a driver."""
    step = StepId(message.subject)
    match message.kind:
        case "answer":
            answered = take_answer(run, message)
            return [answered, *_follow(run, answered)] if answered else []
        case "cancel":
            over = run.cancel or (run.ended is not None and not run.is_stuck)
            return [] if over else [ev.CancelRequested(by=message.by, reason=message.comment)]
        case "pause":
            idle = run.pause or run.cancel or run.parked or run.ended
            return [] if idle else [ev.PauseRequested(by=message.by, reason=message.comment)]
        case "mode" if message.value in MODES and message.value != run.mode and not run.plan.express:
            return [ev.ModeChanged(mode=Mode(message.value))]
        case "retry" if not run.lands:
            return None if is_open(run, FLOW) else []  # which visits wait is known to the walk only
        case "retry" if _is_known(run, step) and (step not in run.working or _waits_for_quota(run, step, claimed)):
            reopened = ev.StepReopened(step=step, reason=message.comment, by=message.by)
            return [] if _landed(run, step) else [read_round(message.value, reopened)]
        case "skip" if step in run.plan.by_id and not settled(run, step):
            if step in claimed:
                return None
            return [ev.StepFinished(step=step, state=StepEnd.SKIPPED, reason=message.comment)]
        case "skip" if step in run.finished and step not in RUN_WALKS and not _landed(run, step):
            return [ev.StepFinished(step=step, state=StepEnd.SKIPPED, reason=message.comment)]
        case _:
            return []


REOPENING = (
    *(GateKind.JUDGE, GateKind.OWNERSHIP, GateKind.UNCHANGED, GateKind.BLOCKED, GateKind.DENIED),
    GateKind.CONFLICT,
)
"""Questions with which autopilot leaves a step blocked."""


def _follow(run: RunState, answered: ev.GateAnswered) -> list[ev.Event]:
    """What an answer leads to at once: another round of a blocked step, or a landed one that is sent back."""
    return [*_reopen(run, answered), *send_back(run, run.gates[answered.gate].opened, answered)]


def _reopen(run: RunState, answered: ev.GateAnswered) -> list[ev.Event]:
    """A step that is blocked by the very question that is answered continues with the answer."""
    opened = run.gates[answered.gate].opened
    finished = run.finished.get(opened.step)
    if finished is None or finished.state is not StepEnd.BLOCKED:
        return []
    again = ev.StepReopened(step=finished.step, reason=f"gate {answered.gate} is answered", by=answered.by)
    if opened.kind in REOPENING:
        return [again]
    if opened.kind not in STUCK:
        return []
    match answered.choice:
        case gates.SKIP:
            return [ev.StepFinished(step=finished.step, state=StepEnd.SKIPPED, reason=answered.comment)]
        case gates.STOP:
            return []
        case gates.GO_ON:
            said = f"It was said: {opened.asks}\n\nA person wants the step done as it is planned all the same."
            return [replace(again, context="\n\n".join(part for part in (said, answered.comment) if part))]
        case _:
            return [replace(again, context=answered.comment)]


def take_answer(run: RunState, message: Message) -> ev.GateAnswered | None:
    """The event of an answer; None if its gate is not open or does not take it."""
    gate = GateId(message.subject)
    if gate not in run.unanswered:
        return None
    opened = run.unanswered[gate].opened
    try:
        check_reply(opened, message.value, message.comment)
    except InvalidInput:
        return None
    choice, comment = read_reply(opened, message.value, message.comment)
    answered = ev.GateAnswered(gate=gate, choice=choice, comment=comment, by=message.by, channel=message.channel)
    answered = replace(answered, items=read_items(opened, message.value))
    return replace(answered, spent=sum_run(run).get(COST, 0.0)) if opened.kind is GateKind.BUDGET else answered


def calls_back(run: RunState, message: Message, claimed: Collection[StepId]) -> bool:
    """Whether a run that is left has to be driven on because of a message: it leads to something, or to a walk."""
    cancelled = run.ended is not None and run.ended.state is RunEnd.CANCELLED  # what was said before counts no more
    waits = message.kind == "retry" and not run.lands and FLOW not in claimed and not cancelled
    return waits or outcome_of(run, message, claimed) is not None


def is_open(run: RunState, step: StepId) -> bool:
    """Whether a step is not finished, or can be tried again as it is."""
    finished = run.finished.get(step)
    return finished is None or is_hindered(finished)


def _is_known(run: RunState, step: StepId) -> bool:
    """Whether the run has the step, or has begun that walk of its own."""
    return step in run.plan.by_id or (step in RUN_WALKS and run.has_begun(step))


def _waits_for_quota(run: RunState, step: StepId, claimed: Collection[StepId]) -> bool:
    """Whether the step waits for a quota, and nobody has taken it up again."""
    return step in run.deferred and step not in claimed


def _landed(run: RunState, step: StepId) -> bool:
    finished = run.finished.get(step)
    return finished is not None and finished.state is StepEnd.DONE
