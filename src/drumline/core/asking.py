"""How a rule asks a person about a step: one function for every question that a rule of a step's node has. Pure.

The rule: a question is asked once about each attempt or round. Until a person answers it, the step is parked; in
autopilot, where a rule names a reason, the step is blocked instead, and the question is left open beside it.
"""

from __future__ import annotations

from drumline.core import gates
from drumline.core.commands import Finish, Park
from drumline.core.events import GateAnswered, GateOpened
from drumline.core.orders import Orders
from drumline.core.plan import Step
from drumline.core.state import RunState
from drumline.core.vocabulary import GateKind, PlanCause, StepEnd
from drumline.record import replace

AUTOPILOT = "autopilot"


def ask(orders: Orders, run: RunState, opens: GateOpened, *, blocks: str = "") -> Park | Finish | GateAnswered:
    """The answer to a question, or what the step does without it. `blocks` is the reason it is blocked in autopilot.

    The same question is the one of the same kind about the same attempt or round of the same step, and about no
    further files.
    """
    asked = run.find_gate(opens.kind, opens.step, opens.about)
    if asked is not None and asked.answer is not None and not {*opens.paths} <= {*asked.opened.paths}:
        asked = None
    if asked is not None:
        return Park(gate=asked.opened.gate) if asked.answer is None else asked.answer
    numbered = replace(opens, gate=gates.name_gate(opens.kind, opens.step, run.count_asked(opens.kind, opens.step)))
    if blocks and orders.autonomy == AUTOPILOT:
        return Finish(state=StepEnd.BLOCKED, reason=blocks, opens=numbered)
    return Park(gate=numbered.gate, opens=numbered)


def is_asked(run: RunState, opens: GateOpened) -> bool:
    """Whether that question was asked already."""
    return run.find_gate(opens.kind, opens.step, opens.about) is not None


def open_stuck(run: RunState, step: Step, kind: GateKind, *, reason: str) -> GateOpened | None:
    """The question about a step that is blocked; None for a corrective one: the step that it helps is asked about."""
    planned = run.corrections.get(step.id)
    if planned is not None and planned.cause is not PlanCause.MANUAL:
        return None
    before, current = run.count_asked(kind, step.id), run.rounds.get(step.id, 0)
    return gates.stuck(kind, step, current, asked=before, reason=reason)
