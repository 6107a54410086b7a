"""What a step does next, as the shipped flow leads from one rule to the next.

`tests/integration/test_step_flows.py` shows that the flow's graph leads the same way.
"""

from __future__ import annotations

from drumline.core import gates, landing, steprules, verdicts
from drumline.core.commands import Command, Finish, Park, Release, Restart
from drumline.core.examination import Verdict
from drumline.core.life import Phase
from drumline.core.orders import Orders
from drumline.core.rounds import begin_round, reject
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import StepEnd


def advance(orders: Orders, state: StepState, run: RunState) -> Command:
    """The next command for a claimed step that has no open intent."""
    begun = begin_round(orders, state, run)
    if begun is not None:
        return begun
    found = steprules.find_stop(orders, state, run) or steprules.prepare(state)
    return found or _go_on(orders, state, run)


def _go_on(orders: Orders, state: StepState, run: RunState) -> Command:
    if state.phase is Phase.LANDED:
        return Finish(state=StepEnd.DONE)
    over = steprules.work_on(orders, state, run, begun=state.phase is Phase.WORKED)
    if over is not None:
        return over
    if state.refused is not None or state.joined:
        return _land(orders, state, run)
    match verdicts.judge_work(orders, state, run):
        case Verdict.PASSED:
            return _approve(orders, state, run)
        case Verdict():
            return _work(orders, state, run) if verdicts.may_fix(orders, state, run) else _stop(state)
        case command:
            return command


def _work(orders: Orders, state: StepState, run: RunState) -> Command:
    return steprules.work_on(orders, state, run, begun=False) or Release(reason="")


def _stop(state: StepState) -> Finish:
    tried = verdicts.tell_tries(state)
    failed = ", ".join(ended.command for ended in state.faults())
    return Finish(state=StepEnd.BLOCKED, reason=f"still failing after {tried}: {failed}")


def _land(orders: Orders, state: StepState, run: RunState) -> Command:
    found = landing.land(orders, state, run)
    if not isinstance(found, Verdict):
        return found or Restart(round=0)
    if verdicts.may_integrate(orders, state, run):
        return _work(orders, state, run)
    return Finish(state=StepEnd.BLOCKED, reason=landing.tell_integration(state))


def _approve(orders: Orders, state: StepState, run: RunState) -> Command:
    land = _land(orders, state, run)
    if orders.autonomy != "verbose":
        return land
    asked = verdicts.find_approval(orders, state, run)
    if asked is None or asked.answer is None:
        opens = verdicts.open_approval(orders, state, run)
        return Park(gate=opens.gate, opens=None if asked else opens)
    match asked.answer.choice:
        case gates.APPROVE:
            return land
        case gates.REVISE:
            return _work(orders, state, run)
        case _:
            return reject(asked.answer.comment)
