"""Which files are as they were when they were last read, told without opening them.

A stamp counts only if the file had been left alone for longer than a clock's grain when it was read: a second edit
within the same tick would leave no trace.
"""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

GRAIN = 2_000_000_000
"""Nanoseconds; the coarsest clock of a file system in use ticks every two seconds."""


class Stamp(NamedTuple):
    """What changes with every edit of a file, were it not for the grain of clocks."""

    inode: int
    size: int
    modified: int
    changed: int


class Stamps:
    """The digests of files by their stamps, for one reader."""

    def __init__(self, *, grain: int = GRAIN) -> None:
        self._grain = grain
        self._digests: dict[str, tuple[Stamp, str]] = {}

    def take(self, file: str) -> Stamp | None:
        """The file's stamp, to be taken before it is read; None if none would count."""
        try:
            found = os.lstat(file)
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode) or time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) <= self._grain:
            return None
        return Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def recall(self, file: str, stamp: Stamp | None) -> str | None:
        """The digest of the file's bytes if it has not been touched since it was read."""
        kept = self._digests.get(file)
        return kept[1] if kept is not None and kept[0] == stamp else None

    def keep(self, file: str, stamp: Stamp | None, digest: str) -> None:
        """Remember the digest of bytes that were read after the stamp was taken."""
        if stamp is not None:
            self._digests[file] = (stamp, digest)
