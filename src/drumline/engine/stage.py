"""A place in which only checks run, brought to one tree after the other.

The rule: nothing of an attempt is in it but the tree that it left. Dependencies come from the setup command, which runs
again where a lock file differs; on a tree that changes lock files it is held as checks are, for the work decides what
it does.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from drumline.core.ids import Commit, StepId, Tree
from drumline.core.products import stays
from drumline.core.setups import CHECKOUT, Setup
from drumline.engine.products import look_for_ignored
from drumline.engine.provision import bring_provided
from drumline.engine.services import Services, Tools
from drumline.errors import ChildKilled
from drumline.isolation.scratch import open_scratch
from drumline.ports.processes import Ended, Job
from drumline.record import Record, replace


class Stand(Record):
    """Where a check runs: the folder, and the id by which workspaces know it.

    `failed` is how the setup command ended if it failed there, `changed` whether the work changed what it installs.
    """

    id: StepId
    path: Path
    failed: Ended | None = None
    changed: bool = False


async def provide(services: Services, setup: Setup, place: Path, *, link: bool) -> str:
    """Bring paths of the checkout into a place; why that cannot be, or an empty text."""
    if not setup.paths:
        return ""
    return await anyio.to_thread.run_sync(partial(bring_provided, services.base, place, setup.paths, link=link))


def write_job(services: Services, setup: Setup, place: Path, log: Path) -> Job:
    """The setup command in a place."""
    argv, env = ["bash", "-c", setup.command], {CHECKOUT: str(services.base)}
    return Job(argv=argv, cwd=place, log=log, timeout=services.check_timeout, env=env)


@dataclass(kw_only=True)
class Stage:
    """A place for the checks of a step, acquired when it is needed first. `label` tells its logs from others."""

    services: Services
    tools: Tools
    setup: Setup
    step: StepId
    label: str = "verify"
    _place: StepId | None = None
    _stands: Stand | None = None
    _tree: Tree | None = None
    _again: bool = False
    _acquired: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def bring(self, tree: Tree, *, base: Commit) -> Stand:
        """The place with exactly this tree, which stands on `base`."""
        if self._stands is None or self._tree != tree:
            self._stands = await self._bring(tree, base)
            self._tree = tree
        return self._stands

    def forget(self) -> None:
        """Run the setup command again the next time."""
        self._stands = None
        self._again = True

    async def aclose(self) -> None:
        """Give the place back."""
        self._place = self._stands = None
        await self._acquired.aclose()

    async def _bring(self, tree: Tree, base: Commit) -> Stand:
        workspaces = self.services.workspaces
        below = await workspaces.find_tree(base)
        setup, usual = await self._name(tree), await self._name(below)
        if self._place is None:
            self._place = await self._acquired.enter_async_context(workspaces.acquire(setup))
        place, changed = self._place, setup != usual
        stand = Stand(id=place, path=workspaces.path(place), changed=changed)
        known = "" if self._again else setup
        self._again = False
        await workspaces.stage(place, tree if changed else below, base=base, setup=known)
        refusal = await provide(self.services, self.setup, stand.path, link=self.tools.checks.links())
        if refusal:
            return replace(stand, failed=Ended(exit_code=1, seconds=0.0, message=refusal), changed=False)
        if not workspaces.is_set_up(place, setup):
            ended = await self._set_up(stand) if self.setup.command else Ended(exit_code=0, seconds=0.0)
            if ended.exit_code != 0:
                return replace(stand, failed=ended)
            if stays(await look_for_ignored(workspaces, place, ())):  # else the next tree needs all of it again
                await workspaces.note_setup(place, setup)
        await workspaces.switch(place, tree, tidy=True)
        return stand

    async def _name(self, tree: Tree) -> str:
        return self.setup.name(await self.services.workspaces.list_files(tree))

    async def _set_up(self, stand: Stand) -> Ended:
        log = self.services.log(self.step, f"setup-{self.label}.log")
        job = write_job(self.services, self.setup, stand.path, log)
        processes, hold = self.tools.processes, self.tools.checks
        if stand.changed:
            with open_scratch(log.with_name(f"{log.stem}.tmp")) as scratch, hold.hold(job, scratch=scratch) as held:
                ended = await processes.run(held)
        else:
            ended = await processes.run(hold.strip(job))
        if ended.killed:
            raise ChildKilled(f"the setup command {self.setup.command}")
        return ended
