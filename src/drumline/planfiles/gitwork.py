"""Whether a git of the user's is changing the checkout right now.

A rebase puts changes aside and then refuses to go on if it finds a new one: a mark written in that moment would leave
the user in the middle of it, with their changes in a stash. The rule: such a moment is waited for, but never for long,
because a conflict may keep a rebase open for days, and a git that was killed leaves its lock file. Marks that are
written one after the other wait for the same git together, not each of them. A person who stops this process waits for
none of it: what is late is written at the next start.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.errors import NotNow
from drumline.late import import_late
from drumline.record import State

if TYPE_CHECKING:
    import threading
else:
    threading = import_late("threading")

SIGNS = ("index.lock", "rebase-merge", "rebase-apply")
"""What is in git's folder while it changes the checkout."""
YOUNG = 10.0
"""Seconds since the last change of such a sign after which nothing is expected to end soon."""
SETTLED = 0.3
"""Seconds since the last change of git's index after which none is expected to follow: a rebase that stashes refreshes
it first, and takes a file that changes before its other signs appear for unchanged.
"""
LOOK = 0.02


class _Sighting(State):
    """Since when a git was seen at work without a pause, and when it was seen last."""

    first: float
    last: float


_sightings: dict[Path, _Sighting] = {}
"""By git's folder; of this process."""


@cache
def _hurried() -> threading.Event:
    """Set while somebody waits for this process to stop."""
    return threading.Event()


@contextmanager
def patient() -> Iterator[None]:
    """Wait for gits again once this is over, whatever was said meanwhile."""
    try:
        yield
    finally:
        _hurried().clear()


def hurry() -> None:
    """Wait for no git any more, nor for other writers: this process is to stop."""
    _hurried().set()


def rest(file: Path) -> None:
    """Wait a moment for somebody who keeps the file from being written; NotNow if this process is to stop."""
    if _hurried().wait(LOOK):
        raise NotNow(f"{str(file)!r} was not written: another program was changing the checkout")


def wait_for_git(file: Path) -> None:
    """Wait until no git is changing the checkout in which the file is; for one git at most `YOUNG` seconds."""
    folder = _find_git_dir(file)
    while folder is not None and _is_worth_waiting(folder):
        rest(file)


def _is_worth_waiting(folder: Path) -> bool:
    """Whether a git is at work that has not been waited for long enough."""
    now = time.monotonic()
    if not _is_at_work(folder):
        _sightings.pop(folder, None)
        return False
    seen = _sightings.get(folder)
    if seen is None or now - seen.last > YOUNG:
        seen = _sightings[folder] = _Sighting(first=now, last=now)
    seen.last = now
    return now - seen.first < YOUNG


def _is_at_work(folder: Path) -> bool:
    return any(_is_younger(folder / sign, YOUNG) for sign in SIGNS) or _is_younger(folder / "index", SETTLED)


def _is_younger(path: Path, seconds: float) -> bool:
    try:
        return abs(time.time() - path.stat().st_mtime) < seconds
    except OSError:
        return False


def _find_git_dir(file: Path) -> Path | None:
    """The folder in which git keeps the state of the checkout around a file; None outside of one."""
    for parent in file.parents:
        found = parent / ".git"
        if found.is_dir():
            return found
        if found.is_file():
            pointer = found.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
            return parent / pointer
    return None
