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
from drumline.core.blocked import Reply
from drumline.core.checkfailure import CheckFailure, explain
from drumline.core.commands import (
    Attempt,
    Command,
    Compare,
    Defer,
    Finish,
    Land,
    Mutate,
    Park,
    Prepare,
    Rebase,
    Release,
    RunCheck,
)
from drumline.core.events import AttemptEnded, Event, GateOpened, WorkLost
from drumline.core.examination import Verdict, examine, find_untried, is_untested
from drumline.core.foul import tell_foul
from drumline.core.ids import DriverId
from drumline.core.life import OPEN, Phase
from drumline.core.orders import Orders
from drumline.core.ownword import follow_blocker, follow_denial, is_denied, tell_denial
from drumline.core.plan import Step
from drumline.core.products import tell_ignored
from drumline.core.roles import only_reads
from drumline.core.rounds import begin_round, find_answer
from drumline.core.routing import choose, raise_tier
from drumline.core.state import Gate, RunState
from drumline.core.stepstate import StepState
from drumline.core.taskreport import ASK, MISSING
from drumline.core.taxonomy import MOST_KILLS, MOST_TIMEOUTS, RULES, Failure, Reaction
from drumline.core.words import OF_AGENTS, GateKind, Mutants, StepEnd
from drumline.record import replace

NODE = "implement"
NOTHING_DONE = "its agent said that it was done, but no file had changed"
UNTESTED = "tests are part of this step, and none was added or changed"
KILLED = CheckFailure.KILLED.value
MOST_INTEGRATIONS = 2
"""How many attempts work gets that fails only together with what landed meanwhile."""
MOST_NAMED = 5

Judging = RunCheck | Compare | Mutate | Park | Finish | Verdict
"""What a node that judges the work comes to, or does next."""


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


def judge_work(orders: Orders, state: StepState, run: RunState) -> Judging:
    """The node `check` without commands of its own: what is to be run, who is asked, or the verdict."""
    match examine(orders, state, run):
        case Verdict.FAILED if state.hindered is not None:
            hindered = state.hindered
            reason = explain(hindered.failure, command=hindered.command, evidence=hindered.evidence)
            return Finish(state=StepEnd.BLOCKED, reason=reason, failure=hindered.failure)
        case Verdict.FOUL:
            return _after_foul(orders, state, run)
        case Verdict.PASSED | Verdict.UNTESTED if is_unchanged(orders, state):
            return _after_nothing(orders, state, run)
        case Verdict.PASSED if state.last is not None and state.last.denial:
            found = follow_denial(orders, state, run, state.last.denial)
            return _pass(orders, state) if found is Verdict.PASSED else found
        case Verdict.PASSED:
            return _pass(orders, state)
        case found:
            return found


def _pass(orders: Orders, state: StepState) -> Mutate | Verdict:
    """What follows work that may land: where that is asked for, mutants of it are tried first."""
    return Mutate() if orders.mutants is Mutants.GATE and state.mutants is None else Verdict.PASSED


def _after_foul(orders: Orders, state: StepState, run: RunState) -> Judging:
    """What follows work that passes only because it changed its judge: its agent hears it once, then a person."""
    step = orders.step
    asked = run.find_gate(GateKind.JUDGE, step.id, state.attempts)
    if asked is None and not state.warned and state.fixes < orders.retries:
        return Verdict.FOUL
    if asked is None:
        before = run.count_asked(GateKind.JUDGE, step.id)
        foul = tell_foul(state.judged)
        opens = gates.judge(step, state.attempts, asked=before, foul=foul)
        if orders.autonomy == "autopilot":
            return Finish(state=StepEnd.BLOCKED, reason=foul, opens=opens)
        return Park(gate=opens.gate, opens=opens)
    if asked.answer is None:
        return Park(gate=asked.opened.gate)
    match asked.answer.choice:
        case gates.ALLOW:
            found = examine(orders, state, run, allowed=True)
            return _pass(orders, state) if found is Verdict.PASSED else found
        case gates.UNDO:
            return Verdict.FOUL
        case _:
            return Finish(state=StepEnd.FAILED, reason=explain_rejection(asked.answer.comment), rejected=True)


def is_unchanged(orders: Orders, state: StepState) -> bool:
    """Whether a step that should change something has changed nothing."""
    should = orders.lands and not only_reads(orders.step.role)
    return should and state.phase is not Phase.LANDED and state.tree == state.ready


def _after_nothing(orders: Orders, state: StepState, run: RunState) -> Park | Finish | Verdict:
    """What follows work that changed nothing, though its checks pass: a person says what that means."""
    step = orders.step
    asked = run.find_gate(GateKind.UNCHANGED, step.id, state.attempts)
    if asked is None:
        before = run.count_asked(GateKind.UNCHANGED, step.id)
        ignored = f"; {tell_ignored(state.last.ignored)}" if state.last and state.last.ignored else ""
        told = f"{tell_verdict(orders, state)}; {NOTHING_DONE}{ignored}"
        opens = gates.unchanged(step, state.attempts, asked=before, told=told)
        if orders.autonomy == "autopilot":
            return Finish(state=StepEnd.BLOCKED, reason=f"{NOTHING_DONE}{ignored}", opens=opens)
        return Park(gate=opens.gate, opens=opens)
    if asked.answer is None:
        return Park(gate=asked.opened.gate)
    match asked.answer.choice:
        case gates.ALREADY_DONE:
            return Verdict.PASSED
        case gates.RETRY:
            return Verdict.UNCHANGED
        case _:
            return Finish(state=StepEnd.SKIPPED, reason=asked.answer.comment or NOTHING_DONE)


def may_fix(orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether the agent gets another try at work that failed; also if a person wants it to try once more."""
    if is_denied(state) and not state.doubted and not state.faults():
        return True
    wanted = {GateKind.JUDGE: gates.UNDO, GateKind.UNCHANGED: gates.RETRY, GateKind.DENIED: gates.RETRY}
    left = may_integrate(state) if state.find_clash() is not None else state.fixes < orders.retries
    return left or any(find_answer(run, kind, orders.step, state) == again for kind, again in wanted.items())


def find_approval(orders: Orders, state: StepState, run: RunState) -> Gate | None:
    """The question to a person whether this very work lands; None if it was not asked."""
    return run.find_gate(GateKind.APPROVE, orders.step.id, state.attempts)


def open_approval(orders: Orders, state: StepState, run: RunState) -> GateOpened:
    """That question, to be asked; the one that was asked already, if there is one."""
    asked = find_approval(orders, state, run)
    if asked is not None:
        return asked.opened
    before = run.count_asked(GateKind.APPROVE, orders.step.id)
    return gates.approval(orders.step, state.attempts, asked=before, verdict=tell_verdict(orders, state))


def land(orders: Orders, state: StepState, run: RunState) -> Command | Verdict | None:
    """The node `land`, for work that its checks let pass. None if it has landed.

    Where the head of the run branch has moved since the work's base, the work is put on it and judged there first; a
    verdict says that it fails only together with what landed meanwhile.
    """
    if state.phase is Phase.LANDED:
        return None
    refused = state.refused
    if refused is not None and refused.behind is not None:
        return Rebase(onto=refused.behind)
    if refused is not None and refused.conflicts:
        return Verdict.FAILED
    if refused is not None:
        return Release(reason=refused.reason) if refused.retry else Finish(state=StepEnd.BLOCKED, reason=refused.reason)
    found = judge_work(orders, state, run) if state.joined else Verdict.PASSED
    return Land() if found is Verdict.PASSED else found


def may_integrate(state: StepState) -> bool:
    """Whether the agent gets another try at work that fails only together with what landed meanwhile."""
    return state.integrations < MOST_INTEGRATIONS


def tell_integration(state: StepState) -> str:
    """Why work that passed by itself does not land."""
    with_what = _tell_since(state)
    if state.refused is not None:
        return f"conflict markers are left in {', '.join(state.conflicts[:MOST_NAMED])}"
    if state.conflicts:
        return f"its changes conflict {with_what} in {', '.join(state.conflicts[:MOST_NAMED])}"
    failing = ", ".join(ended.command for ended in state.failing())
    return f"its checks pass alone and fail together {with_what}: {failing}"


def tell_tries(state: StepState, *, in_all: bool = False) -> str:
    """How often the agent was asked to put right what fails, in words: in this round, or `in_all` of them."""
    if state.clash is None:
        return count_noun(state.all_fixes if in_all else state.fixes, "fix", "es")
    return f"{count_noun(state.integrations, 'attempt')} to let it pass {_tell_since(state)}"


def _tell_since(state: StepState) -> str:
    since = ", ".join(state.moved.since) if state.moved else ""
    return f"with what landed since its base ({since})" if since else "with what landed since its base"


def explain_kills(kills: int, what: str) -> str:
    """The reason of a step whose work was killed too often."""
    return f"killed from outside {kills} times in a row: {what}; look whether memory ran out, then drumline resume"


def recover(state: StepState, driver: DriverId) -> list[Event]:
    """Close as lost what a dead driver left open."""
    return [WorkLost(what=state.phase.value, driver=driver)] if state.phase in OPEN else []


def _attempt(orders: Orders, state: StepState, run: RunState, *, delay: float = 0.0, fixing: bool = False) -> Attempt:
    chosen, revises, last = choose(orders.agents, state), _is_revised(orders, state, run), state.last
    attempt = Attempt(
        node=NODE,
        attempt=state.attempts + 1,
        tier=raise_tier(chosen.tier, fix=0 if revises else state.fixes + fixing),
        agent=chosen.name,
        delay=delay,
        comment=_wish(run, orders.step),
        session=state.session if chosen.name == state.agent else "",
        answers=_answers(run, orders.step),
        complaint=UNTESTED if fixing and not state.faults() and is_untested(orders, state) else "",
        revises=revises,
    )
    if last is None or not last.denial or fixing or state.phase is not Phase.WORKED or state.find_clash() is not None:
        return attempt
    return replace(attempt, complaint=tell_denial(last.denial), doubts=True)


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


def _wish(run: RunState, step: Step) -> str:
    """The change a person asked for last; it holds for every further attempt, also after one that was lost."""
    kinds = (GateKind.APPROVE, GateKind.UNCHANGED, GateKind.DENIED)
    asked = [g.answer for g in run.gates.values() if g.opened.kind in kinds and g.opened.step == step.id]
    wanted = (gates.REVISE, gates.RETRY)
    return next((a.comment for a in reversed(asked) if a is not None and a.choice in wanted and a.comment), "")


def _after_question(orders: Orders, state: StepState, run: RunState, last: AttemptEnded) -> Command:
    """Wait for the answer, then go on with it. Nothing has failed."""
    if last.stuck:
        return follow_blocker(orders, run, last) or _attempt(orders, state, run)
    step = orders.step
    asked = run.find_gate(GateKind.QUESTION, step.id, last.attempt)
    if asked is None:
        before = run.count_asked(GateKind.QUESTION, step.id)
        opens = gates.question(step, last.attempt, last.question, asked=before, permissions=last.permissions)
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


def count_noun(number: int, noun: str, ending: str = "s") -> str:
    return f"{number} {noun}" + ("" if number == 1 else ending)


def tell_verdict(orders: Orders, state: StepState) -> str:
    """What the checks say about the work, for who decides whether it lands."""
    if not orders.checks:
        return "has no checks: nothing proves it"
    found = list_inherited(orders.checks, state, last=orders.last)
    inherited = ", ".join(orders.checks[number].command for number in found)
    if inherited:
        return f"breaks nothing, but fails what failed before ({inherited})"
    void = state.void()
    return f"is not proved: its check {void[0].tell_void()}" if void else gates.PASSED


def explain_rejection(comment: str) -> str:
    return f"rejected: {comment}" if comment else "rejected by a person"
