"""Checks that pass and fail on the same tree: when a red one is tried again, and what is known of each.

The rule: a red check is repeated only where something speaks against its verdict, and once for a tree: an honest
failure costs no second run. A check whose verdict changes on one tree says nothing against the work.
"""

from __future__ import annotations

import re

from drumline.core.checkfailure import is_work
from drumline.core.kinds import judges
from drumline.core.orders import Orders
from drumline.core.state import RunState
from drumline.core.stepstate import CheckResult, StepState
from drumline.core.tally import add_tallies, digest_command
from drumline.patterns import compile_late

MOST_RUNS = 2
"""How often a check runs on one tree if its verdict is in doubt, or if this machine cannot run it."""
_UNSTEADY = compile_late(
    r"\bflaky\b|\btimed? ?out\b|\btimeout ?error\b|\bdeadline exceeded\b|\bETIMEDOUT\b|\bECONNRESET\b"
    r"|connection reset by peer|resource temporarily unavailable|database is locked|\bdeadlock detected\b"
    r"|too many open files",
    re.IGNORECASE,
)
"""Words of tests that depend on time or on what else happens on the machine."""


def is_doubtful(number: int, orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether a check that fails is to be tried once more before its verdict counts."""
    verdict, check = state.verdicts[number], orders.checks[number]
    if not _may_repeat(verdict) or not judges(check):
        return False
    judged_together = state.joined or orders.before is not None
    return judged_together or verdict.flaky or _has_flaked(check.command, run) or is_unsteady(verdict.ended.output)


def contradicts(state: StepState, command: str, tree: str, *, passed: bool) -> bool:
    """Whether a verdict is another one than the last that the check gave on this tree."""
    return state.seen.get(command, (tree, passed)) == (tree, not passed)


def list_flaky(run: RunState) -> frozenset[str]:
    """The digests of checks that have changed their verdict on one tree, as far as the run knows."""
    here = add_tallies(tally for finished in run.finished.values() for tally in finished.tallies)
    return frozenset({*run.begun.flaky, *(check for check, tally in here.items() if tally.changed)})


def _may_repeat(verdict: CheckResult) -> bool:
    ended = verdict.ended
    red = ended.exit_code is not None and ended.failed and is_work(ended.failure)
    return red and verdict.runs < MOST_RUNS


def _has_flaked(command: str, run: RunState) -> bool:
    return digest_command(command) in list_flaky(run)


def is_unsteady(output: str) -> bool:
    """Whether what a check printed speaks of time, or of what else happens on the machine."""
    return _UNSTEADY.search(output) is not None
