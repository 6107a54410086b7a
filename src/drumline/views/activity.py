"""What the owner of a step is doing with it at this moment, read from the phase and the last entry of its stream."""

from __future__ import annotations

from drumline.core.events import AttemptStarted, CheckStarted
from drumline.core.ids import IMPLEMENT, StepId
from drumline.core.life import Phase
from drumline.core.orders import orders_for
from drumline.core.plaintext import name_some
from drumline.core.plan import Step
from drumline.core.queue import find_awaited
from drumline.core.sharing import add_shared
from drumline.core.stepstate import StepState
from drumline.record import Record
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.places import find_callee, visit_name
from drumline.views.snapshot import Snapshot, Walk

LONGEST_COMMAND = 60
_SPOKEN = ("prepare", "wait", "check", "land", "walk")
"""Nodes whose text names them."""


class Activity(Record):
    """A node, a few words, since when, and until when if it is only waiting."""

    node: str
    text: str
    since: float | None = None
    until: float | None = None

    @property
    def words(self) -> str:
        """The text, with the node before it where the text does not say it."""
        return self.text if self.node in _SPOKEN else f"{self.node}, {self.text}"


def _tell_turn(snapshot: Snapshot, step: StepId) -> Activity | None:
    """That it waits for others to land first, or to turn out not to; None if it does not."""
    queue = snapshot.run.queue
    awaited = find_awaited(queue, step)
    if awaited is None:
        return None
    entry = snapshot.latest.get(step)
    names = [ticket.step for ticket in queue.tickets]
    place = f"waits for its turn behind {awaited} (number {names.index(step) + 1} of {len(names)} in the landing queue)"
    clash = f"waits until {awaited} has landed, or does not: its work conflicts with that of {awaited}"
    return Activity(node="land", text=place if step in names else clash, since=entry.at if entry else None)


def activity(snapshot: Snapshot, step: StepId) -> Activity | None:
    """What is being done with an owned step; None if nobody has it."""
    if step not in snapshot.owners:
        return None
    if (turn := _tell_turn(snapshot, step)) is not None:
        return turn
    if step in snapshot.walks:
        return _walking(snapshot.walks[step])
    state = snapshot.steps.get(step, StepState())
    entry = snapshot.latest.get(step)
    since = entry.at if entry else None
    match state.phase:
        case Phase.WORKING:
            return _at_work(snapshot, step, state)
        case Phase.CHECKING:
            return Activity(node="check", text=_check(snapshot, step), since=since)
        case Phase.COMPARING:
            return Activity(node="check", text="checking the tree before the work", since=since)
        case Phase.MUTATING:
            return Activity(node="check", text="trying mutants of the work", since=since)
        case Phase.WORKED:
            return Activity(node="check", text="between checks", since=since)
        case Phase.LANDING | Phase.LANDED:
            return Activity(node="land", text="landing", since=since)
        case _:
            return Activity(node="prepare", text=_prepare(snapshot, state), since=since)


def _walking(walk: Walk) -> Activity:
    """The visits at work; one that called a flow is at work where that is."""
    inner = [key for key in walk.began if find_callee(walk, key) is None]
    since = min((walk.began[key] for key in inner), default=None)
    return Activity(node="walk", text=name_some(map(visit_name, inner)) or "about to go on", since=since)


def attempts(snapshot: Snapshot, step: StepId) -> int:
    """The number of the last attempt that began, in whatever round; one that was lost gave its number to the next."""
    finished = snapshot.run.finished.get(step)
    if finished is not None:
        return finished.attempts
    state = snapshot.steps.get(step)
    return state.tried if state is not None else 0


def fixes(snapshot: Snapshot, step: StepId) -> int:
    """How many of the attempts were fixes, in all rounds."""
    finished = snapshot.run.finished.get(step)
    state = snapshot.steps.get(step)
    return finished.fixes if finished is not None else state.all_fixes if state is not None else 0


def lost(snapshot: Snapshot, step: StepId) -> int:
    """How many attempts were cut short and do not count."""
    finished = snapshot.run.finished.get(step)
    state = snapshot.steps.get(step)
    return finished.lost if finished is not None else state.lost if state is not None else 0


def checks(snapshot: Snapshot, step: Step) -> tuple[int, int]:
    """How many checks passed on the tree as it is, of how many."""
    finished = snapshot.run.finished.get(step.id)
    if finished is not None and finished.checks_total:
        return finished.checks_passed, finished.checks_total
    state = snapshot.steps.get(step.id)
    shared = state.sharing if state is not None else ()
    total = len(add_shared(orders_for(snapshot.run, step), snapshot.run, shared).checks) + len(step.not_run)
    if state is None:
        return 0, total
    return sum(1 for number in range(total) if state.proves(number)), total


def _at_work(snapshot: Snapshot, step: StepId, state: StepState) -> Activity:
    entry = snapshot.latest.get(step)
    started = entry.event if entry else None
    if entry is None or not isinstance(started, AttemptStarted):
        return Activity(node=IMPLEMENT, text=_attempt(snapshot, step, state))
    begins = entry.at + started.delay
    if snapshot.now < begins:
        left = duration(begins - snapshot.now)
        return Activity(node="wait", text=f"attempt {started.attempt} in {left}", since=entry.at, until=begins)
    return Activity(node=started.node, text=_attempt(snapshot, step, state), since=begins)


def _prepare(snapshot: Snapshot, state: StepState) -> str:
    """A setup command may take minutes: a person wants to know that it is that."""
    setup = snapshot.run.begun.setup
    waits = state.phase is Phase.PREPARING and setup
    return f"preparing its workspace: $ {flatten(setup, LONGEST_COMMAND)}" if waits else "preparing its workspace"


def _attempt(snapshot: Snapshot, step: StepId, state: StepState) -> str:
    words = f"attempt {state.attempts + 1}"
    if state.fixes and not state.waits:
        words += f" (fix {state.fixes} of {snapshot.run.begun.retries})"
    return words


def _check(snapshot: Snapshot, step: StepId) -> str:
    entry = snapshot.latest.get(step)
    if entry is None or not isinstance(entry.event, CheckStarted):
        return "checking"
    run, state = snapshot.run, snapshot.steps.get(step)
    total = len(add_shared(orders_for(run, run.define(step)), run, state.sharing if state else ()).checks)
    return f"check {entry.event.check + 1} of {total}: {flatten(entry.event.command, LONGEST_COMMAND)}"
