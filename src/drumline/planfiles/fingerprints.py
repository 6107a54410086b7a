"""Which files are as they were when they were last read, told without opening them.

A fingerprint counts only if the file had been left alone for longer than a clock's grain when it was read: a second
edit within the same tick would leave no trace.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from pathlib import Path
from typing import NamedTuple

GRAIN = 2_000_000_000
"""Nanoseconds; the coarsest clock of a file system in use ticks every two seconds."""

WORTH_SAVING = 200
"""Files read since the cache was written last."""


class Fingerprint(NamedTuple):
    """What changes with every edit of a file, were it not for the grain of clocks."""

    inode: int
    size: int
    modified: int
    changed: int


class Fingerprints:
    """The digests of files by their fingerprints, for one reader.

    With a `cache` they outlive the reader; a cache that is missing or damaged only costs time.
    """

    def __init__(self, cache: Path | None = None, *, grain: int = GRAIN) -> None:
        self._grain = grain
        self._cache = cache
        self._digests: dict[str, list[int | str]] = _load(cache) if cache else {}
        self._news = 0

    def take(self, file: str) -> Fingerprint | None:
        """The file's stamp, to be taken before it is read; None if none would count."""
        try:
            found = os.lstat(file)
        except OSError:
            return None
        modified, changed = found.st_mtime_ns, found.st_ctime_ns
        newest = modified if modified > changed else changed
        if not stat.S_ISREG(found.st_mode) or time.time_ns() - newest <= self._grain:
            return None
        return Fingerprint(found.st_ino, found.st_size, modified, changed)

    def recall(self, file: str, fingerprint: Fingerprint | None) -> str | None:
        """The digest of the file's bytes if it has not been touched since it was read."""
        kept = self._digests.get(file)
        return str(kept[-1]) if kept is not None and fingerprint is not None and kept[:-1] == [*fingerprint] else None

    def keep(self, file: str, fingerprint: Fingerprint | None, digest: str) -> None:
        """Remember the digest of bytes that were read after the stamp was taken."""
        if fingerprint is not None:
            self._digests[file] = [*fingerprint, digest]
            self._news += 1

    def save(self) -> None:
        """Write the cache once it has learnt enough to be worth it."""
        if self._cache is None or self._news < WORTH_SAVING:
            return
        self._news = 0
        text = json.dumps(self._digests, separators=(",", ":"))
        aside = self._cache.with_name(f"{self._cache.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text(text, encoding="utf-8", errors="surrogateescape")
            aside.replace(self._cache)


def _load(cache: Path) -> dict[str, list[int | str]]:
    try:
        raw = json.loads(cache.read_text(encoding="utf-8", errors="surrogateescape"))
    except (OSError, ValueError):
        return {}
    return raw if isinstance(raw, dict) and all(isinstance(entry, list) for entry in raw.values()) else {}
