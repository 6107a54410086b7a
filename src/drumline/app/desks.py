"""What work changed in a folder whose trees no journal keeps: it is looked at before and after.

The rule: what changed since the last look is told once. Where several work in one folder at the same time, it belongs
to whoever ends next. Work that was lost with its driver and is done again begins where it began the first time, as what
the lost one left in the folder is still there; so the looks are kept in a folder of the run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio

from drumline.app.edits import Edits, read_edits
from drumline.core.ids import Commit, Tree
from drumline.core.redaction import Redaction
from drumline.errors import DrumlineError
from drumline.workspace.files import WorkFiles
from drumline.workspace.git import Git
from drumline.workspace.repository import Repository, find_repository

T = TypeVar("T")
BEGUN = "begun.json"
"""Where a desk keeps the trees before the work."""
EMPTY = Tree("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
"""The tree without files, which git knows everywhere."""


@dataclass(kw_only=True)
class Desks:
    """Looks at folders before and after; each needs a git repository around it.

    `room` is a folder for what was seen, the same for every driver of the run. The `recording` itself is not looked at.
    `problem` says what could not be seen.
    """

    room: Path
    recording: Path
    redaction: Redaction
    problem: str = ""
    _desks: dict[Path, _Desk] = field(default_factory=dict)

    async def watch(self, folder: Path, who: str, work: Callable[[], Awaitable[T]]) -> tuple[T, Edits]:
        """What came of the work, and what it changed in the folder."""
        desk = await self._sit_down(folder, who)
        if desk is None:
            return await work(), Edits()
        try:
            result = await work()
        except BaseException:
            desk.active -= 1
            raise
        desk.active -= 1
        return result, await self._read_edits(desk, who)

    async def _sit_down(self, folder: Path, who: str) -> _Desk | None:
        try:
            desk = self._desks.get(folder) or self._make_desk(folder)
            self._desks[folder] = desk
            async with desk.lock:
                if not desk.active:
                    desk.known = desk.read_begun().get(who) or await desk.look()
                    desk.begun.clear()
                desk.begun[who] = desk.known
                desk.write_begun()
                desk.active += 1
        except (DrumlineError, OSError) as error:
            self.problem = f"what changed in {folder} is not recorded: {error}"
            return None
        return desk

    async def _read_edits(self, desk: _Desk, who: str) -> Edits:
        try:
            async with desk.lock:
                before, desk.known = desk.known, await desk.look()
                desk.begun = dict.fromkeys(desk.begun, desk.known) | {who: before}
                desk.write_begun()
                return await read_edits(desk.git, before, desk.known, redaction=self.redaction, folder=desk.place)
        except (DrumlineError, OSError) as error:
            self.problem = f"what changed in {desk.top} is not recorded: {error}"
            return Edits()

    def _make_desk(self, folder: Path) -> _Desk:
        repository = find_repository(folder)
        room = self.room / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
        (room / "objects").mkdir(parents=True, exist_ok=True)
        # What is only looked at does not belong into the user's repository.
        objects = {
            "GIT_OBJECT_DIRECTORY": str(room / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repository.common_dir / "objects"),
        }
        place, own = folder.resolve(), self.recording.resolve()
        top = repository.top
        return _Desk(
            git=Git(common_dir=repository.common_dir, env=objects),
            top=top,
            room=room,
            base=_find_base(repository),
            place=place.relative_to(top).as_posix().removeprefix("."),
            spared=(own.relative_to(top).as_posix(),) if own.is_relative_to(top) else (),
        )


def _find_base(repository: Repository) -> Commit:
    """Where a look begins: files that are tracked are seen even if they are ignored by now."""
    try:
        return repository.head_commit()
    except DrumlineError:  # there is no commit yet
        return Commit(EMPTY)


@dataclass(kw_only=True, slots=True)
class _Desk:
    """One folder that is worked in: how many are at it, and the tree that was seen last.

    `begun` has the tree before the work of each; it is on disk before they begin.
    """

    git: Git
    top: Path
    room: Path
    base: Commit
    place: str
    spared: tuple[str, ...]
    active: int = 0
    known: Tree = EMPTY
    begun: dict[str, Tree] = field(default_factory=dict)
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def look(self) -> Tree:
        """The tree of everything not ignored, but for the recording itself."""
        return await WorkFiles(self.git, self.top, self.room).read(self.base, self.spared)

    def read_begun(self) -> dict[str, Tree]:
        """What was there before the last ones began, whichever process drove them."""
        try:
            found = json.loads((self.room / BEGUN).read_bytes())
        except (FileNotFoundError, ValueError):  # it is no JSON if the machine went down while it was written
            return {}
        return {str(who): Tree(str(tree)) for who, tree in found.items()}

    def write_begun(self) -> None:
        """Let a later driver know; in one stroke, as this one may be killed."""
        draft = self.room / f"{BEGUN}.new"
        draft.write_text(json.dumps(self.begun), encoding="utf-8")
        draft.replace(self.room / BEGUN)
