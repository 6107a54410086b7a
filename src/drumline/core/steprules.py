"""What the nodes of a step's flow do next. Pure: the same state gives the same command, on any machine.

A rule answers with a command, or says that its node is over. Budgets: only failures of the work itself (a failing
check, or the agent saying so) use up fixes; failures that pass by themselves wait 2 s, then 4 s; where an agent cannot
go on the next one takes over; a check that this machine cannot run is repeated once; what was killed from outside is
lost and done again, until that happens three times in a row; everything else stops the step with its reason. Before
each attempt the run's money is looked at.
"""

from __future__ import annotations

from drumline.core import gates, spending
from drumline.core.asking import ask
from drumline.core.attempts import Again, Timer, follow_up
from drumline.core.blocked import Reply
from drumline.core.checkfailure import CheckFailure
from drumline.core.commands import (
    Attempt,
    Command,
    Defer,
    Finish,
    Park,
    Prepare,
    Release,
)
from drumline.core.events import AttemptEnded, Event, GateAnswered, WorkLost
from drumline.core.examination import find_untried, is_untested
from drumline.core.foul import tell_foul
from drumline.core.ids import IMPLEMENT, DriverId
from drumline.core.lessons import match
from drumline.core.life import OPEN, Phase
from drumline.core.orders import Orders
from drumline.core.overstep import complain
from drumline.core.ownword import follow_blocker, tell_denial
from drumline.core.plaintext import count_noun
from drumline.core.plan import Step
from drumline.core.reviewing import tell_due
from drumline.core.rounds import begin_round
from drumline.core.routing import choose, raise_tier
from drumline.core.sharing import complain_broken
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.taskreport import ASK, MISSING
from drumline.core.taxonomy import MOST_KILLS, MOST_TIMEOUTS, RULES, Failure, Reaction
from drumline.core.verdicts import UNTESTED, find_approval
from drumline.core.vocabulary import OF_AGENTS, GateKind, StepEnd
from drumline.record import replace

KILLED = CheckFailure.KILLED.value


def find_stop(orders: Orders, state: StepState, run: RunState) -> Park | Finish | Release | None:
    """Why nothing may be done to the step now, whatever its node wants; None if nothing is in the way."""
    if state.phase is Phase.LANDED:
        return None
    if state.phase in OPEN:
        raise AssertionError(f"{orders.step.id} has an open intent in phase {state.phase.value}")
    if begin_round(orders, state, run) is not None:
        return Release(reason="another round begins")
    for gate in run.unanswered.values():
        if gate.opened.kind is GateKind.EDIT and gate.opened.step == orders.step.id:
            return Park(gate=gate.opened.gate)
    if state.kills >= MOST_KILLS:
        return Finish(state=StepEnd.BLOCKED, reason=explain_kills(state.kills, state.killed), failure=KILLED)
    return None


def prepare(state: StepState) -> Prepare | Finish | None:
    """The node `workspace`."""
    if state.phase is not Phase.WAITING:
        return None
    return Finish(state=StepEnd.BLOCKED, reason=state.trouble) if state.trouble else Prepare()


def work_on(orders: Orders, state: StepState, run: RunState, *, begun: bool, node: str = IMPLEMENT) -> Command | None:
    """A node of the step's agent; `begun` says that an attempt has ended in this visit. None if the work is done."""
    command = _work_on(orders, state, run, begun=begun)
    if not isinstance(command, Attempt):
        return command
    return _afford(replace(command, node=node), orders, state, run)


def _work_on(orders: Orders, state: StepState, run: RunState, *, begun: bool) -> Command | None:
    by_visit = state.asked is not None and state.asked.by_visit
    last = state.last if state.phase is Phase.WORKED and not by_visit else None
    if last is not None and last.failure:
        return _after_failure(orders, state, run, last)
    if last is not None and last.question:
        return _after_question(orders, state, run, last)
    if begun and last is not None and _lacks_report(orders, state, last):
        return replace(_attempt(orders, state, run), complaint=f"{MISSING}\n\n{ASK}", doubts=True)
    return None if begun else _attempt(orders, state, run, fixing=_is_fix(orders, state, run))


def _lacks_report(orders: Orders, state: StepState, last: AttemptEnded) -> bool:
    """Whether an agent that was to report has not, and was not asked for it yet."""
    asked = state.asked is not None and state.asked.doubts
    return orders.reports and not last.report and not last.denial and not last.unchanged and not asked


def _is_fix(orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether the next attempt is about what checks or a person found wrong with the last."""
    if state.phase is not Phase.WORKED:
        return False
    wrong = bool(state.faults()) or bool(tell_foul(state.judged)) or is_untested(orders, state)
    return (wrong and state.find_clash() is None) or _is_revised(orders, state, run)


def _is_revised(orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether a person asks for a change of this very work."""
    asked = find_approval(orders, state, run) if state.phase is Phase.WORKED else None
    return asked is not None and asked.answer is not None and asked.answer.choice == gates.REVISE


def explain_kills(kills: int, what: str) -> str:
    """The reason of a step whose work was killed too often."""
    return f"killed from outside {kills} times in a row: {what}; look whether memory ran out, then drumline resume"


def recover(state: StepState, driver: DriverId) -> list[Event]:
    """Close as lost what a dead driver left open."""
    return [WorkLost(what=state.phase.value, driver=driver)] if state.phase in OPEN else []


def _attempt(orders: Orders, state: StepState, run: RunState, *, delay: float = 0.0, fixing: bool = False) -> Attempt:
    chosen, revises, last = choose(orders.agents, state), _is_revised(orders, state, run), state.last
    attempt = Attempt(
        node=IMPLEMENT,
        attempt=state.attempts + 1,
        tier=raise_tier(chosen.tier, fix=0 if revises else state.fixes + fixing),
        agent=chosen.name,
        delay=delay,
        comment=_request(run, orders.step),
        session=state.session if chosen.name == state.agent else "",
        answers=_answers(run, orders.step),
        lessons=_recall(run, state) if fixing else {},
        complaint=UNTESTED if fixing and not state.faults() and is_untested(orders, state) else "",
        revises=revises,
    )
    if state.phase is Phase.WORKED and (told := complain(orders, state, run)) and not revises:
        return replace(attempt, complaint=told, oversteps=True)
    if state.phase is Phase.WORKED and (told := complain_broken(orders, state, run)) and not revises:
        return replace(attempt, complaint=told, supersedes=True)
    if due := _find_due(state, revises=revises):
        ended = last is not None and not last.failure and not last.question
        return replace(attempt, complaint=due, reviewed=ended)
    if last is None or not last.denial or fixing or state.phase is not Phase.WORKED or state.find_clash() is not None:
        return attempt
    return replace(attempt, complaint=tell_denial(last.denial), doubts=True)


def _recall(run: RunState, state: StepState) -> dict[str, str]:
    """The lessons about what fails now."""
    found = match(run.begun.lessons, state.faults()) if state.find_clash() is None else {}
    return {signature: lesson.name for signature, lesson in found.items()}


def _find_due(state: StepState, *, revises: bool) -> str:
    """What a review found about work that passes its checks, and that its agent has to put right."""
    passes = state.phase is Phase.WORKED and not state.faults() and state.find_clash() is None
    return tell_due(state) if passes and not revises else ""


def _afford(attempt: Attempt, orders: Orders, state: StepState, run: RunState) -> Command:
    """The attempt with what it may cost; a question where the money is spent."""
    step, own = orders.step.id, state.spent.values()
    left = spending.count_left(run, step, own)
    if left is None or left > 0:
        return replace(attempt, budget=left)
    if spending.is_refused(run):
        return Finish(state=StepEnd.BLOCKED, reason="the budget is spent; a person said not to proceed")
    spent = spending.count_spent(run, step, own)
    asks = gates.budget(spending.count_asked(run) + 1, spent=spent, allowed=spent + left)
    return Park(gate=asks.gate, opens=None if asks.gate in run.gates else asks)


def _answers(run: RunState, step: Step) -> tuple[Reply, ...]:
    """What agents asked about the step and a person answered; it holds for every further attempt."""
    asked = [g for g in run.gates.values() if g.opened.kind in OF_AGENTS and g.opened.step == step.id]
    return tuple(reply for gate in asked if (reply := gate.reply) is not None)


def _request(run: RunState, step: Step) -> str:
    """The change a person asked for last; it holds for every further attempt, also after one that was lost."""
    kinds = (GateKind.APPROVE, GateKind.UNCHANGED, GateKind.DENIED)
    asked = [g.answer for g in run.gates.values() if g.opened.kind in kinds and g.opened.step == step.id]
    wanted = (gates.REVISE, gates.RETRY)
    return next((a.comment for a in reversed(asked) if a is not None and a.choice in wanted and a.comment), "")


def _after_question(orders: Orders, state: StepState, run: RunState, last: AttemptEnded) -> Command:
    """Wait for the answer, then continue with it. Nothing has failed."""
    if last.stuck:
        return follow_blocker(orders, run, last) or _attempt(orders, state, run)
    opens = gates.question(orders.step, last.attempt, last.question, permissions=last.permissions)
    found = ask(orders, run, opens)
    return _attempt(orders, state, run) if isinstance(found, GateAnswered) else found


def _after_failure(orders: Orders, state: StepState, run: RunState, last: AttemptEnded) -> Command:
    if state.ran_dry:
        return _attempt(orders, state, run)
    failure = Failure(last.failure)
    match follow_up(orders.agents, state, failure):
        case Again(delay=delay):
            return _attempt(orders, state, run, delay=delay)
        case Timer(until=until):
            return Defer(until=until, reason=f"{RULES[failure].means}: {last.message}")
        case _:
            return _without_other(orders, state, run, last)


def _without_other(orders: Orders, state: StepState, run: RunState, last: AttemptEnded) -> Command:
    """What follows a failure where no agent can go on by itself, now or later."""
    rule, message = RULES[Failure(last.failure)], last.message
    match rule.reaction:
        case Reaction.GO_ON if state.timeouts <= MOST_TIMEOUTS:
            return find_untried(orders, state) or _attempt(orders, state, run)
        case Reaction.GO_ON:
            reason = f"{rule.means}, {count_noun(state.timeouts, 'time')}: {message}"
            return Finish(state=StepEnd.BLOCKED, reason=reason)
        case Reaction.WAIT:
            reason = f"{rule.means}, {state.waits} times in a row: {message}"
            return Finish(state=StepEnd.BLOCKED, reason=reason)
        case Reaction.FIX if state.fixes < orders.retries:
            return _attempt(orders, state, run, fixing=True)
        case Reaction.FIX:
            return Finish(
                state=StepEnd.BLOCKED, reason=f"the agent failed {count_noun(state.fixes + 1, 'time')}: {message}"
            )
        case Reaction.BLOCK:
            return Finish(state=StepEnd.BLOCKED, reason=f"{rule.means}: {message}", login=last.login)
        case Reaction.FAIL:
            return Finish(state=StepEnd.FAILED, reason=message or rule.means)
