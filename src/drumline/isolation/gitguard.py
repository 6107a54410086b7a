"""What leads git elsewhere in a checkout that an agent works in. The rule: it is after the work as it was before.

A jail mounts over files and folders, and so keeps them as they are. It cannot mount over a link, nor over what is not
there: such ways for git are put back when the work has ended.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from drumline.isolation.homes import SEALED

WAYS = (".git", ".git/commondir", *(f".git/{name}" for name in SEALED))
"""In a workspace: `commondir` says where git finds its configuration and hooks instead."""
OWN = ""
"""In place of what a link says: a file or folder that is not a link."""


@contextmanager
def guard_git(workspace: Path) -> Iterator[None]:
    """Put back after the work what an agent has made of git's ways in a checkout."""
    before = _look(workspace) if (workspace / ".git").is_dir() else None
    try:
        yield
    finally:
        if before is not None:
            _put_back(workspace, before)


def _look(workspace: Path) -> dict[str, str]:
    """The ways that are there, each with what it says if it is a link."""
    found: dict[str, str] = {}
    for name in WAYS:
        path = workspace / name
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.exists():
            found[name] = OWN
    return found


def _put_back(workspace: Path, before: Mapping[str, str]) -> None:
    for name in WAYS:
        # Looked at anew each time: `.git` comes first, and the others are in it.
        after = _look(workspace)
        if after.get(name) == before.get(name) or before.get(name) == OWN:
            continue
        path = workspace / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if name in before:
            path.symlink_to(before[name])
