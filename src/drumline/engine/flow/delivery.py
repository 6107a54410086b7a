"""A worktree of a flow run's own, whose work becomes a commit on the run's branch if the flow ends well.

The rule: what a check changes in it is undone; a flow that did not end well leaves its worktree as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drumline.core.flow.events import FlowEnded
from drumline.core.ids import FLOW, Tree
from drumline.core.state import RunState
from drumline.core.vocabulary import WalkEnd
from drumline.engine.tidying import CANCELLED
from drumline.errors import GitError
from drumline.ports.workspaces import Workspaces


@dataclass(kw_only=True)
class Delivery:
    """Makes the worktree and delivers from it. Everything may be repeated after a crash."""

    workspaces: Workspaces
    run: RunState
    ours = True

    def __post_init__(self) -> None:
        self._tree: Tree | None = None

    async def prepare(self, first: bool) -> None:
        """Make the branch and the worktree; later, make it again if it was removed after the run was cancelled."""
        base = self.run.begun.base
        if first:
            await self.workspaces.start(base)
            await self.workspaces.prepare(FLOW, base)
        elif not self.workspaces.path(FLOW).exists():
            await self.workspaces.reopen(FLOW, CANCELLED, base=base)

    async def begin(self) -> None:
        """Remember what is there."""
        self._tree = await self.workspaces.snapshot(FLOW, base=self.run.begun.base)

    async def find_changes(self) -> Mapping[str, str]:
        """Paths that changed since, which are as they were again."""
        if self._tree is None:
            return {}
        return await self.workspaces.clean(FLOW, self._tree, base=self.run.begun.base)

    async def deliver(self, ended: FlowEnded) -> None:
        """Commit what was done; a flow that did not end well leaves its worktree as it is."""
        base = self.run.begun.base
        if ended.status is not WalkEnd.DONE or not self.workspaces.path(FLOW).exists():
            return
        tree = await self.workspaces.snapshot(FLOW, base=base)
        if await self.workspaces.changed(base, tree):
            message = f"{self.run.begun.plan_name}: {ended.node}"
            commit = await self.workspaces.commit(FLOW, tree, base=base, message=message)
            landing = await self.workspaces.land(FLOW, commit, head=base)
            if landing.commit is None:  # the worktree stays: it holds the only copy of the work
                why = landing.refusal or "somebody else has committed to its branch"
                raise GitError(f"the flow's work could not be landed: {why}", hint=f"git log {commit}")
        await self.workspaces.remove(FLOW)
