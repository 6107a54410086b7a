"""What a folder of the user's looks like, so that a change of it is noticed. Nothing is written, nor git's index."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from drumline.workspace.git import UNASKED, run_git

UNTRACKED = "??"


class Print(NamedTuple):
    """How git sees a file that is not as committed, and its size and time; None if it is gone."""

    status: str
    stat: tuple[int, int] | None


async def take_fingerprint(top: Path) -> dict[str, Print]:
    """Every file of the work tree at `top` that is not as committed and not ignored."""
    found = await run_git("status", "--porcelain", "--untracked-files=all", "--no-renames", "-z", UNASKED, cwd=top)
    return {item[3:]: Print(item[:2], _look(top / item[3:])) for item in found.items}


def compare_fingerprints(before: Mapping[str, Print], after: Mapping[str, Print]) -> dict[str, str]:
    """The paths that differ, each with `created`, `modified` or `deleted`."""
    changed: dict[str, str] = {}
    for path in sorted(path for path in {*before, *after} if before.get(path) != after.get(path)):
        now, then = after.get(path), before.get(path)
        if now is not None and then is None and now.status == UNTRACKED:
            changed[path] = "created"
        elif (now is not None and now.stat is None) or (now is None and then is not None and then.status == UNTRACKED):
            changed[path] = "deleted"
        else:
            changed[path] = "modified"
    return changed


def _look(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
