"""Waiting for one another: our own locks by flock, git's own lock files by trying again.

A lock here is held by a process and by the git processes it started, so it is free only once all of them are gone.
"""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import TypeVar

import anyio

from drumline.errors import GitError

T = TypeVar("T")

_TRIES = 40
_BUSY = (
    "File exists",
    "could not lock",
    "cannot lock",
    "unable to lock",
    "another git process",
    "/commondir",  # the record of a worktree that another process is just making: no git can list them meanwhile
    "Invalid path",  # the record of a worktree that another process has just removed, while git listed them
)
_HOPELESS = (
    "Permission denied",
    "Read-only file system",
    "No space left",
    "exists; cannot create",  # a branch `a` is in the way of `a/b`, which waiting does not change
    "reference already exists",  # what is only to be created is there, as the branch of a run that is resumed is
    "but expected",  # … and of one that points elsewhere than it should
)


def take_lock(path: Path) -> int:
    """Take the lock file at `path` at once; BlockingIOError if a process holds it. The caller closes the descriptor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    return lock


@asynccontextmanager
async def hold(path: Path, *, patience: float = 60.0) -> AsyncIterator[int]:
    """Hold the lock file at `path`; yield its descriptor, to be passed on to children."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with anyio.move_on_after(patience) as scope:
            await _take(lock)
        if scope.cancelled_caught:
            raise GitError(f"{path.stem!r} is still being worked on by another process", hint="drumline status")
        yield lock
    finally:
        os.close(lock)


async def _take(lock: int) -> None:
    for attempt in count():
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await back_off(attempt, longest=0.05)
        else:
            return


async def retry_busy(act: Callable[[], Awaitable[T]]) -> T:
    """Act again while git says that another git process is in the way; a bounded number of times."""
    for attempt in range(_TRIES):
        try:
            return await act()
        except GitError as error:
            if not is_busy(str(error)):
                raise
        await back_off(attempt)
    return await act()


def is_busy(said: str) -> bool:
    """Whether git's words mean that another git process holds one of its lock files."""
    return any(word in said for word in _BUSY) and not any(word in said for word in _HOPELESS)


async def back_off(attempt: int, *, longest: float = 0.5) -> None:
    """Sleep a random while that grows with the number of attempts, so that rivals do not meet again."""
    await anyio.sleep(random.uniform(0.001, min(longest, 0.005 * 2 ** min(attempt, 10))))  # noqa: S311 - no secret
