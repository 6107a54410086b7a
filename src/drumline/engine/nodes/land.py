"""Landing: the step's work becomes one commit on the run branch, at most once.

The rule: the commit that was judged is the commit that lands, on the head that it was judged on. Where the head has
moved, or others are ahead, the work lines up, is put on what the branch will be, and is judged there.
"""

from __future__ import annotations

from collections.abc import Iterable

from drumline.core import events as ev
from drumline.core.commands import DropTicket, ProveCandidate, Rebase, TakeTicket
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.queue import Queue
from drumline.core.stepstate import StepState
from drumline.core.subject import write_subject
from drumline.core.vocabulary import DropCause
from drumline.engine.branchwatch import know_landings
from drumline.engine.closing import tell_moved
from drumline.engine.nodes.deeds import find_moved
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.nodes.strays import find_sharing
from drumline.engine.products import spell_path
from drumline.errors import GitError
from drumline.ports.workspaces import Landing

REBASED = "rebased"
"""The label of work that was put on another head and conflicts with it."""
CHANGE = "change"
"""The label of work as its agent left it, of which candidates are formed."""


async def intend(work: StepWork, state: StepState, queue: Queue) -> Note:
    """The commit that is about to land, and the head that it was judged on, above which its landing is looked for.

    It is the candidate that was judged, where there is one.
    """
    tree, base = known(state.tree), known(state.base)
    mine = queue.find(work.orders.step.id)
    formed = mine.commit if mine is not None and (mine.tree, mine.on) == (tree, base) else None
    commit = formed or await _commit(work, tree, base)
    return Note(step=[ev.LandingStarted(commit=commit, tree=tree, head=state.landing_head or base)])


async def _commit(work: StepWork, tree: Tree, base: Commit) -> Commit:
    step = work.orders.step
    subject = write_subject(work.run.begun.subject, work.run.plan, step)
    seal = work.tools.seals.find(work.services.store, work.run.id)
    return await work.services.workspaces.commit(step.id, tree, base=base, message=subject, journal=str(seal))


async def act(work: StepWork, state: StepState) -> Note:
    """Bring the commit onto the branch, or say why it does not fit."""
    commit, head = known(state.candidate), known(state.landing_head)
    if await find_moved(work, work.line.look().queue.head or work.run.begun.base) is not None:
        reason = f"the run branch {work.run.begun.branch!r} was moved by somebody else"
        return Note(step=[ev.LandingRefused(reason=reason, retry=True)])
    marked = await work.services.workspaces.find_markers(work.orders.step.id, known(state.tree), base=known(state.base))
    if marked:
        reason = f"unresolved conflicts are left in {', '.join(marked)}"
        return Note(step=[ev.LandingRefused(reason=reason, conflicts=tuple(marked))])
    landing = await work.services.workspaces.land(work.orders.step.id, commit, head=head)
    if landing.commit is not None:
        return note_landed(work, state, landing)
    if landing.behind is not None:
        reason = "other steps have landed since its base"
        return Note(step=[ev.LandingRefused(reason=reason, behind=landing.behind)])
    return Note(step=[ev.LandingRefused(reason=landing.refusal, retry=landing.moved)])


def note_landed(work: StepWork, state: StepState, landing: Landing) -> Note:
    """A landing, in the step's stream and in the run's. What landed is the commit that was judged, or it is refused."""
    commit, tree = known(landing.commit), known(landing.tree)
    step = work.orders.step.id
    meant = (commit, tree) == (state.candidate, state.tree)
    if not meant and not (landing.adopted and know_landings(work.services.store, work.run)(step, commit)):
        raise GitError(f"the run branch has {commit}, and {state.candidate} was judged", hint="drumline doctor")
    landed = ev.StepLanded(commit=commit, tree=tree, adopted=landing.adopted)
    return Note(step=[landed], run=tell_moved(step, state, [landed]))


async def rebase(work: StepWork, state: StepState, command: Rebase) -> Note:
    """Form the step's candidate on the head that is there by now, or on the candidate before it.

    The step's workspace has its tree from then on. Where it conflicts with a candidate that has not landed, the step
    leaves the queue until that is settled, and its work stays as it is.
    """
    step, workspaces, onto = work.orders.step.id, work.services.workspaces, command.onto
    tree, base = known(state.tree), known(state.base)
    if onto == base:
        return Note(run=[await _form(work, command, tree, await workspaces.changed(base, tree))])
    change = state.change or await workspaces.keep(step, CHANGE, tree, base=base)
    merged = await workspaces.merge(change, onto)
    if merged.conflicts and command.ahead:
        return Note(run=[ev.CandidateDropped(step=step, cause=DropCause.CONFLICT, on=onto)])
    since = (*work.run.landed_since(state.origin or base), *command.ahead)
    changed = await workspaces.changed(onto, merged.tree)
    moved = ev.WorkRebased(
        base=onto,
        ready=merged.onto,
        tree=merged.tree,
        conflicts=merged.conflicts,
        since=tuple(dict.fromkeys(since)),
        change=change,
        sharing=await _list_sharing(work, command, changed),
    )
    if merged.conflicts:
        await workspaces.keep(step, REBASED, merged.tree, base=onto)
        said: ev.Event = ev.CandidateDropped(step=step, cause=DropCause.CONFLICT, head=command.head)
    else:
        said = await _form(work, command, merged.tree, changed)
    await workspaces.restore(step, merged.tree, base=onto)
    return Note(step=[moved], run=[said])


async def _list_sharing(work: StepWork, command: Rebase, changed: Iterable[str]) -> tuple[StepId, ...]:
    """The steps below the candidate, landed or about to, that share a file with it."""
    run, contains = work.run, work.services.workspaces.contains
    landed = {ended.step: ended for ended in run.finished.values() if ended.commit and ended.step not in command.ahead}
    ahead = [ticket for ticket in work.line.look().queue.tickets if ticket.step in command.ahead]
    files = [(step, ended.files) for step, ended in landed.items()] + [(one.step, one.files) for one in ahead]
    # Where nobody is ahead and the head is not known by its step yet, others may have landed on it since.
    later = {*run.landed_since(command.onto)} if not ahead else set[StepId]()
    found = find_sharing(work, changed, files)
    return tuple([s for s in found if s not in later or await contains(command.onto, known(landed[s].commit))])


async def _form(work: StepWork, command: Rebase, tree: Tree, changed: Iterable[str]) -> ev.CandidateFormed:
    return ev.CandidateFormed(
        step=work.orders.step.id,
        commit=await _commit(work, tree, command.onto),
        tree=tree,
        on=command.onto,
        ahead=command.ahead,
        files=tuple(map(spell_path, changed)),
        head=command.head,
    )


def line_up(work: StepWork, command: TakeTicket | ProveCandidate | DropTicket, queue: Queue) -> Note:
    """What the step says to the queue."""
    step = work.orders.step.id
    match command:
        case TakeTicket(head=head):
            return Note(run=[ev.TicketTaken(step=step, head=head)])
        case ProveCandidate(commands=commands):
            commit = known(known(queue.find(step)).commit)
            return Note(run=[ev.CandidateProved(step=step, commit=commit, commands=commands)])
        case DropTicket(step=other, cause=cause):
            return Note(run=[ev.CandidateDropped(step=other, cause=cause)])
