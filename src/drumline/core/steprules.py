"""What the nodes of a step's flow do next. Pure: the same state gives the same command, on any machine.

A rule answers with a command, or says that its node is over. Budgets: only failures of the work itself (a failing
check, or the agent saying so) use up fixes; failures that pass by themselves wait 2 s, then 4 s; where an agent cannot
go on the next one takes over; a check that this machine cannot run is repeated once; what was killed from outside is
lost and done again, until that happens three times in a row; everything else stops the step with its reason. Before
each attempt the run's money is looked at.
"""

from __future__ import annotations

from drumline.core import gates, spending
from drumline.core.attempts import Again, Rest, follow_up
from drumline.core.baseline import list_inherited
from drumline.core.checkfailure import CheckFailure, explain
from drumline.core.commands import (
    Attempt,
    Command,
    Compare,
    Defer,
    Finish,
    Land,
    Park,
    Prepare,
    Recheck,
    Release,
    Restart,
    RunCheck,
)
from drumline.core.events import AttemptEnded, Event, GateOpened, WorkLost
from drumline.core.examination import Verdict, examine
from drumline.core.ids import DriverId
from drumline.core.life import OPEN, Phase
from drumline.core.orders import Orders
from drumline.core.plan import Step
from drumline.core.routing import choose, raise_tier
from drumline.core.state import Gate, RunState
from drumline.core.stepstate import StepState, tell_foul
from drumline.core.taxonomy import MOST_KILLS, RULES, Failure, Reaction
from drumline.record import replace

NODE = "implement"
KILLED = CheckFailure.KILLED.value

LEAVING = (Park, Defer, Release, Finish)
"""Commands with which a driver gives a step back."""


def begin_round(orders: Orders, state: StepState, run: RunState) -> Restart | Recheck | None:
    """The round that a person or a resume wants and that has not begun; None if there is none.

    It begins from nothing. Work that could not be checked, or about whose judge a person decided, is only checked
    again, unless its task was edited since. What has landed is not landed again, unless it is to be done once more.
    """
    step = orders.step
    number = run.rounds.get(step.id, 0)
    if state.round >= number or (state.phase is Phase.LANDED and state.round >= run.redone.get(step.id, 0)):
        return None
    hindered = state.hindered is not None or state.kills >= MOST_KILLS or _is_decided(state, step, run)
    keeps = state.phase is Phase.WORKED and hindered and state.round >= run.rewritten.get(step.id, 0)
    return Recheck(round=number) if keeps else Restart(round=number)


def find_stop(orders: Orders, state: StepState, run: RunState) -> Park | Finish | Release | None:
    """Why nothing may be done to the step now, whatever its node wants; None if nothing is in the way."""
    if state.phase is Phase.LANDED:
        return None
    if state.phase in OPEN:
        raise AssertionError(f"{orders.step.id} has an open intent in phase {state.phase.value}")
    if begin_round(orders, state, run) is not None:
        return Release(reason="another round begins")
    for gate in run.unanswered.values():
        if gate.opened.kind == "edit" and gate.opened.step == orders.step.id:
            return Park(gate=gate.opened.gate)
    if state.kills >= MOST_KILLS:
        return Finish(state="blocked", reason=explain_kills(state.kills, state.killed), failure=KILLED)
    return None


def prepare(state: StepState) -> Prepare | Finish | None:
    """The node `workspace`."""
    if state.phase is not Phase.WAITING:
        return None
    return Finish(state="blocked", reason=state.trouble) if state.trouble else Prepare()


def work_on(orders: Orders, state: StepState, run: RunState, *, begun: bool, node: str = NODE) -> Command | None:
    """A node of the step's agent; `begun` says that an attempt has ended in this visit. None if the work is done."""
    command = _work_on(orders, state, run, begun=begun)
    if not isinstance(command, Attempt):
        return command
    return _afford(replace(command, node=node), orders, state, run)


def _work_on(orders: Orders, state: StepState, run: RunState, *, begun: bool) -> Command | None:
    relayed = state.asked is not None and state.asked.relayed
    last = state.last if state.phase is Phase.WORKED and not relayed else None
    if last is not None and last.failure:
        return _after_failure(orders, state, run, last)
    if last is not None and last.question:
        return _after_question(orders, state, run, last)
    return None if begun else _attempt(orders, state, run, fixing=_is_fix(orders, state, run))


def _is_fix(orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether the next attempt is about what checks or a person found wrong with the last."""
    if state.phase is not Phase.WORKED:
        return False
    asked = find_approval(orders, state, run)
    revised = asked is not None and asked.answer is not None and asked.answer.choice == gates.REVISE
    return bool(state.faults()) or revised or bool(tell_foul(state))


def judge_work(orders: Orders, state: StepState, run: RunState) -> RunCheck | Compare | Park | Finish | Verdict:
    """The node `check` without commands of its own: what is to be run, who is asked, or the verdict."""
    match examine(orders, state, run):
        case Verdict.FAILED if state.hindered is not None:
            hindered = state.hindered
            reason = explain(hindered.failure, command=hindered.command, evidence=hindered.evidence)
            return Finish(state="blocked", reason=reason, failure=hindered.failure)
        case Verdict.FOUL:
            return _after_foul(orders, state, run)
        case found:
            return found


def _after_foul(orders: Orders, state: StepState, run: RunState) -> RunCheck | Compare | Park | Finish | Verdict:
    """What follows work that passes only because it changed its judge: its agent hears it once, then a person."""
    step = orders.step
    asked = run.find_gate(gates.JUDGE, step.id, state.attempts)
    if asked is None and not state.warned and state.fixes < orders.retries:
        return Verdict.FOUL
    if asked is None:
        before = run.count_asked(gates.JUDGE, step.id)
        opens = gates.judge(step, state.attempts, asked=before, foul=tell_foul(state))
        if orders.autonomy == "autopilot":
            return Finish(state="blocked", reason=tell_foul(state), opens=opens)
        return Park(gate=opens.gate, opens=opens)
    if asked.answer is None:
        return Park(gate=asked.opened.gate)
    match asked.answer.choice:
        case gates.ALLOW:
            found = examine(orders, state, run, allowed=True)
            return Verdict.PASSED if isinstance(found, Verdict) else found
        case gates.UNDO:
            return Verdict.FOUL
        case _:
            return Finish(state="failed", reason=explain_rejection(asked.answer.comment), rejected=True)


def may_fix(orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether the agent gets another try at work that failed; also if a person wants it to undo something."""
    asked = run.find_gate(gates.JUDGE, orders.step.id, state.attempts)
    undo = asked is not None and asked.answer is not None and asked.answer.choice == gates.UNDO
    return undo or state.fixes < orders.retries


def find_approval(orders: Orders, state: StepState, run: RunState) -> Gate | None:
    """The question to a person whether this very work lands; None if it was not asked."""
    return run.find_gate(gates.APPROVAL, orders.step.id, state.attempts)


def open_approval(orders: Orders, state: StepState, run: RunState) -> GateOpened:
    """That question, to be asked; the one that was asked already, if there is one."""
    asked = find_approval(orders, state, run)
    if asked is not None:
        return asked.opened
    before = run.count_asked(gates.APPROVAL, orders.step.id)
    return gates.approval(orders.step, state.attempts, asked=before, verdict=tell_verdict(orders, state))


def land(state: StepState) -> Land | Release | Finish | None:
    """The node `land`, for work that its checks let pass. None if it has landed."""
    if state.phase is Phase.LANDED:
        return None
    if state.refused is None:
        return Land()
    reason = state.refused.reason
    return Release(reason=reason) if state.refused.retry else Finish(state="blocked", reason=reason)


def _is_decided(state: StepState, step: Step, run: RunState) -> bool:
    """Whether a person has said what is to become of work that changed its judge."""
    asked = run.find_gate(gates.JUDGE, step.id, state.attempts)
    return asked is not None and asked.answer is not None and state.refused is None and bool(tell_foul(state))


def explain_kills(kills: int, what: str) -> str:
    """The reason of a step whose work was killed too often."""
    return f"killed from outside {kills} times in a row: {what}; look whether memory ran out, then drumline resume"


def recover(state: StepState, driver: DriverId) -> list[Event]:
    """Close as lost what a dead driver left open."""
    return [WorkLost(what=state.phase.value, driver=driver)] if state.phase in OPEN else []


def _attempt(orders: Orders, state: StepState, run: RunState, *, delay: float = 0.0, fixing: bool = False) -> Attempt:
    chosen = choose(orders.agents, state)
    return Attempt(
        node=NODE,
        attempt=state.attempts + 1,
        tier=raise_tier(chosen.tier, fix=state.fixes + fixing),
        agent=chosen.name,
        delay=delay,
        comment=_wish(run, orders.step),
        session=state.session if chosen.name == state.agent else "",
        answers=_answers(run, orders.step),
    )


def _afford(attempt: Attempt, orders: Orders, state: StepState, run: RunState) -> Command:
    """The attempt with what it may cost; a question where the money is spent."""
    step, own = orders.step.id, state.spent.values()
    left = spending.count_left(run, step, own)
    if left is None or left > 0:
        return replace(attempt, budget=left)
    if spending.is_refused(run):
        return Finish(state="blocked", reason="the budget is spent; a person said not to proceed")
    spent = spending.count_spent(run, step, own)
    asks = gates.budget(spending.count_asked(run) + 1, spent=spent, allowed=spent + left)
    return Park(gate=asks.gate, opens=None if asks.gate in run.gates else asks)


def _answers(run: RunState, step: Step) -> tuple[tuple[str, str], ...]:
    """What agents asked about the step and a person answered; it holds for every further attempt."""
    asked = [g for g in run.gates.values() if g.opened.kind == gates.QUESTION and g.opened.step == step.id]
    return tuple((gate.opened.asks, gate.answer.choice) for gate in asked if gate.answer is not None)


def _wish(run: RunState, step: Step) -> str:
    """The change a person asked for last; it holds for every further attempt, also after one that was lost."""
    asked = [
        gate.answer for gate in run.gates.values() if gate.opened.kind == gates.APPROVAL and gate.opened.step == step.id
    ]
    return next((a.comment for a in reversed(asked) if a is not None and a.choice == gates.REVISE), "")


def _after_question(orders: Orders, state: StepState, run: RunState, last: AttemptEnded) -> Command:
    """Wait for the answer, then go on with it. Nothing has failed."""
    step = orders.step
    asked = run.find_gate(gates.QUESTION, step.id, last.attempt)
    if asked is None:
        before = run.count_asked(gates.QUESTION, step.id)
        opens = gates.question(step, last.attempt, last.question, asked=before)
        return Park(gate=opens.gate, opens=opens)
    return Park(gate=asked.opened.gate) if asked.answer is None else _attempt(orders, state, run)


def _after_failure(orders: Orders, state: StepState, run: RunState, last: AttemptEnded) -> Command:
    if state.ran_dry:
        return _attempt(orders, state, run)
    failure = Failure(last.failure)
    match follow_up(orders.agents, state, failure):
        case Again(delay=delay):
            return _attempt(orders, state, run, delay=delay)
        case Rest(until=until):
            return Defer(until=until, reason=f"{RULES[failure].means}: {last.message}")
        case _:
            return _without_other(orders, state, run, last)


def _without_other(orders: Orders, state: StepState, run: RunState, last: AttemptEnded) -> Command:
    """What follows a failure where no agent can go on by itself, now or later."""
    rule, message = RULES[Failure(last.failure)], last.message
    match rule.reaction:
        case Reaction.WAIT:
            reason = f"{rule.means}, {state.waits} times in a row: {message}"
            return Finish(state="blocked", reason=reason)
        case Reaction.FIX if state.fixes < orders.retries:
            return _attempt(orders, state, run, fixing=True)
        case Reaction.FIX:
            return Finish(state="blocked", reason=f"the agent failed {count_noun(state.fixes + 1, 'time')}: {message}")
        case Reaction.BLOCK:
            return Finish(state="blocked", reason=f"{rule.means}: {message}")
        case Reaction.FAIL:
            return Finish(state="failed", reason=message or rule.means)


def count_noun(number: int, noun: str, ending: str = "s") -> str:
    return f"{number} {noun}" + ("" if number == 1 else ending)


def tell_verdict(orders: Orders, state: StepState) -> str:
    """What the checks say about the work, for who decides whether it lands."""
    if not orders.checks:
        return "has no checks: nothing proves it"
    inherited = ", ".join(orders.checks[number].command for number in list_inherited(orders.checks, state))
    if inherited:
        return f"breaks nothing, but fails what failed before ({inherited})"
    void = ", ".join(ended.command for ended in state.void())
    return f"is not proved: its check changes the tree ({void})" if void else gates.PASSED


def explain_rejection(comment: str) -> str:
    return f"rejected: {comment}" if comment else "rejected by a person"
