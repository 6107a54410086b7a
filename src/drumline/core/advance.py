"""What one step does next. Pure: the same state gives the same command, on any machine.

Budgets: only failures of the work itself (a failing check, or the agent saying so) use up fixes; failures that pass
by themselves wait 2 s, then 4 s; where an agent cannot go on the next one takes over; a check that this machine cannot
run is repeated once; what was killed from outside is lost and done again, until that happens three times in a row;
everything else stops the step with its reason. Before each attempt the run's money is looked at.
"""

from __future__ import annotations

from enum import Enum

from drumline.core import gates, spending
from drumline.core.attempts import Again, Rest, follow_up
from drumline.core.baseline import (
    choose_base,
    list_doubted,
    list_inherited,
    list_pending,
    list_rejudged,
    list_unknown,
)
from drumline.core.checkfailure import CHECK_RULES, CheckFailure, explain, is_work
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
from drumline.core.events import AttemptEnded, Event, WorkLost
from drumline.core.ids import DriverId
from drumline.core.life import OPEN, Phase
from drumline.core.plan import Check, Step
from drumline.core.proof import Against
from drumline.core.routing import Candidate, choose, list_workers, raise_tier
from drumline.core.state import RunState
from drumline.core.stepstate import StepState, tell_foul
from drumline.core.taxonomy import MOST_KILLS, RULES, Failure, Reaction
from drumline.record import Record, replace

NODE = "implement"
KILLED = CheckFailure.KILLED.value
MOST_RUNS = 2
"""How often a check that this machine cannot run is tried."""


class Orders(Record):
    """What a driver needs to know about the step it holds."""

    step: Step
    checks: tuple[Check, ...]
    agents: tuple[Candidate, ...]
    retries: int
    autonomy: str


def orders_for(run: RunState, step: Step) -> Orders:
    """The step with every check that judges it: its own, then the configured ones."""
    extra = tuple(Check(command=command, source="config") for command in run.begun.checks)
    return Orders(
        step=step,
        checks=step.checks + extra,
        agents=list_workers(run, step),
        retries=run.begun.retries,
        autonomy=run.begun.autonomy,
    )


def advance(orders: Orders, state: StepState, run: RunState) -> Command:
    """The next command for a claimed step that has no open intent."""
    command = _advance(orders, state, run)
    return _afford(command, orders, state, run) if isinstance(command, Attempt) else command


def _advance(orders: Orders, state: StepState, run: RunState) -> Command:
    step = orders.step
    # Before anything a person wants: what is on the branch is not landed again, unless it had been finished by then.
    if state.phase is Phase.LANDED and state.round >= run.redone.get(step.id, 0):
        return Finish(state="done")
    wanted_round = run.rounds.get(step.id, 0)
    if state.round < wanted_round:
        return _begin_round(wanted_round, state, step=step, run=run)
    edited = _open_edit(run, step)
    if edited is not None:
        return edited
    if state.kills >= MOST_KILLS:
        return Finish(state="blocked", reason=explain_kills(state.kills, state.killed), failure=KILLED)
    match state.phase:
        case Phase.WAITING:
            return Finish(state="blocked", reason=state.trouble) if state.trouble else Prepare()
        case Phase.PREPARED:
            return _attempt(orders, state, run)
        case Phase.WORKED:
            return _after_work(orders, state, run)
        case _:
            raise AssertionError(f"{step.id} has an open intent in phase {state.phase.value}")


def _begin_round(number: int, state: StepState, *, step: Step, run: RunState) -> Command:
    """From nothing; but work is only checked again that could not be checked, or about whose judge a person decided.

    If its task was edited since, it begins from nothing in any case.
    """
    hindered = state.hindered is not None or state.kills >= MOST_KILLS or _is_decided(state, step, run)
    keeps = state.phase is Phase.WORKED and hindered and state.round >= run.rewritten.get(step.id, 0)
    return Recheck(round=number) if keeps else Restart(round=number)


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


def _open_edit(run: RunState, step: Step) -> Park | None:
    for gate in run.unanswered.values():
        if gate.opened.kind == "edit" and gate.opened.step == step.id:
            return Park(gate=gate.opened.gate)
    return None


def _after_work(orders: Orders, state: StepState, run: RunState) -> Command:
    if state.last is not None and state.last.failure:
        return _after_failure(orders, state, run, state.last)
    if state.last is not None and state.last.question:
        return _after_question(orders, state, run, state.last)
    if state.refused is not None:
        reason = state.refused.reason
        return Release(reason=reason) if state.refused.retry else Finish(state="blocked", reason=reason)
    return _after_checks(orders, state, run)


def _after_checks(orders: Orders, state: StepState, run: RunState) -> Command:
    """Land what broke nothing; before that, look what the checks say about the tree before the work."""
    match examine(orders, state, run):
        case Verdict.FAILED:
            return _after_failed_checks(orders, state, run)
        case Verdict.FOUL:
            return _after_foul(orders, state, run) or _after_allowed(orders, state, run)
        case Verdict.PASSED:
            return _approved(orders, state, run)
        case command:
            return command


def _after_allowed(orders: Orders, state: StepState, run: RunState) -> Command:
    found = examine(orders, state, run, allowed=True)
    return _approved(orders, state, run) if isinstance(found, Verdict) else found


class Verdict(Enum):
    """What the checks say about the work: it broke nothing, it fails, or it passes only with the judge it changed."""

    PASSED = "passed"
    FAILED = "failed"
    FOUL = "foul"


def examine(orders: Orders, state: StepState, run: RunState, *, allowed: bool = False) -> RunCheck | Compare | Verdict:
    """What is still to be run before the work can be judged, or the verdict; `allowed` is a judge that was changed."""
    pending = _pending_check(orders, state)
    if pending is not None:
        return pending
    unknown = list_unknown(orders.checks, state)
    if unknown:
        return Compare(against=Against.BASE, checks=unknown)
    if len(list_inherited(orders.checks, state)) < len(state.failing()):
        return Verdict.FAILED
    rejudged = list_rejudged(orders.checks, state)
    if rejudged:
        return Compare(against=Against.BASE_JUDGE, checks=rejudged)
    doubted = list_doubted(state)
    if doubted:
        return Compare(against=Against.BASE, checks=doubted)
    if not allowed and tell_foul(state):
        return Verdict.FOUL
    left = list_pending(orders.step, orders.checks, state, run)
    return Compare(against=choose_base(state), checks=left) if left else Verdict.PASSED


def _pending_check(orders: Orders, state: StepState) -> RunCheck | None:
    """Checks not tried since the last attempt, then those that could not be run."""
    for number, check in enumerate(orders.checks):
        if number not in state.verdicts:
            return RunCheck(number=number, check=check)
    return _repeat(orders, state) if state.hindered is not None else None


def _repeat(orders: Orders, state: StepState) -> RunCheck | None:
    """The next check that could not be run, once more."""
    for number, verdict in sorted(state.verdicts.items()):
        if not is_work(verdict.ended.failure) and verdict.runs < MOST_RUNS:
            delay = CHECK_RULES[CheckFailure(verdict.ended.failure)].delay
            return RunCheck(number=number, check=orders.checks[number], delay=delay)
    return None


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
            return Finish(state="blocked", reason=f"the agent failed {_count(state.fixes + 1, 'time')}: {message}")
        case Reaction.BLOCK:
            return Finish(state="blocked", reason=f"{rule.means}: {message}")
        case Reaction.FAIL:
            return Finish(state="failed", reason=message or rule.means)


def _count(number: int, noun: str, ending: str = "s") -> str:
    return f"{number} {noun}" + ("" if number == 1 else ending)


def _after_failed_checks(orders: Orders, state: StepState, run: RunState) -> Command:
    hindered = state.hindered
    if hindered is not None:
        reason = explain(hindered.failure, command=hindered.command, evidence=hindered.evidence)
        return Finish(state="blocked", reason=reason, failure=hindered.failure)
    if state.fixes < orders.retries:
        return _attempt(orders, state, run, fixing=True)
    commands = ", ".join(ended.command for ended in state.faults())
    return Finish(state="blocked", reason=f"still failing after {_count(state.fixes, 'fix', 'es')}: {commands}")


def _after_foul(orders: Orders, state: StepState, run: RunState) -> Command | None:
    """What follows work that passes only because it changed its judge: its agent hears it once, then a person."""
    step = orders.step
    asked = run.find_gate(gates.JUDGE, step.id, state.attempts)
    if asked is None and not state.warned and state.fixes < orders.retries:
        return _attempt(orders, state, run, fixing=True)
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
            return None
        case gates.UNDO:
            return _attempt(orders, state, run, fixing=True)
        case _:
            return Finish(state="failed", reason=_rejection(asked.answer.comment), rejected=True)


def _approved(orders: Orders, state: StepState, run: RunState) -> Command:
    if orders.autonomy != "verbose":
        return Land()
    step = orders.step
    asked = run.find_gate(gates.APPROVAL, step.id, state.attempts)
    if asked is None:
        before = run.count_asked(gates.APPROVAL, step.id)
        opens = gates.approval(step, state.attempts, asked=before, verdict=_tell_verdict(orders, state))
        return Park(gate=opens.gate, opens=opens)
    if asked.answer is None:
        return Park(gate=asked.opened.gate)
    match asked.answer.choice:
        case gates.APPROVE:
            return Land()
        case gates.REVISE:
            return _attempt(orders, state, run, fixing=True)
        case _:
            return Finish(state="failed", reason=_rejection(asked.answer.comment), rejected=True)


def _tell_verdict(orders: Orders, state: StepState) -> str:
    """What the checks say about the work, for who decides whether it lands."""
    if not orders.checks:
        return "has no checks: nothing proves it"
    inherited = ", ".join(orders.checks[number].command for number in list_inherited(orders.checks, state))
    if inherited:
        return f"breaks nothing, but fails what failed before ({inherited})"
    void = ", ".join(ended.command for ended in state.void())
    return f"is not proved: its check changes the tree ({void})" if void else gates.PASSED


def _rejection(comment: str) -> str:
    return f"rejected: {comment}" if comment else "rejected by a person"
