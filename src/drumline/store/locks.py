"""Who holds the store's write lock, as the kernel tells it. Only looks; never touches a lock or a process."""

from __future__ import annotations

import os
from pathlib import Path

# SQLite's WAL write lock is a POSIX lock on this byte of the `-shm` file (its file format documents it).
_WRITE_LOCK_BYTE = 120


def find_writer(path: Path, *, table: Path = Path("/proc/locks")) -> int | None:
    """The pid in the middle of a write to the store at `path`; None if there is none or the system does not say."""
    try:
        status = Path(f"{path}-shm").stat()
        lines = table.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    return next((pid for line in lines if (pid := _read_holder(line, file)) is not None), None)


def _read_holder(line: str, file: str) -> int | None:
    """The pid of one line of the lock table if it is the write lock of `file`; waiters are marked with `->`."""
    words = line.split()
    if len(words) != 8 or words[1] != "POSIX" or words[3] != "WRITE" or words[5] != file:
        return None
    first, last = int(words[6]), words[7]
    covers = first <= _WRITE_LOCK_BYTE and (last == "EOF" or int(last) >= _WRITE_LOCK_BYTE)
    pid = int(words[4])
    return pid if covers and pid > 0 else None
