"""Sets files of a workspace aside for a while, and brings them back. The rule: a file is always at one of two places,
so that whoever comes after a kill finds it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath


def set_aside(root: Path, aside: Path, paths: Sequence[str]) -> None:
    """Move these files out of the workspace; what is not there, or lies behind a link, stays as it is."""
    for path in paths:
        if _is_plain(root, path):
            (aside / path).parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):
                (root / path).rename(aside / path)


def bring_back(root: Path, aside: Path) -> None:
    """Move everything that was set aside back to where it was; it wins over what was made there meanwhile."""
    if not aside.is_dir():
        return
    for place, _, names in os.walk(aside):
        for name in names:
            path = (Path(place) / name).relative_to(aside)
            with suppress(OSError):
                _return(aside / path, root / path, root)
    shutil.rmtree(aside, ignore_errors=True)


def _return(hidden: Path, original: Path, root: Path) -> None:
    if any(parent.is_symlink() for parent in original.parents if parent.is_relative_to(root) and parent != root):
        return
    if original.is_dir() and not original.is_symlink():
        shutil.rmtree(original, ignore_errors=True)
    original.parent.mkdir(parents=True, exist_ok=True)
    hidden.replace(original)


def _is_plain(root: Path, path: str) -> bool:
    """Whether a file, or a link, is at the path, inside of the workspace and not behind a link."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or ".git" in pure.parts:
        return False
    if any((root / parent).is_symlink() for parent in list(pure.parents)[:-1]):
        return False
    return (root / path).is_symlink() or (root / path).is_file()
