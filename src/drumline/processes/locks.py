"""Files whose lock says that a process lives: held from before anybody can see the file until the process ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path


def hold(path: Path) -> int:
    """Create the file and lock it; the lock lasts until every copy of the returned descriptor is closed."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def is_held(path: Path) -> bool:
    """Whether anybody, ourselves included, holds the lock; a file that is gone is held by nobody."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look at the same time do not take each other for the holder.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def wait_free(path: Path, deadline: float) -> bool:
    """Wait until nobody holds the lock; False if somebody still does at `deadline` (monotonic)."""
    while is_held(path):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True
