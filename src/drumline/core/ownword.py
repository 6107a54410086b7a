"""What follows an agent's word against its own work.

The rule: a blocker is for a person, and uses up nothing. A report that the work is not done is heard beside the checks:
where they fail, too, it is an ordinary fix; where they pass, the agent is asked once, then a person.
"""

from __future__ import annotations

from drumline.core import gates
from drumline.core.commands import Finish, Park
from drumline.core.events import AttemptEnded
from drumline.core.examination import Verdict
from drumline.core.orders import Orders
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.words import GateKind, StepEnd

NOT_DONE = "the agent itself reports that the work is not done"
STUCK = "the agent reports that it is blocked"
MOST_TOLD = 500
"""Characters of an agent's words in a reason."""


def is_denied(state: StepState) -> bool:
    """Whether the agent of the last attempt says that its work is not done."""
    return state.last is not None and bool(state.last.denial)


def tell_denial(denial: str) -> str:
    """What an agent is asked whose report says so while the checks of the step pass."""
    return (
        f"Your report says that the work is not done:\n\n{denial}\n\nThe checks of the step pass. If something is "
        "missing nevertheless, do it now. If not, say so: end with a report whose status is success."
    )


def follow_denial(orders: Orders, state: StepState, run: RunState, denial: str) -> Park | Finish | Verdict:
    """What follows work that passes its checks while its agent says that it is not done."""
    step = orders.step
    asked = run.find_gate(GateKind.DENIED, step.id, state.attempts)
    if asked is None and not state.doubted:
        return Verdict.DENIED
    if asked is None:
        before = run.count_asked(GateKind.DENIED, step.id)
        reason = f"{NOT_DONE}: {denial[:MOST_TOLD]}"
        opens = gates.denied(step, state.attempts, asked=before, denial=denial)
        if orders.autonomy == "autopilot":
            return Finish(state=StepEnd.BLOCKED, reason=reason, opens=opens)
        return Park(gate=opens.gate, opens=opens)
    if asked.answer is None:
        return Park(gate=asked.opened.gate)
    match asked.answer.choice:
        case gates.LAND:
            return Verdict.PASSED
        case gates.RETRY:
            return Verdict.DENIED
        case _:
            return Finish(state=StepEnd.SKIPPED, reason=asked.answer.comment or NOT_DONE)


def follow_blocker(orders: Orders, run: RunState, last: AttemptEnded) -> Park | Finish | None:
    """What follows an attempt whose agent says that it is blocked; None once a person has answered."""
    step = orders.step
    asked = run.find_gate(GateKind.BLOCKED, step.id, last.attempt)
    if asked is None:
        before = run.count_asked(GateKind.BLOCKED, step.id)
        opens = gates.blocked(step, last.attempt, last.question, asked=before)
        if orders.autonomy == "autopilot":
            return Finish(state=StepEnd.BLOCKED, reason=f"{STUCK}: {last.question[:MOST_TOLD]}", opens=opens)
        return Park(gate=opens.gate, opens=opens)
    return Park(gate=asked.opened.gate) if asked.answer is None else None
