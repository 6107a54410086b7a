"""The worktrees of one run: each is made once, reset for every step that gets it, and used under its lock.

The rule: what another step left in a worktree is gone before this one sees it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio

from drumline.core.ids import Commit, RunId, StepId, Tree
from drumline.core.products import TOOL_PATTERNS
from drumline.workspace.desk import Desk, read_setup
from drumline.workspace.files import WorkFiles
from drumline.workspace.git import Git
from drumline.workspace.hiding import bring_back, set_aside
from drumline.workspace.installed import is_as_installed
from drumline.workspace.locks import hold
from drumline.workspace.places import Places
from drumline.workspace.trials import Neighbour
from drumline.workspace.worktrees import file_name


class Pool:
    """The worktrees below `root/<run>`, and what is remembered of them beside it."""

    def __init__(self, git: Git, root: Path, *, run: RunId, patterns: Sequence[str] = ()) -> None:
        self._git = git
        self._run = run
        self._root = root
        self._folder = root / file_name(run)
        self._aside = root / f"{file_name(run)}.aside"
        self._places = Places(self._folder, self._aside)
        self._patterns = tuple(patterns)

    def path(self, step: StepId) -> Path:
        """Where the step's workspace is or will be."""
        return self._folder / self._places.find(step)

    async def assign(self, step: StepId) -> Path:
        """Say where the step is worked on until it is released or removed: where one was that has been released."""
        return self._folder / await self._places.assign(step)

    def has_place(self, step: StepId) -> bool:
        """Whether the step has a workspace, or was assigned a place that no workspace was made in yet."""
        return self._places.is_assigned(step) or self.path(step).exists()

    async def set_aside(self, step: StepId, paths: Sequence[str]) -> None:
        """Take these files out of the workspace until they are given back; what is out already stays out."""
        async with self._open(step) as desk:
            if not desk.held.exists():
                desk.held.mkdir()
                set_aside(desk.path, desk.held, paths)

    async def give_back(self, step: StepId) -> None:
        """Put back what was set aside; it replaces what was made in its place meanwhile."""
        async with self._open(step) as desk:
            bring_back(desk.path, desk.held)

    def is_set_up(self, step: StepId, setup: str) -> bool:
        """Whether the dependencies of this setup are in the workspace."""
        return read_setup(self._aside / self._places.find(step)) == setup

    async def note_setup(self, step: StepId, setup: str) -> None:
        """Say whose dependencies are in the workspace."""
        async with self._open(step) as desk:
            desk.note_setup(setup)

    @asynccontextmanager
    async def acquire(self, setup: str) -> AsyncIterator[StepId]:
        """A place for checks in which nobody works, until the block is left; best one that has this setup."""
        async with self._places.acquire(lambda name: read_setup(self._aside / name) == setup) as acquired:
            try:
                yield acquired
            finally:
                with anyio.CancelScope(shield=True):
                    await self._look_after(acquired)

    async def _look_after(self, place: StepId) -> None:
        """Forget the setup of a place if somebody has changed what it installed."""
        async with self._open(place) as desk:
            noted = desk.setup_time
            if noted is None:
                return
            if not await anyio.to_thread.run_sync(is_as_installed, desk.path, noted):
                desk.forget_setup()

    async def stage(self, place: StepId, tree: Tree, *, base: Commit, setup: str) -> None:
        """Bring a place that was acquired to `tree`; of ignored files only dependencies of this setup stay."""
        async with self._open(place) as desk:
            fits = desk.setup == setup
            if not fits:
                desk.forget_setup()
            await desk.settle(base, tree, keep=TOOL_PATTERNS if fits else ())

    async def release(self, step: StepId) -> None:
        """Leave the workspace to the next step once its work is kept elsewhere; nothing happens if there is none."""
        async with self._open(step) as desk:
            desk.forget_owner()
        await self._places.free(step)

    async def drop_released(self) -> None:
        """Take away what was released and no step has."""
        async with self._places.take_free() as free:
            for name in free:
                async with self._open_place(name) as desk:
                    await desk.discard()

    def list_places(self) -> Mapping[Path, StepId | None]:
        """The folders of all workspaces, each with its step; None for one that was released."""
        return {self._folder / name: step for name, step in self._places.list_owners().items()}

    async def remove(self, step: StepId) -> None:
        """Take the workspace away once its work is kept elsewhere; nothing happens if there is none."""
        async with self._open(step) as desk:
            await desk.discard()
        await self._places.free(step)

    def _find_neighbour(self, step: StepId) -> Neighbour:
        name = self._places.find(step)
        return Neighbour(step=step, path=self._folder / name, aside=self._aside / name)

    def _open(self, step: StepId) -> AbstractAsyncContextManager[Desk]:
        return self._open_place(self._places.find(step))

    @asynccontextmanager
    async def _open_place(self, name: str) -> AsyncIterator[Desk]:
        aside = self._aside / name
        async with hold(aside.with_name(f"{aside.name}.lock")) as lock:
            git = self._git.holding(lock)
            files = WorkFiles(git, self._folder / name, aside, patterns=self._patterns)
            desk = Desk(git=git, files=files, aside=aside)
            bring_back(desk.path, desk.hidden)
            yield desk


async def settle_step(desk: Desk, step: StepId, base: Commit, tree: Tree, *, setup: str = "") -> None:
    """Bring the workspace to `tree` on `base`; what another step left in it goes, ignored files included.

    Dependencies stay that the same `setup` has installed.
    """
    desk.base_note.write_text(base, encoding="utf-8")
    own = desk.is_owner(step)
    if own:
        bring_back(desk.path, desk.held)
    else:
        desk.drop_held()
    elsewhere = TOOL_PATTERNS if setup and desk.setup == setup else ()
    if not own and not elsewhere:
        desk.forget_setup()
    await desk.settle(base, tree, keep=None if own else elsewhere)
    desk.note_owner(step)
