"""Conflict markers that work leaves in files.

The rule: only a file with both ends of a conflict counts; `=======` alone is the line below a title.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

ENDS = (re.compile(rb"^<<<<<<< ", re.MULTILINE), re.compile(rb"^>>>>>>> ", re.MULTILINE))
MOST = 8 * 1024 * 1024
"""Bytes of a file that are looked at."""


def count_conflicts(text: bytes) -> int:
    """How many conflicts a text has both ends of."""
    return min(len(end.findall(text)) for end in ENDS)


def find_marked(folder: Path, changed: Mapping[str, str]) -> dict[str, int]:
    """The files among those that changed that have conflicts in them, each with how many."""
    left = [path for path, kind in sorted(changed.items()) if kind != "deleted"]
    counts = {path: count_conflicts(_read(folder / path)) for path in left}
    return {path: count for path, count in counts.items() if count}


def _read(file: Path) -> bytes:
    """A file's content; empty if it is a link, or none can be read."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return b""
        with file.open("rb") as opened:
            return opened.read(MOST)
    except OSError:
        return b""
