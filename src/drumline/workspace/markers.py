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


def has_conflict(text: bytes) -> bool:
    """Whether a text has both ends of a conflict."""
    return all(end.search(text) for end in ENDS)


def find_marked(folder: Path, changed: Mapping[str, str]) -> list[str]:
    """The files among those that changed that have a conflict in them."""
    return [path for path, kind in sorted(changed.items()) if kind != "deleted" and has_conflict(_read(folder / path))]


def _read(file: Path) -> bytes:
    """A file's content; empty if it is a link, or none can be read."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return b""
        with file.open("rb") as opened:
            return opened.read(MOST)
    except OSError:
        return b""
