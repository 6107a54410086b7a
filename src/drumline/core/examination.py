"""What the checks say about a step's work, and what has to be run before they can say it. Pure.

The rule: work lands only with a verdict about exactly the tree that it left.
"""

from __future__ import annotations

from enum import Enum

from drumline.core.baseline import (
    choose_base,
    list_doubted,
    list_inherited,
    list_pending,
    list_rejudged,
    list_unknown,
)
from drumline.core.checkfailure import CHECK_RULES, CheckFailure, is_work
from drumline.core.commands import Compare, RunCheck
from drumline.core.orders import Orders
from drumline.core.proof import Against
from drumline.core.state import RunState
from drumline.core.stepstate import StepState, tell_foul

MOST_RUNS = 2
"""How often a check that this machine cannot run is tried."""


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
