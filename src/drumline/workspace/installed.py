"""Whether dependencies in a worktree are still as the setup command left them.

The rule: what a check wrote there serves no other check. Caches that tools keep among dependencies are emptied of what
came later; any other change counts. The time of a change that is looked at is one that programs cannot set.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FOLDERS = frozenset({"node_modules", ".venv", "venv", "Pods", "bower_components", "__pypackages__", ".bundle", ".eggs"})
ENDINGS = (".egg-info", ".dist-info")
CACHES = frozenset({"__pycache__", ".cache", ".vite", ".vitest", ".pytest_cache"})
_OURS = frozenset({".git"})


def is_as_installed(top: Path, since: int) -> bool:
    """Whether nothing was changed in folders of dependencies after a time, in nanoseconds; empties their caches."""
    for place, folders, files in os.walk(top):
        inside = _is_inside(Path(place).relative_to(top).parts)
        folders[:] = [name for name in folders if name not in _OURS]
        caches = [name for name in folders if name in CACHES] if inside else []
        for name in caches:
            folders.remove(name)
            _empty(Path(place, name), since)
        if inside and _is_changed(place, files, since, caches=caches):
            return False
    return True


def _is_inside(parts: Sequence[str]) -> bool:
    return any(part in FOLDERS or part.endswith(ENDINGS) for part in parts)


def _is_changed(place: str, files: Sequence[str], since: int, *, caches: Sequence[str]) -> bool:
    """Whether a file was written, or one came or went; that also shows where a cache was made."""
    found = [f"{place}/{name}" for name in files]
    return any(_tell_change(path) > since for path in (found if caches else [place, *found]))


def _tell_change(path: str) -> int:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def _empty(cache: Path, since: int) -> None:
    """Remove what came into a cache after that time."""
    listed = [f"{place}/{name}" for place, _, files in os.walk(cache) for name in files]
    for path in (one for one in listed if _tell_change(one) > since):
        with suppress(OSError):
            Path(path).unlink()
