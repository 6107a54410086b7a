"""How a step's work lands, or why it does not: the rule of the node `land`. Pure.

The rule: work lands on the head of the run branch only with a verdict about the tree that it has there.
"""

from __future__ import annotations

from collections.abc import Callable

from drumline.core import gates
from drumline.core.asking import ask
from drumline.core.commands import (
    AwaitTurn,
    Command,
    Compare,
    DropTicket,
    Finish,
    Land,
    Mutate,
    ProveCandidate,
    Rebase,
    Release,
    RunCheck,
    TakeTicket,
    Undo,
)
from drumline.core.events import GateAnswered, GateOpened
from drumline.core.examination import Verdict
from drumline.core.flaky import MOST_RUNS
from drumline.core.foul import tell_foul
from drumline.core.gates import SHORT
from drumline.core.ids import StepId
from drumline.core.life import Phase
from drumline.core.orders import Orders
from drumline.core.overstep import tell_stray
from drumline.core.ownword import NOT_DONE, is_denied
from drumline.core.plan import Step
from drumline.core.queue import (
    Drop,
    Enter,
    Form,
    Judged,
    Line,
    Prove,
    Repeat,
    Stand,
    Take,
    Wait,
    choose_turn,
)
from drumline.core.reviewing import tell_left
from drumline.core.rounds import reject
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.verdicts import NOTHING_DONE, UNTESTED, Judging, is_unchanged, judge_work, tell_since
from drumline.core.vocabulary import GateKind, OnConflict, StepEnd

MOST_NAMED = 5
MAESTRO = "maestro"
"""The format whose plans let a person decide about conflicts."""


def land(
    orders: Orders, state: StepState, run: RunState, look: Callable[[], Line] | None = None
) -> Command | Verdict | None:
    """The node `land`, for work that its checks let pass. None if it has landed.

    Where the head of the run branch has moved since the work's base, or others are about to move it, the work lines up
    and is judged on what the branch will be; a verdict says that it fails only together with what landed meanwhile.
    `look` finds the landing queue, where it is newer than what the run knows.
    """
    if state.phase is Phase.LANDED:
        return None
    refused = state.refused
    if refused is not None and refused.conflicts:
        return Verdict.FAILED
    if refused is not None and refused.behind is None:
        return Release(reason=refused.reason) if refused.retry else Finish(state=StepEnd.BLOCKED, reason=refused.reason)
    line = look() if look is not None else Line(queue=run.queue)
    found = judge_work(orders, state, run) if state.joined else Verdict.PASSED
    step = orders.step.id
    match choose_turn(line, _describe(step, state, found)):
        case Take(head=head):
            return TakeTicket(head=head)
        case Form(on=on, head=head):
            ahead = tuple(ticket.step for ticket in line.queue.list_ahead(step))
            return Rebase(onto=on, ahead=ahead, head=head)
        case Prove():
            passed = [v.ended.command for v in state.verdicts.values() if v.ended.exit_code == 0]
            return ProveCandidate(commands=tuple(passed))
        case Wait(step=other):
            return AwaitTurn(step=other)
        case Drop(step=other, cause=cause):
            return DropTicket(step=other, cause=cause)
        case Repeat():
            number = list_repeatable(state)[0]
            return RunCheck(number=number, check=orders.checks[number])
        case Enter():
            return Land()
        case _:
            return _conclude(orders, state, run, found)


def _conclude(orders: Orders, state: StepState, run: RunState, found: Judging) -> Command | Verdict:
    """What follows work that does not fit: it goes back to its agent, or a person is asked first."""
    if found is not Verdict.FAILED or not _asks_first(run):
        return found
    match ask(orders, run, _open_conflict(orders.step, state, run), blocks=tell_integration(state)):
        case GateAnswered(choice=gates.RETRY):
            return found
        case GateAnswered(comment=comment):
            return reject(comment)
        case waits:
            return waits


def _open_conflict(step: Step, state: StepState, run: RunState) -> GateOpened:
    """The question about work that does not fit: it names the files, the steps and their commits."""
    told = f"{tell_integration(state)}; {_tell_commits(state, run)}"
    return GateOpened(
        gate=gates.name_gate(GateKind.CONFLICT, step.id),
        kind=GateKind.CONFLICT,
        question=f"{step.id} ({step.title}): {told}. Let its agent make it fit (retry), or reject the step?",
        options=(gates.RETRY, gates.REJECT),
        step=step.id,
        about=state.attempts,
        paths=state.conflicts,
    )


def _asks_first(run: RunState) -> bool:
    """Whether a person is asked before an agent makes work fit; so it is for maestro plans unless a setting says no."""
    return (run.begun.on_conflict or (OnConflict.ASK if run.plan.format == MAESTRO else None)) is OnConflict.ASK


def _tell_commits(state: StepState, run: RunState) -> str:
    """Where both sides can be seen."""
    own = f"its own work is {state.change[:SHORT]}" if state.change is not None else ""
    since = [run.finished[step] for step in state.since if step in run.finished]
    theirs = [f"{ended.step} is {ended.commit[:SHORT]}" for ended in since if ended.commit is not None]
    return ", ".join(part for part in (own, *theirs[:MOST_NAMED]) if part)


def list_repeatable(state: StepState) -> list[int]:
    """The failing checks, by their numbers, that may be repeated for the sake of those behind in the queue."""
    return [number for number, v in sorted(state.verdicts.items()) if v.ended.failed and v.runs <= MOST_RUNS]


def _describe(step: StepId, state: StepState, found: Judging) -> Stand:
    """The step as the queue sees it; a check that fails is repeated for the sake of those behind it once."""
    if state.base is None or state.tree is None:
        raise AssertionError(f"{step} wants to land and has no work")
    judged = Judged.OPEN if isinstance(found, RunCheck | Compare | Mutate | Undo) else Judged.FAILED
    again = [state.verdicts[number] for number in list_repeatable(state)]
    return Stand(
        step=step,
        base=state.base,
        tree=state.tree,
        judged=Judged.PASSED if found is Verdict.PASSED else judged,
        joined=state.joined,
        behind=state.refused.behind if state.refused is not None else None,
        failing=tuple(v.ended.command for v in again) if found is Verdict.FAILED and not state.conflicts else (),
    )


def find_refusal(orders: Orders, state: StepState, run: RunState) -> str:
    """Why the work may not land, whatever the flow says; empty if it may."""
    stray = tell_stray(orders, state, run)
    if stray:
        return stray
    if left := tell_left(state):
        return left
    if state.joined:  # a driver died while the work was judged on the new head: that goes on
        return ""
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
    with_what = tell_since(state)
    if state.refused is not None:
        kind = f"conflicts {with_what}" if state.since else "conflict markers"  # an agent may write some by itself
        return f"{kind} are left in {', '.join(state.conflicts[:MOST_NAMED])}"
    if state.conflicts:
        return f"its changes conflict {with_what} in {', '.join(state.conflicts[:MOST_NAMED])}"
    failing = ", ".join(ended.command for ended in state.failing())
    return f"its checks pass alone and fail together {with_what}: {failing}"
