"""Whether the files that SQLite opened are still where they were: it would go on writing into a file that is gone."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress

_Identity = tuple[int, int] | None

# A file that was deleted or moved is noticed at once; a folder that was moved with it, by looking at the path.
_LOOK_SECONDS = 0.02

IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF = 0x4, 0x400, 0x800
"""Deleting a file that is open changes its number of links, which is an attribute; writing to it changes none."""


class Place:
    """A path and the file that was there when SQLite opened it.

    The descriptor is opened with O_PATH: closing a descriptor that can read would drop SQLite's locks on the file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._identity = _identify(path)
        self._descriptor = _open_path(path)

    def holds(self, *, look: bool) -> bool:
        """Whether the file still exists and, with `look`, is still at its path."""
        if self._descriptor is not None and not os.fstat(self._descriptor).st_nlink:
            return False
        return (self._descriptor is not None and not look) or _identify(self.path) == self._identity

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Places:
    """The files of one connection. Asked after every commit, so the kernel reports what happened to them (inotify).

    Where it cannot, each file is looked at instead.
    """

    def __init__(self) -> None:
        self._all: list[Place] = []
        self._watch: int | None = None
        self._poll = select.poll()
        self._looked = 0.0

    def add(self, path: str) -> Place:
        """One more file, as it is now."""
        place = Place(path)
        self._all.append(place)
        return place

    def watch(self) -> None:
        """Let the kernel report from now on, if it can."""
        self._watch = _open_watch([place.path for place in self._all])
        if self._watch is not None:
            self._poll.register(self._watch, select.POLLIN)

    def find_lost(self, now: float) -> Place | None:
        """The first file that is not what was opened."""
        look = now - self._looked >= _LOOK_SECONDS
        if not look and self._watch is not None and not self._poll.poll(0):
            return None
        self._looked = now
        lost = next((place for place in self._all if not place.holds(look=True)), None)
        if lost is None and self._watch is not None:
            with suppress(BlockingIOError):
                os.read(self._watch, 1 << 12)  # a mode or an owner was changed
        return lost

    def close(self) -> None:
        """Let go of every descriptor."""
        for place in self._all:
            place.close()
        if self._watch is not None:
            os.close(self._watch)
            self._watch = None


def _open_watch(paths: Sequence[str]) -> int | None:
    """A descriptor that can be read once one of the files was deleted or moved; None where there is no such thing."""
    import ctypes  # only a connection that writes pays for it

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "inotify_init1"):
        return None
    watch = int(libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
    if watch < 0:
        return None
    events = IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
    if any(libc.inotify_add_watch(watch, os.fsencode(path), events) < 0 for path in paths):
        os.close(watch)
        return None
    return watch


def _open_path(path: str) -> int | None:
    """A descriptor that only names the file; None where the system has none or there is no file."""
    if not hasattr(os, "O_PATH"):
        return None
    try:
        return os.open(path, os.O_PATH)
    except OSError:
        return None


def _identify(path: str) -> _Identity:
    """Which file is at this path; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before many reads; a Path costs more than the question
    except OSError:
        return None
    return found.st_dev, found.st_ino
