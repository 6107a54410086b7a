"""What became of the run branch while an agent was at work: looked for when its attempt has ended."""

from __future__ import annotations

from drumline.core import events as ev
from drumline.core.branch import Branch, landings
from drumline.core.gitdeeds import MOST_NAMED, SHORT, GitDeeds
from drumline.core.ids import Commit
from drumline.engine.branchwatch import know_landings
from drumline.engine.nodes.stepwork import StepWork
from drumline.record import replace


async def add_branch(work: StepWork, deeds: GitDeeds) -> GitDeeds:
    """What an agent did to git, with what was done to the run branch meanwhile."""
    branch = await find_moved(work, work.run.left) if work.orders.lands else None
    if branch is None:
        return deeds
    named = tuple(f"{commit[:SHORT]} {said}" for commit, said in branch.foreign[:MOST_NAMED])
    return replace(deeds, moved=True, tip=branch.tip, foreign=named)


async def find_moved(work: StepWork, left: Commit) -> Branch | None:
    """The run branch if somebody else has moved it from where we `left` it, or from a landing above that."""
    run, workspaces = work.run, work.services.workspaces
    if workspaces.stands_at(left):
        return None
    branch = await workspaces.look(landings(run), left, know_landings(work.services.store, run))
    return None if branch.is_sound else branch


def note_moved(work: StepWork, deeds: GitDeeds) -> list[ev.Event]:
    """What the run records of a branch that was moved: whose agents were at work, once."""
    told = work.run.misplaced
    if not deeds.moved or (told is not None and told.tip == deeds.tip):
        return []
    step = work.orders.step.id
    beside = tuple(other for other in work.run.working if other != step and other not in work.run.finished)
    return [ev.BranchMisplaced(step=step, tip=deeds.tip, beside=beside)]
