"""Writing refs. A ref that we write never stays locked because a process of ours died while it wrote it.

Git locks a ref with a file beside it. A git that is killed leaves that file, and every later write of the ref fails.
The rule: such a file is removed only if its owner is provably dead. We write the refs of one run one at a time under a
lock of our own, which git inherits, and note the ref in that lock's file first: if the lock is free and the note is
still there, the process that wrote it is gone. A file from before the machine was started belongs to nobody either.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from drumline.workspace.git import Git, Result
from drumline.workspace.locks import hold

GRACE = 1.0
"""Seconds that a lock file must stay before it is removed: git needs milliseconds to write a ref."""
_LOOK = 0.05


async def write_ref(git: Git, ref: str, new: str, *, old: str | None = None, lock: Path, reason: str = "") -> Result:
    """Point `ref` at `new`, if it points at `old` (empty: if it does not exist); any exit code is returned.

    `lock` is the file that all processes of ours take to write this ref.
    """
    words = [*(("-m", reason) if reason else ()), ref, new, *(() if old is None else (old,))]
    async with hold(lock) as held, _noted(git.common_dir, ref, held):
        return await git.holding(held).run("update-ref", *words, accept=range(256))


@asynccontextmanager
async def _noted(common_dir: Path, ref: str, held: int) -> AsyncIterator[None]:
    """Note the ref while it is written; first remove what the holder of an earlier note left."""
    await anyio.to_thread.run_sync(clear_noted, common_dir, held)
    lock = _lock_of(common_dir, ref)
    if _is_from_before_boot(lock):
        lock.unlink(missing_ok=True)
    found = lock.exists()
    _write_note(held, ref)
    try:
        yield
    except BaseException:
        # Git was killed, by a signal or because we were cancelled, and has been waited for.
        if not found:
            lock.unlink(missing_ok=True)
        raise
    finally:
        _write_note(held, "")


def clear_noted(common_dir: Path, held: int) -> list[Path]:
    """Remove the lock files of refs that are noted in the lock we hold; returns those it removed."""
    locks = [_lock_of(common_dir, ref) for ref in _read_note(held)]
    removed = [lock for lock in locks if _is_left(lock)]
    for lock in removed:
        lock.unlink(missing_ok=True)
    _write_note(held, "")
    return removed


def _lock_of(common_dir: Path, ref: str) -> Path:
    return common_dir / f"{ref}.lock"


def _read_note(held: int) -> list[str]:
    return os.fsdecode(os.pread(held, 1 << 16, 0)).split("\0")[:-1]


def _write_note(held: int, ref: str) -> None:
    os.ftruncate(held, 0)
    if ref:
        os.pwrite(held, os.fsencode(f"{ref}\0"), 0)


def _is_left(lock: Path) -> bool:
    """Whether a lock file stays; one that somebody else has just made goes away by itself."""
    found = _identify(lock)
    deadline = time.monotonic() + GRACE
    while found is not None and time.monotonic() < deadline:
        time.sleep(_LOOK)
        if _identify(lock) != found:
            return False
    return found is not None


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
