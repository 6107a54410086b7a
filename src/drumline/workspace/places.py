"""Which worktree of a run is whose. A step keeps its worktree until it has landed; then the next step gets it.

    <run>/work@<n>                   a worktree that steps are worked on in
    <run>.aside/.places/<step>       the name of the worktree that the step has
    <run>/verify@<n>                 a worktree that only checks run in
    <run>.aside/verify@<n>.use.lock  held by the process that uses it

The rule: a worktree that no step has and no process uses is free, and its files are nobody's. A step without an entry
has a folder of its own name. No name of a step becomes one with an `@`, see `file_name`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import unquote

from drumline.core.ids import StepId
from drumline.workspace.locks import hold, take_lock
from drumline.workspace.worktrees import file_name

WORK, VERIFY = "work@", "verify@"
VERIFYING = "@verify/"
"""How the id begins by which a worktree for checks is asked for; no step of a plan is called so."""
_ENTRIES = ".places"
_LOCK = ".places.lock"


class Places:
    """The worktrees of a run in `folder`; what is known of them is in `aside`."""

    def __init__(self, folder: Path, aside: Path) -> None:
        self._folder = folder
        self._aside = aside

    def find(self, step: StepId) -> str:
        """The name of the worktree that a step has, or would have by itself."""
        if step.startswith(VERIFYING):
            return VERIFY + step.removeprefix(VERIFYING)
        return self._read(self._entry(step)) or file_name(step)

    async def assign(self, step: StepId) -> str:
        """Let the step have a worktree: the one it has, a free one, or the name of a new one."""
        async with self._hold():
            entry = self._entry(step)
            known = self._read(entry)
            if known:
                return known
            chosen = next(iter(self._find_free()), "") or self._name_new()
            _write(entry, chosen)
            return chosen

    def is_assigned(self, step: StepId) -> bool:
        """Whether the step was given a worktree, made or not, and has it still."""
        return bool(self._read(self._entry(step)))

    async def free(self, step: StepId) -> None:
        """Let the next step have the worktree of this one."""
        async with self._hold():
            self._entry(step).unlink(missing_ok=True)
            self._prune()

    def _prune(self) -> None:
        """Remove drafts of processes that died writing them, and the folder of entries once it is empty.

        Entries are written under the lock only, so that a draft that is there while we hold it belongs to nobody.
        """
        entries = self._aside / _ENTRIES
        for draft in entries.glob(".*"):
            draft.unlink(missing_ok=True)
        with suppress(OSError):  # other steps have a worktree, or there is no folder
            entries.rmdir()

    @asynccontextmanager
    async def take_free(self) -> AsyncIterator[list[str]]:
        """The worktrees that are free, and stay so within the block."""
        async with self._hold():
            self._prune()
            yield [*self._find_free(), *(name for name in self._list() if self._is_unused(name))]

    @asynccontextmanager
    async def acquire(self, suits: Callable[[str], bool]) -> AsyncIterator[StepId]:
        """A worktree for checks until the block is left: a free one, best one that suits, or the name of a new one."""
        async with self._hold():
            known = [name for name in self._list() if name.startswith(VERIFY)]
            free = sorted(filter(self._is_unused, known), key=suits, reverse=True)
            new = (f"{VERIFY}{number}" for number in count(1))
            chosen = next(iter(free), "") or next(name for name in new if name not in known and self._is_free(name))
            lock = take_lock(self._use(chosen))
        try:
            yield StepId(VERIFYING + chosen.removeprefix(VERIFY))
        finally:
            os.close(lock)

    def _is_unused(self, name: str) -> bool:
        return name.startswith(VERIFY) and self._is_free(name)

    def _is_free(self, name: str) -> bool:
        """Whether no process uses a worktree for checks."""
        try:
            os.close(take_lock(self._use(name)))
        except BlockingIOError:
            return False
        return True

    def _use(self, name: str) -> Path:
        return self._aside / f"{name}.use.lock"

    def list_owners(self) -> dict[str, StepId | None]:
        """Every worktree that is there with the step that has it; None for those that are free."""
        owners: dict[str, StepId | None] = {name: step for step, name in self._list_entries().items()}
        own = {name: None if name.startswith((WORK, VERIFY)) else StepId(unquote(name)) for name in self._list()}
        return {name: owners.get(name, step) for name, step in own.items()}

    def _find_free(self) -> list[str]:
        taken = {*self._list_entries().values()}
        return [name for name in self._list() if name.startswith(WORK) and name not in taken]

    def _name_new(self) -> str:
        taken = {*self._list_entries().values(), *self._list()}
        return next(name for name in (f"{WORK}{number}" for number in count(1)) if name not in taken)

    def _list(self) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(entry.name for entry in self._folder.iterdir() if entry.is_dir() and not entry.is_symlink())
        return []

    def _list_entries(self) -> dict[StepId, str]:
        with suppress(FileNotFoundError):
            found = [entry for entry in sorted((self._aside / _ENTRIES).iterdir()) if entry.name[0] != "."]
            named = {StepId(unquote(entry.name)): self._read(entry) for entry in found}
            return {step: name for step, name in named.items() if name}
        return {}

    def _entry(self, step: StepId) -> Path:
        return self._aside / _ENTRIES / file_name(step)

    def _hold(self) -> AbstractAsyncContextManager[int]:
        return hold(self._aside / _LOCK)

    @staticmethod
    def _read(entry: Path) -> str:
        """What an entry says; nothing unless it is a name that we give."""
        with suppress(OSError, ValueError):
            name = entry.read_text(encoding="utf-8")
            return name if name.startswith(WORK) and name.removeprefix(WORK).isdecimal() else ""
        return ""


def _write(entry: Path, name: str) -> None:
    """Write the entry whole or not at all; it is there after a power cut."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    draft = entry.with_name(f".{secrets.token_hex(4)}")
    with draft.open("w", encoding="utf-8") as stream:
        stream.write(name)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(entry)
