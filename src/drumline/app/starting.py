"""Starting a run of a plan: one process at a time, so that two that start together share one run.

The lock is held from the look at the plan's runs until a driver has entered the roster. Only then can another process
see that the run is live, and join it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOOK = 0.05


@contextmanager
def hold_start(folder: Path, plan: str, *, wait_told: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Hold the right to start a run of `plan`; yields what gives it back. Waits, and says so once."""
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.blake2b(plan.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    lock = os.open(folder / f"start-{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    held = True

    def give_back() -> None:
        nonlocal held
        if held:
            held = False
            os.close(lock)

    try:
        _take(lock, wait_told)
        yield give_back
    finally:
        give_back()


def _take(lock: int, wait_told: Callable[[], None]) -> None:
    waited = False
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if not waited:
            wait_told()
        waited = True
        time.sleep(LOOK)
