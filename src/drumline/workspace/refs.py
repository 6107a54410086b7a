"""Writing refs. A ref that we write never stays locked because a process of ours died while it wrote it.

Git locks a ref with a file beside it. A git that is killed leaves that file, and every later write of the ref fails.
The rule: such a file is removed only if its owner is provably dead. We write the refs of one run one at a time under a
lock of our own, which git inherits, and note the refs in that lock's file first: if the lock is free and the note is
still there, the process that wrote it is gone. A file from before the machine was started belongs to nobody either.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio

from drumline.record import Record
from drumline.workspace.git import Git, Result
from drumline.workspace.others import find_gits, is_open
from drumline.workspace.worktrees import has_tables, list_table_locks

GRACE = 1.0
"""Seconds that a lock file must stay before it is removed: git needs milliseconds to write a ref."""
_LOOK = 0.05
AS_IT_IS = "option no-deref\n"
"""Before an update: a symbolic ref is replaced or removed itself, what it names is not ours to move."""


class Update(Record):
    """A ref that is to point at `new`, if it points at `old` now: empty if it must not exist, None for anything."""

    ref: str
    new: str
    old: str | None = None

    @property
    def line(self) -> str:
        """As git's `update-ref --stdin` reads it."""
        if self.old == "":
            return f"{AS_IT_IS}create {self.ref} {self.new}"
        return f"{AS_IT_IS}update {self.ref} {self.new}" + (f" {self.old}" if self.old else "")


def read_loose(git: Git, ref: str) -> str:
    """The commit of a ref that has a file of its own, without asking git; empty if it has none."""
    with suppress(OSError, ValueError):
        return (git.common_dir / ref).read_text(encoding="ascii").strip()
    return ""


async def write_refs(git: Git, *transactions: Sequence[Update], held: int, reason: str = "") -> Result:
    """Write refs, one transaction after the other, in one process; any exit code is returned.

    `held` is the lock that all processes of ours take before they write these refs.
    """
    lines = [("start", *(update.line for update in updates), "prepare", "commit") for updates in transactions]
    text = "".join(f"{line}\n" for group in lines for line in group)
    words = ("-m", reason) if reason else ()
    async with _noted(git.common_dir, [update.ref for updates in transactions for update in updates], held):
        return await git.holding(held).run("update-ref", *words, "--stdin", text=text.encode(), accept=range(256))


@asynccontextmanager
async def _noted(common_dir: Path, refs: Sequence[str], held: int) -> AsyncIterator[None]:
    """Note the refs while they are written; first remove what the holder of an earlier note left."""
    await anyio.to_thread.run_sync(clear_noted, common_dir, held)
    for lock in filter(_is_from_before_boot, _list_locks(common_dir, refs)):
        lock.unlink(missing_ok=True)
    foreign = {*_list_locks(common_dir, refs)}
    _write_note(held, refs)
    try:
        yield
    except BaseException:
        # Git was killed, by a signal or because we were cancelled, and has been waited for.
        own = [lock for lock in _list_locks(common_dir, refs) if lock not in foreign]
        for lock in find_left(own) if has_tables(common_dir) else own:
            lock.unlink(missing_ok=True)
        raise
    finally:
        _write_note(held, ())


def clear_noted(common_dir: Path, held: int) -> list[Path]:
    """Remove the lock files of refs that are noted in the lock we hold; returns those it removed."""
    removed = find_noted(common_dir, held)
    for lock in removed:
        lock.unlink(missing_ok=True)
    _write_note(held, ())
    return removed


def find_noted(common_dir: Path, held: int) -> list[Path]:
    """The lock files of refs that are noted in the lock we hold, and that stay."""
    top = common_dir.parent if common_dir.name == ".git" else common_dir
    return find_left(_list_locks(common_dir, _read_note(held)), [top, common_dir])


def _list_locks(common_dir: Path, refs: Sequence[str]) -> list[Path]:
    """The files that exist and lock these refs; where refs are kept in tables, all locks are about all of them."""
    if refs and has_tables(common_dir):
        return list_table_locks(common_dir)
    return [lock for ref in refs if (lock := common_dir / f"{ref}.lock").exists()]


def _read_note(held: int) -> list[str]:
    return os.fsdecode(os.pread(held, 1 << 16, 0)).split("\0")[:-1]


def _write_note(held: int, refs: Sequence[str]) -> None:
    os.ftruncate(held, 0)
    if refs:
        os.pwrite(held, os.fsencode("".join(f"{ref}\0" for ref in refs)), 0)


def find_left(locks: Sequence[Path], places: Sequence[Path] = ()) -> list[Path]:
    """The lock files that stay; one that somebody else has just made goes away by itself.

    None is left behind as long as another git works in one of these places: it may be that git's.
    """
    found = {lock: seen for lock in locks if (seen := _identify(lock)) is not None}
    at_work = find_gits(places) if found and places else set()
    deadline = time.monotonic() + GRACE
    while found and time.monotonic() < deadline:
        time.sleep(_LOOK)
        found = {lock: seen for lock, seen in found.items() if _identify(lock) == seen}
    return [] if (found and at_work & find_gits(places)) or is_open(found) else list(found)


def _identify(lock: Path) -> tuple[int, int] | None:
    try:
        status = lock.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _is_from_before_boot(lock: Path) -> bool:
    try:
        made = lock.stat().st_mtime
    except OSError:
        return False
    return made < time.time() - _seconds_since_boot()


def _seconds_since_boot() -> float:
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
