"""The landing queue of a run: a chain of candidates, each on the one before it. Pure.

The rule: a candidate is judged on what the run branch will be if all ahead of it land, and lands only if they did. The
one that fails leaves the chain alone; those behind it are formed again, and none of them goes back to its agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum

from drumline.core import events as ev
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.vocabulary import DropCause
from drumline.record import Record, field, replace

FIRST_WINDOW = 8
"""How many candidates may be formed before anything is known about the run's steps."""
LEAST_WINDOW, MOST_WINDOW = 2, 64
MOST_MOVES = 64
"""How many moves of the run branch are remembered."""


class Ticket(Record):
    """A step in the queue, with its candidate once there is one.

    `proved` are the checks that it has passed, `files` those that it changes.
    """

    step: StepId
    commit: Commit | None = None
    tree: Tree | None = None
    on: Commit | None = None
    proved: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()


class Move(Record):
    """The run branch moved to `new`; `old` is None where only git told it."""

    new: Commit
    old: Commit | None = None


class Queue(Record):
    """The steps that line up, first to land first. `clashes` are candidates that steps outside of it do not fit to."""

    tickets: tuple[Ticket, ...] = ()
    window: int = FIRST_WINDOW
    moves: tuple[Move, ...] = ()
    clashes: dict[StepId, Commit] = field(default_factory=dict)

    @property
    def head(self) -> Commit | None:
        """Where the run branch stands, as far as the journal tells: drivers may be heard out of order."""
        below = {move.old for move in self.moves}
        return next((move.new for move in reversed(self.moves) if move.new not in below), None)

    def find(self, step: StepId) -> Ticket | None:
        """The ticket of a step."""
        return next((ticket for ticket in self.tickets if ticket.step == step), None)

    def list_ahead(self, step: StepId) -> tuple[Ticket, ...]:
        """The tickets ahead of a step; all of them if it has none."""
        names = [ticket.step for ticket in self.tickets]
        return self.tickets[: names.index(step)] if step in names else self.tickets

    def find_owner(self, commit: Commit | None) -> Ticket | None:
        """The ticket whose candidate this is."""
        return next((ticket for ticket in self.tickets if commit is not None and ticket.commit == commit), None)

    def has_landed(self, commit: Commit) -> bool:
        """Whether the run branch is known to have stood there."""
        return any(commit in (move.new, move.old) for move in self.moves)

    def is_passed(self, commit: Commit) -> bool:
        """Whether the run branch has moved on from there."""
        return any(move.old == commit for move in self.moves)


# --- the fold -----------------------------------------------------------------------------------------------------

KINDS: tuple[type[ev.Event], ...] = (
    ev.TicketTaken,
    ev.CandidateFormed,
    ev.CandidateProved,
    ev.CandidateDropped,
    ev.BranchMoved,
    ev.BranchSettled,
    ev.StepFinished,
    ev.StepReopened,
)
"""The events of a run that say something about its queue."""


def fold_queue(queue: Queue, event: ev.Event) -> Queue:
    """The queue after an event of the run's stream; those that are not about it change nothing."""
    match event:
        case ev.TicketTaken(step=step, head=head):
            taken = Ticket(step=step)
            found = replace(_leave(queue, step), clashes=_forget(queue, step))
            return _learn(replace(found, tickets=(*found.tickets, taken)), head)
        case ev.CandidateFormed(step=step, head=head):
            formed = Ticket(step=step, commit=event.commit, tree=event.tree, on=event.on, files=event.files)
            return _learn(_change(queue, formed), head)
        case ev.CandidateProved(step=step, commit=commit, commands=commands):
            mine = queue.find(step)
            same = mine is not None and mine.commit == commit
            return _change(queue, replace(mine, proved=commands)) if mine is not None and same else queue
        case ev.CandidateDropped(step=step, cause=cause, on=on, head=head):
            window = shrink(queue.window) if cause is DropCause.RED else queue.window
            clashes = {**_forget(queue, step), **({step: on} if on is not None else {})}
            return _learn(replace(_leave(queue, step), window=window, clashes=clashes), head)
        case ev.BranchMoved(step=step, old=old, new=new):
            moved = replace(_leave(queue, step), window=grow(queue.window))
            return replace(moved, moves=(*queue.moves, Move(new=new, old=old))[-MOST_MOVES:])
        case ev.BranchSettled(new=new):
            return replace(queue, moves=(Move(new=new),))
        case ev.StepFinished(step=step) | ev.StepReopened(step=step):
            return replace(_leave(queue, step), clashes=_forget(queue, step))
        case _:
            return queue


def grow(window: int) -> int:
    """The window after a landing."""
    return min(window + 1, MOST_WINDOW)


def shrink(window: int) -> int:
    """The window after a candidate failed."""
    return max(window // 2, LEAST_WINDOW)


def _leave(queue: Queue, step: StepId) -> Queue:
    left = tuple(ticket for ticket in queue.tickets if ticket.step != step)
    return queue if len(left) == len(queue.tickets) else replace(queue, tickets=left)


def _forget(queue: Queue, step: StepId) -> dict[StepId, Commit]:
    return {name: on for name, on in queue.clashes.items() if name != step}


def _change(queue: Queue, ticket: Ticket) -> Queue:
    return replace(queue, tickets=tuple(ticket if one.step == ticket.step else one for one in queue.tickets))


def _learn(queue: Queue, head: Commit | None) -> Queue:
    """Git told where the branch stands before the journal did."""
    if head is None or queue.has_landed(head):
        return queue
    return replace(queue, moves=(*queue.moves, Move(new=head))[-MOST_MOVES:])


def find_awaited(queue: Queue, step: StepId) -> StepId | None:
    """The step behind which this one waits, with nothing to do itself; None if it does not wait."""
    mine = queue.find(step)
    if mine is None:
        owner = queue.find_owner(queue.clashes.get(step))
        return owner.step if owner is not None else None
    ahead = queue.list_ahead(step)
    return ahead[-1].step if ahead and (mine.commit is None or mine.proved is not None) else None


# --- what a step does next ----------------------------------------------------------------------------------------


class Judged(Enum):
    """What the checks say about a candidate."""

    OPEN = "open"
    PASSED = "passed"
    FAILED = "failed"


class Stand(Record):
    """A step that wants to land: what it stands on, and what its checks say there.

    `joined` says that its change was put there after its agent ended, `behind` is the head of the run branch if git
    told that it is another one, and `failing` are the checks that fail.
    """

    step: StepId
    base: Commit
    tree: Tree
    judged: Judged = Judged.PASSED
    joined: bool = False
    behind: Commit | None = None
    failing: tuple[str, ...] = ()


class Turn(Record):
    """What a step that wants to land does next."""


class Take(Turn):
    """Line up; `head` is what git told about the run branch."""

    head: Commit | None = None


class Form(Turn):
    """Put the change on a commit: the candidate of the one before, or the head."""

    on: Commit
    head: Commit | None = None


class Judge(Turn):
    """Run the checks on the candidate."""


class Prove(Turn):
    """Say that the candidate passes while others are ahead of it."""


class Repeat(Turn):
    """Run failing checks once more: a candidate that contains this one passes them."""


class Wait(Turn):
    """Wait for a step: it is ahead, or it is not known yet whether it lands."""

    step: StepId


class Drop(Turn):
    """Let a step leave the queue: this one, or one that nobody works on any more."""

    step: StepId
    cause: DropCause


class Enter(Turn):
    """Land the candidate: it passes, and stands on the head."""


class Conclude(Turn):
    """The work does not fit to what has landed: that is final."""


class Line(Record):
    """The queue as a driver sees it now; `claimed` are the steps that drivers hold, None if nobody looked."""

    queue: Queue
    claimed: Collection[StepId] | None = None


def choose_turn(line: Line, stand: Stand) -> Turn:
    """What the step does next."""
    queue = line.queue
    ahead = queue.list_ahead(stand.step)
    for ticket in ahead:
        if line.claimed is not None and ticket.step not in line.claimed:
            return Drop(step=ticket.step, cause=DropCause.LOST)
    mine = queue.find(stand.step)
    if mine is None:
        return _choose_outside(queue, stand)
    due = _find_ground(queue, stand, ahead)
    if due is not None:
        return due
    formed = mine.commit is not None and (mine.tree, mine.on) == (stand.tree, stand.base)
    if not formed and (ahead or stand.judged is Judged.OPEN):
        return Form(on=stand.base)
    return _follow_verdict(queue, stand, mine, ahead)


def _choose_outside(queue: Queue, stand: Stand) -> Turn:
    """The turn of a step without a ticket."""
    failed = stand.judged is Judged.FAILED
    blocker = queue.find_owner(queue.clashes.get(stand.step)) or (queue.find_owner(stand.base) if failed else None)
    if blocker is not None:
        return Wait(step=blocker.step)
    if failed and (not stand.joined or queue.has_landed(stand.base)):
        return Conclude()
    alone = not queue.tickets and stand.behind is None
    if alone and not queue.is_passed(stand.base) and not _is_adrift(queue, stand):
        return {Judged.OPEN: Judge(), Judged.PASSED: Enter(), Judged.FAILED: Conclude()}[stand.judged]
    return Take(head=stand.behind)


def _is_adrift(queue: Queue, stand: Stand) -> bool:
    """Whether the change was put on a candidate that did not land."""
    return stand.joined and bool(queue.moves) and not queue.has_landed(stand.base)


def _find_ground(queue: Queue, stand: Stand, ahead: tuple[Ticket, ...]) -> Turn | None:
    """How the step comes to stand on what is before it; None if it does."""
    if ahead:
        before = ahead[-1]
        if before.commit == stand.base:
            return None
        if before.commit is None or len(ahead) >= queue.window:
            return Wait(step=before.step)
        return Form(on=before.commit)
    head = stand.behind or queue.head
    if head is None or head == stand.base:
        return None
    known = stand.behind is not None or queue.is_passed(stand.base) or _is_adrift(queue, stand)
    return Form(on=head, head=stand.behind) if known else None


def _follow_verdict(queue: Queue, stand: Stand, mine: Ticket, ahead: tuple[Ticket, ...]) -> Turn:
    """What follows what the checks say about a candidate that stands where it should."""
    match stand.judged:
        case Judged.OPEN:
            return Judge()
        case Judged.FAILED if _is_contradicted(queue, mine, stand.failing):
            return Repeat()
        case Judged.FAILED if ahead:
            return Drop(step=stand.step, cause=DropCause.RED)
        case Judged.FAILED:
            return Conclude()
        case Judged.PASSED if not ahead:
            return Enter()
        case Judged.PASSED:
            return Wait(step=ahead[-1].step) if mine.proved is not None else Prove()


def _is_contradicted(queue: Queue, mine: Ticket, failing: Iterable[str]) -> bool:
    """Whether a candidate that contains this one passes every check that fails here."""
    within, passed = {mine.commit}, set[str]()
    for ticket in queue.tickets:
        if ticket.on in within and ticket.commit is not None:
            within.add(ticket.commit)
            passed.update(ticket.proved or ())
    wanted = set(failing)
    return bool(wanted) and wanted <= passed
