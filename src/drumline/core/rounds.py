"""The rounds of a step: what a further one begins with, and what a person said about the work of the last."""

from __future__ import annotations

from drumline.core.commands import Finish, Recheck, Restart
from drumline.core.corrections import is_asked_for
from drumline.core.foul import tell_foul
from drumline.core.ids import StepId
from drumline.core.life import Phase
from drumline.core.orders import Orders
from drumline.core.plan import Step
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import MOST_KILLS
from drumline.core.vocabulary import GateKind, StepEnd


def begin_round(orders: Orders, state: StepState, run: RunState) -> Restart | Recheck | None:
    """The round that a person or a resume wants and that has not begun; None if there is none.

    It begins from nothing. Work that could not be checked, or about which a person decided, is only checked
    again, unless its task was edited since. What has landed is not landed again, unless it is to be done once more.
    A walk of the run itself always begins anew: the run branch may be somewhere else by now.
    """
    step = orders.step
    number = run.rounds.get(step.id, 0)
    if state.round >= number or (state.phase is Phase.LANDED and state.round >= run.redone.get(step.id, 0)):
        return None
    if is_asked_for(run, step.id) and state.phase is Phase.WORKED and run.rewritten.get(step.id, 0) <= state.round:
        return Recheck(round=number, anew=True)
    hindered = state.hindered is not None or state.kills >= MOST_KILLS or _is_decided(state, step, run)
    keeps = state.phase is Phase.WORKED and hindered and state.round >= run.rewritten.get(step.id, 0) and orders.lands
    return Recheck(round=number) if keeps else Restart(round=number)


def find_answer(run: RunState, kind: str, step: Step, state: StepState) -> str:
    """What a person answered to a question about the last attempt; empty if nothing."""
    asked = run.find_gate(kind, step.id, state.about)
    return asked.answer.choice if asked is not None and asked.answer is not None else ""


def find_rejection(run: RunState, step: StepId) -> str:
    """What a person said at the approval about a step that was answered last; empty if nothing."""
    kinds = (GateKind.APPROVE, GateKind.APPROVAL)
    asked = [gate for gate in run.gates.values() if gate.opened.kind in kinds and gate.opened.step == step]
    said = [gate.answer.comment for gate in asked if gate.answer is not None]
    return said[-1] if said else ""


def reject(comment: str, *, otherwise: str = "") -> Finish:
    """The end of a step that a person rejects; without a comment `otherwise` says why, if anything does."""
    reason = f"rejected: {comment}" if comment else otherwise or "rejected by a person"
    said = comment or otherwise or "by a person"
    return Finish(state=StepEnd.FAILED, reason=reason, rejected=True, said=said)


def _is_decided(state: StepState, step: Step, run: RunState) -> bool:
    """Whether a person has said what is to become of work that changed its judge, files of others, or nothing."""
    if state.refused is not None:
        return False
    judged = bool(find_answer(run, GateKind.JUDGE, step, state)) and bool(tell_foul(state.judged))
    judged |= bool(find_answer(run, GateKind.OWNERSHIP, step, state)) and bool(state.strayed.refused)
    judged |= bool(find_answer(run, GateKind.CONFLICT, step, state)) and state.joined
    judged |= any(find_answer(run, kind, step, state) for kind in (GateKind.BLOCKED, GateKind.DENIED))
    return judged or (bool(find_answer(run, GateKind.UNCHANGED, step, state)) and state.tree == state.ready)
