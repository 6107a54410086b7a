"""Sockets of other programs that have a path. The rule: those that have listened for a while are found, not later ones.

One that was just made may be gone the next moment, and bubblewrap cannot mount over what is gone.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path

TABLE = Path("/proc/net/unix")
LISTENS = 0x10000
DATAGRAM = "0002"
SETTLED = 60.0
"""Seconds after which a socket counts as one that stays."""


def find_sockets() -> Iterator[Path]:
    """The sockets of this machine that somebody could connect to by a path which we can see."""
    try:
        lines = TABLE.read_bytes().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.decode("utf-8", "surrogateescape").split(None, 7)
        if len(fields) == 8 and fields[7].startswith("/") and _is_open(flags=fields[3], kind=fields[4]):
            path = Path(fields[7])
            if _is_settled(path):
                yield path


def _is_open(*, flags: str, kind: str) -> bool:
    return kind == DATAGRAM or bool(int(flags, 16) & LISTENS)


def _is_settled(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and time.time() - found.st_mtime > SETTLED
