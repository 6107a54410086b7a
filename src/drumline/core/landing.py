"""How a step's work lands, or why it does not: the rule of the node `land`. Pure.

The rule: work lands on the head of the run branch only with a verdict about the tree that it has there.
"""

from __future__ import annotations

from drumline.core.commands import Command, Compare, Finish, Land, Mutate, Rebase, Release, RunCheck
from drumline.core.examination import Verdict
from drumline.core.foul import tell_foul
from drumline.core.life import Phase
from drumline.core.orders import Orders
from drumline.core.overstep import tell_stray
from drumline.core.ownword import NOT_DONE, is_denied
from drumline.core.plaintext import count_noun
from drumline.core.reviewing import tell_left
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.verdicts import NOTHING_DONE, UNTESTED, is_unchanged, judge_work
from drumline.core.words import StepEnd

MOST_NAMED = 5


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


def find_refusal(orders: Orders, state: StepState, run: RunState) -> str:
    """Why the work may not land, whatever the flow says; empty if it may."""
    stray = tell_stray(orders, state, run)
    if stray:
        return stray
    if state.joined:  # a driver died while the work was judged on the new head: that goes on
        return ""
    if left := tell_left(state):
        return left
    match judge_work(orders, state, run):
        case RunCheck(check=pending):
            return f"the check `{pending.command}` has not run since the work was changed last"
        case Compare():
            return "its checks were not compared with the tree before the work; a `check` node does that"
        case Mutate():
            return "mutants of it were not tried; a `check` node does that"
        case Verdict.PASSED:
            return ""
        case Verdict.FAILED:
            return f"checks fail: {', '.join(ended.command for ended in state.failing())}"
        case Finish(reason=reason):
            return reason
        case _ if is_unchanged(orders, state):
            return f"{NOTHING_DONE}; a `check` node asks a person what that means"
        case _:
            return tell_foul(state.judged) or (NOT_DONE if is_denied(state) else UNTESTED)


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
