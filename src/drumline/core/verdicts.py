"""What follows what the checks say about a step's work: the rule of the node `check`. Pure.

The rule: work that only seems right (its judge was changed, nothing was changed, its agent denies it) goes back to its
agent or to a person; it never lands because nobody asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core import gates
from drumline.core.asking import ask, is_asked
from drumline.core.baseline import list_inherited
from drumline.core.checkfailure import explain
from drumline.core.commands import Compare, Finish, Mutate, Park, RunCheck, Undo
from drumline.core.corrections import is_asked_for, list_tried, may_heal
from drumline.core.events import GateAnswered, GateOpened
from drumline.core.examination import Verdict, examine
from drumline.core.firstlines import tell_first
from drumline.core.flow.model import Json
from drumline.core.foul import tell_foul
from drumline.core.life import Phase
from drumline.core.orders import Orders
from drumline.core.overstep import complain, follow_stray, tell_stray
from drumline.core.ownword import NOT_DONE, follow_denial, is_denied
from drumline.core.plaintext import count_noun
from drumline.core.products import tell_ignored
from drumline.core.prompt import write_feedback
from drumline.core.roles import only_reads
from drumline.core.rounds import find_answer, reject
from drumline.core.sharing import complain_broken
from drumline.core.state import Gate, RunState
from drumline.core.stepfold import UNCHANGED
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import Failure
from drumline.core.vocabulary import GateKind, Mutants, StepEnd

UNTESTED = "tests are part of this step, and none was added or changed"
MOST_INTEGRATIONS = 2
"""How many attempts work gets that fails only together with what landed meanwhile."""
NOTHING_DONE = "its agent said that it was done, but no file had changed"


Judging = RunCheck | Compare | Mutate | Undo | Park | Finish | Verdict
"""What a node that judges the work comes to, or does next."""


def judge_work(orders: Orders, state: StepState, run: RunState) -> Judging:
    """The node `check` without commands of its own: what is to be run, who is asked, or the verdict."""
    strayed = follow_stray(orders, state, run)
    if strayed is not None:
        return strayed
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
    foul = tell_foul(state.judged)
    opens = gates.judge(orders.step, state.about, foul=foul)
    if not state.warned and state.fixes < orders.retries and not is_asked(run, opens):
        return Verdict.FOUL
    match ask(orders, run, opens, blocks=foul):
        case GateAnswered(choice=gates.ALLOW):
            found = examine(orders, state, run, allowed=True)
            return _pass(orders, state) if found is Verdict.PASSED else found
        case GateAnswered(choice=gates.UNDO):
            return Verdict.FOUL
        case GateAnswered(comment=comment):
            return reject(comment)
        case waits:
            return waits


def is_unchanged(orders: Orders, state: StepState) -> bool:
    """Whether a step that should change something has changed nothing."""
    should = orders.lands and not only_reads(orders.step.role)
    return should and state.phase is not Phase.LANDED and state.tree == state.ready


def _after_nothing(orders: Orders, state: StepState, run: RunState) -> Park | Finish | Verdict:
    """What follows work that changed nothing, though its checks pass: a person says what that means."""
    ignored = f"; {tell_ignored(state.last.ignored)}" if state.last and state.last.ignored else ""
    told = f"{tell_verdict(orders, state)}; {NOTHING_DONE}{ignored}"
    opens = gates.unchanged(orders.step, state.about, told=told)
    match ask(orders, run, opens, blocks=f"{NOTHING_DONE}{ignored}"):
        case GateAnswered(choice=gates.ALREADY_DONE):
            return Verdict.PASSED
        case GateAnswered(choice=gates.RETRY):
            return Verdict.UNCHANGED
        case GateAnswered(comment=comment):
            return Finish(state=StepEnd.SKIPPED, reason=comment or NOTHING_DONE)
        case waits:
            return waits


def may_fix(orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether the agent gets another try at work that failed; also if a person wants it to try once more."""
    if (is_denied(state) and not state.doubted and not state.faults()) or complain(orders, state, run):
        return True
    if complain_broken(orders, state, run):
        return True
    wanted = {GateKind.JUDGE: gates.UNDO, GateKind.UNCHANGED: gates.RETRY, GateKind.DENIED: gates.RETRY}
    left = may_integrate(orders, state, run) if state.find_clash() is not None else state.fixes < orders.retries
    return left or any(find_answer(run, kind, orders.step, state) == again for kind, again in wanted.items())


def find_approval(orders: Orders, state: StepState, run: RunState) -> Gate | None:
    """The question to a person whether this very work lands; None if it was not asked."""
    return run.find_gate(GateKind.APPROVE, orders.step.id, state.about)


def open_approval(orders: Orders, state: StepState, run: RunState) -> GateOpened:
    """That question, to be asked; the one that was asked already, if there is one."""
    asked = find_approval(orders, state, run)
    if asked is not None:
        return asked.opened
    before = run.count_asked(GateKind.APPROVE, orders.step.id)
    return gates.approval(orders.step, state.about, asked=before, verdict=tell_verdict(orders, state))


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


def may_integrate(orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether the agent gets another try at work that fails only together with what landed meanwhile."""
    return state.integrations < MOST_INTEGRATIONS or bool(complain_broken(orders, state, run))


def describe(verdict: Verdict, orders: Orders, state: StepState, run: RunState) -> Mapping[str, Json]:
    """The fields of `check`: `again` is another try of the agent, `heal` a corrective step that may help."""
    asked = is_asked_for(run, orders.step.id)
    faults = () if verdict is Verdict.PASSED else state.faults()
    missing = UNTESTED if verdict is Verdict.UNTESTED else ""
    stray = tell_stray(orders, state, run) if verdict is Verdict.FOREIGN else ""
    plain = {Verdict.UNCHANGED: UNCHANGED, Verdict.DENIED: NOT_DONE, Verdict.FOREIGN: stray}
    told = tell_foul(state.judged) if verdict is Verdict.FOUL else plain.get(verdict, missing)
    return {
        "passed": verdict is Verdict.PASSED,
        "verdict": tell_verdict(orders, state) if verdict is Verdict.PASSED else stray or "fails its checks",
        "failed": ", ".join([*(ended.command for ended in faults), *filter(None, (missing, stray))]),
        "output": "\n".join(ended.output for ended in faults),
        "feedback": "\n\n".join(part for part in (told, write_feedback(faults)) if part),
        "again": not asked and may_fix(orders, state, run),
        "heal": _helps(verdict, orders, state, run),
        "fixes": state.fixes,
        "fixes_left": max(0, orders.retries - state.fixes),
        "class": Failure.VALIDATION.value,
        "tried": tell_tries(state, in_all=asked),
        "first": tell_first(faults),
        "ways": "".join(f";\ntried: {told}" for told in list_tried(run, orders.step.id)),
    }


def _helps(verdict: Verdict, orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether a corrective step may help: its checks fail, and not only together with what landed meanwhile."""
    fails = verdict is Verdict.FAILED and bool(state.failing()) and state.find_clash() is None
    return fails and may_heal(orders.step, run, retries=orders.retries)


def tell_tries(state: StepState, *, in_all: bool = False) -> str:
    """How often the agent was asked to put right what fails, in words: in this round, or `in_all` of them."""
    if state.clash is None:
        return count_noun(state.all_fixes if in_all else state.fixes, "fix", "es")
    return f"{count_noun(state.integrations, 'attempt')} to let it pass {tell_since(state)}"


def tell_since(state: StepState) -> str:
    """What landed since the base of work that passes alone and fails with it."""
    since = ", ".join(state.since)
    return f"with what landed since its base ({since})" if since else "with what landed since its base"
