"""What the checks say about a step's work, and what has to be run before they can say it. Pure.

The rule: work lands only with a verdict about exactly the tree that it left.
"""

from __future__ import annotations

from enum import Enum

from drumline.core.baseline import (
    choose_base,
    is_inherited,
    list_inherited,
    list_pending,
    list_rejudged,
    list_unknown,
)
from drumline.core.checkfailure import CHECK_RULES, CheckFailure, is_work
from drumline.core.commands import Compare, RunCheck
from drumline.core.flaky import MOST_RUNS, is_doubtful
from drumline.core.foul import list_doubted, list_unseen, tell_foul
from drumline.core.heldout import HELD_OUT
from drumline.core.judge import has_tests
from drumline.core.kinds import EVERYWHERE, FINALLY, judges
from drumline.core.orders import Orders
from drumline.core.proof import Against
from drumline.core.sharing import list_superseded
from drumline.core.state import RunState
from drumline.core.stepstate import StepState


class Verdict(Enum):
    """What the checks say about the work: it broke nothing, it fails, it passes only with the judge it changed.

    Or they pass, and there is no work, or no test although tests are part of it, or its agent says that it is not done.
    Or nobody has asked them yet, because the work changes files of others.
    """

    PASSED = "passed"
    FAILED = "failed"
    FOUL = "foul"
    UNCHANGED = "unchanged"
    UNTESTED = "untested"
    DENIED = "denied"
    FOREIGN = "foreign"


def examine(orders: Orders, state: StepState, run: RunState, *, allowed: bool = False) -> RunCheck | Compare | Verdict:
    """What is still to be run before the work can be judged, or the verdict; `allowed` is a judge that was changed."""
    if state.conflicts:
        return Verdict.FAILED
    untried = find_untried(orders, state)
    if untried is not None:
        return untried
    failing = state.failing()
    pending = _find_repeatable(orders, state, run) if failing else None
    if pending is not None:
        return pending
    if not orders.lands:
        return _judge_head(orders, state)
    if failing:
        unknown = list_unknown(orders.checks, state, last=orders.last)
        if unknown:
            return Compare(against=Against.BASE, checks=unknown)
        inherited = list_inherited(orders.checks, state, last=orders.last)
        if len(inherited) + len(list_superseded(orders, state, run)) < len(failing):
            return Verdict.FAILED
    rejudged = list_rejudged(orders.checks, state)
    if rejudged:
        return Compare(against=Against.BASE_JUDGE, checks=rejudged)
    judged = state.judged
    doubted = list_doubted(judged) or list_unseen(judged)
    if doubted:
        return Compare(against=Against.BASE, checks=doubted)
    if not allowed and tell_foul(judged):
        return Verdict.FOUL
    if is_untested(orders, state):
        return Verdict.UNTESTED
    left = list_pending(orders.step, orders.checks, state, run)
    return Compare(against=choose_base(state), checks=left) if left else Verdict.PASSED


def is_untested(orders: Orders, state: StepState) -> bool:
    """Whether tests are part of the task, and the work neither adds nor changes one."""
    return orders.step.tests and orders.lands and not has_tests(state.touched)


def _judge_head(orders: Orders, state: StepState) -> Compare | Verdict:
    """What the checks say about the run branch itself, on which nobody works.

    What a step's own check says there is for a person to accept: a later step may have been meant to change it. The
    others must pass, unless they failed before the run; what is held out, and what the plan lists for its end, must
    pass in any case.
    """
    failing = [n for n, verdict in sorted(state.verdicts.items()) if verdict.ended.failed]
    if orders.before is None or state.hindered is not None:
        return Verdict.FAILED if failing else Verdict.PASSED
    shared = [n for n in failing if orders.checks[n].source in EVERYWHERE]
    if any(orders.checks[n].source in HELD_OUT | {FINALLY} for n in failing):
        return Verdict.FAILED
    known = state.compared.get(Against.BASE, {})
    unknown = tuple(n for n in shared if n not in known and is_work(state.verdicts[n].ended.failure))
    if unknown:
        return Compare(against=Against.BASE, checks=unknown)
    return Verdict.PASSED if all(n in known and is_inherited(known[n]) for n in shared) else Verdict.FAILED


def _find_repeatable(orders: Orders, state: StepState, run: RunState) -> RunCheck | None:
    """Where checks fail: the next that could not be run, or whose verdict is in doubt."""
    hindered = _repeat(orders, state) if state.hindered is not None else None
    return hindered or _find_doubtful(orders, state, run)


def find_untried(orders: Orders, state: StepState) -> RunCheck | None:
    """The first check that has not run since the last attempt."""
    for number, check in enumerate(orders.checks):
        if number not in state.verdicts and (judges(check) or state.tree != state.ready):
            return RunCheck(number=number, check=check)
    return None


def _find_doubtful(orders: Orders, state: StepState, run: RunState) -> RunCheck | None:
    """The next check that fails and whose verdict is in doubt, once more."""
    doubtful = (number for number in sorted(state.verdicts) if is_doubtful(number, orders, state, run))
    return next((RunCheck(number=number, check=orders.checks[number]) for number in doubtful), None)


def _repeat(orders: Orders, state: StepState) -> RunCheck | None:
    """The next check that could not be run, once more."""
    for number, verdict in sorted(state.verdicts.items()):
        if not is_work(verdict.ended.failure) and verdict.runs < MOST_RUNS:
            delay = CHECK_RULES[CheckFailure(verdict.ended.failure)].delay
            return RunCheck(number=number, check=orders.checks[number], delay=delay)
    return None
