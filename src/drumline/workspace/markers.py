"""What merges leave in work: conflict markers in files, and files that had to make room for others.

The rule: only a file with both ends of a conflict counts; `=======` alone is the line below a title.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from drumline.patterns import compile_late

ENDS = (compile_late(rb"\n<{7,64} "), compile_late(rb"\n>{7,64} "))
"""An attribute of a file, `conflict-marker-size`, may make them longer than seven."""
LONGEST = 66
CHUNK = 1 << 23
MADE_ROOM = compile_late(r"~(?:[0-9a-f]{40}|[0-9a-f]{64})(?:_[0-9]+)?$")
"""How git ends the name of a file where one side of a merge has a folder, a link or another file in its place."""


def count_conflicts(chunks: Iterable[bytes]) -> int:
    """How many conflicts a text has both ends of."""
    before, found = b"\n", [0, 0]
    for chunk in chunks:
        text = before + chunk
        last = max(text.rfind(b"\n"), 0)
        whole = len(text) if len(text) - last > LONGEST else last  # a short last line may go on in the next chunk
        found = _add(found, text[:whole])
        before = text[whole:]
    return min(_add(found, before))


def _add(found: list[int], text: bytes) -> list[int]:
    return [count + len(end.findall(text)) for count, end in zip(found, ENDS, strict=True)]


def find_marked(folder: Path, changed: Mapping[str, str]) -> dict[str, int]:
    """The files among those that changed that have conflicts in them, each with how many."""
    left = [path for path, kind in sorted(changed.items()) if kind != "deleted"]
    counts = {path: _count(folder / path) or int(_made_room(path, changed[path])) for path in left}
    return {path: count for path, count in counts.items() if count}


def _made_room(path: str, kind: str) -> bool:
    return kind == "created" and MADE_ROOM.search(path) is not None


def _count(file: Path) -> int:
    """How many conflicts a file has; none if it is a link, or cannot be read."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return 0
        with file.open("rb") as opened:
            return count_conflicts(iter(lambda: opened.read(CHUNK), b""))
    except OSError:
        return 0
