"""Watches the run branch for a driver: at its start, when a landing met a branch that had been moved, and at the end.

The rule: a decision about the branch is recorded before it is carried out; carrying it out again does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from drumline.core import events as ev
from drumline.core.branch import Branch, landings
from drumline.core.commands import Adopt, SettleBranch
from drumline.core.ids import Commit, StepId, Stream
from drumline.core.proof import Level, Reason
from drumline.core.state import RunState
from drumline.core.vocabulary import StepEnd
from drumline.engine.kills import repeat_killed
from drumline.ports.clock import Clock
from drumline.ports.journal import Journal, Store
from drumline.ports.workspaces import Meant, Workspaces

ADOPTED = "its landing was on the run branch; the journal did not know it"


@dataclass(kw_only=True)
class BranchWatch:
    """What one driver knows of the run branch. `quiet` says that nothing of ours was at work before it was moved."""

    workspaces: Workspaces
    store: Store
    branch: Branch | None = None
    quiet: bool = False
    due: bool = True
    misplaced: ev.BranchMisplaced | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the branch was where we left it when it was looked at last."""
        return self.branch is not None and self.branch.is_sound

    async def look(self, run: RunState) -> None:
        """Look at the branch if that is due, or if something was wrong with it; if nothing lands on it, never."""
        told = run.misplaced is not None and run.misplaced != self.misplaced
        if not run.lands or (not self.due and self.is_sound and not told):
            return
        first = self.branch is None
        was_sound = self.is_sound
        if first:  # as part of a driver: its git carries the driver's mark, and the driver that takes over ends it
            await self.workspaces.start(run.begun.base, landed=bool(landings(run)))
        # A journal that was restored from an older copy does not know what landed since: that is adopted, unproved.
        meant = None if first and run.misplaced is None else know_landings(self.store, run)
        self.branch = await self.workspaces.look(landings(run), run.left, meant)
        self.misplaced = run.misplaced
        self.quiet = run.quiet if first else self.quiet and not was_sound
        self.due = False

    async def confirm(self, run: RunState, clock: Clock) -> bool:
        """Look once more before the run stops; False if the branch was sound and is not any more."""
        if not self.is_sound:
            return True
        self.due = True
        await repeat_killed(partial(self.look, run), clock)
        return self.is_sound

    async def settle(self, command: SettleBranch) -> str:
        """Carry out a decision about the branch; says why it cannot be done, or nothing."""
        self.due = True
        return await self.workspaces.settle_branch(self.branch, command.to) if self.branch else ""

    def describe(self, command: SettleBranch) -> ev.BranchSettled:
        """The decision as an event."""
        old = self.branch.tip if self.branch else None
        return ev.BranchSettled(
            how=command.how,
            old=old,
            new=command.to,
            steps=command.steps,
            commits=command.commits,
            culprit=command.culprit,
            beside=command.beside,
        )


def know_landings(store: Journal, run: RunState) -> Meant:
    """Says whether a step has landed a commit, or was ever about to land it, as its stream says."""

    def is_meant(step: StepId, commit: Commit) -> bool:
        finished = run.finished.get(step)
        if finished is not None and finished.commit == commit:
            return True
        started = store.read(Stream(run.id, step), kinds=(ev.LandingStarted.__name__,))
        return any(isinstance(one.event, ev.LandingStarted) and one.event.commit == commit for one in started)

    return is_meant


def record_adoption(command: Adopt) -> ev.StepFinished:
    """A landing that only git knew; what proved it is not known any more."""
    return ev.StepFinished(
        step=command.step,
        state=StepEnd.DONE,
        reason=ADOPTED,
        commit=command.commit,
        tree=command.tree,
        level=Level.UNPROVED,
        why=(Reason.NOT_RUN,),
    )
