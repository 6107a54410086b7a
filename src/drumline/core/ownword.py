"""What follows an agent's word against its own work.

The rule: a blocker is for a person, and uses up nothing; nor does a plan that its agent finds wrong. A report that the
work is not done is heard beside the checks: where they fail, too, it is an ordinary fix; where they pass, the agent is
asked once, then a person.
"""

from __future__ import annotations

from drumline.core import gates
from drumline.core.asking import ask, is_asked, open_stuck
from drumline.core.commands import Finish, Park
from drumline.core.events import AttemptEnded, GateAnswered
from drumline.core.examination import Verdict
from drumline.core.orders import Orders
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import GateKind, StepEnd

NOT_DONE = "the agent itself reports that the work is not done"
STUCK = "the agent reports that it is blocked"
WRONG = "the plan may be wrong, says its agent"
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
    opens = gates.denied(orders.step, state.about, denial=denial)
    if not state.doubted and not is_asked(run, opens):
        return Verdict.DENIED
    match ask(orders, run, opens, blocks=f"{NOT_DONE}: {denial[:MOST_TOLD]}"):
        case GateAnswered(choice=gates.LAND):
            return Verdict.PASSED
        case GateAnswered(choice=gates.RETRY):
            return Verdict.DENIED
        case GateAnswered(comment=comment):
            return Finish(state=StepEnd.SKIPPED, reason=comment or NOT_DONE)
        case waits:
            return waits


def follow_blocker(orders: Orders, run: RunState, last: AttemptEnded) -> Park | Finish | None:
    """What follows an attempt whose agent says that it is blocked; None once a person has answered."""
    if last.wrong:
        reason = f"{WRONG}: {last.question[:MOST_TOLD]}"
        return Finish(
            state=StepEnd.BLOCKED, reason=reason, opens=open_stuck(run, orders.step, GateKind.PLAN, reason=reason)
        )
    opens = gates.blocked(orders.step, last.attempt, last.question)
    found = ask(orders, run, opens, blocks=f"{STUCK}: {last.question[:MOST_TOLD]}")
    return None if isinstance(found, GateAnswered) else found
