"""One worktree of ours while its lock is held: made, taken over or reset, so that it has exactly one tree.

The rule: what is there is used if it is sound, and made anew otherwise; nobody has to know which.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from drumline.core.ids import Commit, StepId, Tree
from drumline.errors import GitError
from drumline.record import Record
from drumline.workspace.files import WorkFiles
from drumline.workspace.git import Git
from drumline.workspace.worktrees import add_worktree, discard_worktree, file_name, find_record, reset_record

_SETUP, _OWNER = "setup", "owner"


def read_setup(aside: Path) -> str:
    """What the setup is known by whose dependencies are in the worktree that `aside` is about."""
    with suppress(OSError, ValueError):
        return (aside / _SETUP).read_text(encoding="utf-8")
    return ""


def read_owner(aside: Path) -> str:
    """What is noted about whose files are in the worktree that `aside` is about; empty if they are nobody's."""
    with suppress(OSError, ValueError):
        return (aside / _OWNER).read_text(encoding="utf-8")
    return ""


class Desk(Record):
    """A worktree with its files; `aside` is a folder of ours beside it, where it is noted what it stands on."""

    git: Git
    files: WorkFiles
    aside: Path

    @property
    def path(self) -> Path:
        """The worktree's folder."""
        return self.files.path

    @property
    def base_note(self) -> Path:
        """Says from which commit it was made."""
        return self.aside / "base"

    @property
    def hidden(self) -> Path:
        """Files of it that are set aside until it is used again."""
        return self.aside / "hidden"

    @property
    def held(self) -> Path:
        """Files of it that are set aside until they are given back."""
        return self.aside / "held"

    def is_owner(self, step: StepId) -> bool:
        """Whether the files in it are those of this step."""
        return self.read_owner() == self.name_owner(step)

    def name_owner(self, step: StepId) -> str:
        """How it is noted that the files in it are those of a step."""
        return file_name(step)

    def read_owner(self) -> str:
        """What is noted about whose files are in it; empty if they are nobody's."""
        return read_owner(self.aside)

    def note_owner(self, step: StepId) -> None:
        """Say whose files are in it, once they are."""
        self._owner_note.write_text(self.name_owner(step), encoding="utf-8")

    def forget_owner(self) -> None:
        """Say that the files in it are nobody's."""
        self._owner_note.unlink(missing_ok=True)

    def drop_held(self) -> None:
        """Forget what was set aside: it is of another step."""
        shutil.rmtree(self.held, ignore_errors=True)

    @property
    def setup(self) -> str:
        """What the setup is known by whose dependencies are in it; empty if there is none."""
        return read_setup(self.aside)

    @property
    def setup_time(self) -> int | None:
        """When that was noted, in nanoseconds; None if it was not."""
        with suppress(OSError):
            return (self.aside / _SETUP).stat().st_mtime_ns
        return None

    def note_setup(self, name: str) -> None:
        """Say whose dependencies are in it, once they are."""
        (self.aside / _SETUP).write_text(name, encoding="utf-8")

    def forget_setup(self) -> None:
        """Say that no setup is to be relied on."""
        (self.aside / _SETUP).unlink(missing_ok=True)

    @property
    def _owner_note(self) -> Path:
        return self.aside / _OWNER

    async def settle(self, base: Commit, tree: Tree, *, keep: Sequence[str] | None = None) -> None:
        """Bring it to `tree` on `base`: in place if what is there is sound, from nothing otherwise.

        Ignored files stay, or only those in folders that match what is to `keep`.
        """
        if not await self._adopt(base, tree, keep=keep):
            await self.remake(base, tree)

    async def remake(self, base: Commit, tree: Tree) -> None:
        """Make it from nothing."""
        self.forget_setup()
        await discard_worktree(self.git, self.path)
        self.files.forget()
        await add_worktree(self.git, self.path, base)
        # It is empty and stands on the base: there is nothing to clean or to forget.
        await self.files.change(tree)
        self.files.share_index(self._require_record())

    async def discard(self) -> None:
        """Remove it, and what is remembered of it."""
        await discard_worktree(self.git, self.path)
        shutil.rmtree(self.aside)

    async def _adopt(self, base: Commit, tree: Tree, *, keep: Sequence[str] | None) -> bool:
        if find_record(self.git, self.path) is None:
            return False
        try:
            record = self._require_record()
            await reset_record(self.git, record, base)
            await self.files.fill(tree, keep=keep)
            self.files.share_index(record)
        except (GitError, OSError):
            return False
        return True

    def _require_record(self) -> Path:
        record = find_record(self.git, self.path)
        if record is None:
            raise GitError(f"the worktree {str(self.path)!r} is not as git made it", hint="drumline resume")
        return record
