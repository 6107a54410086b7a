"""What processes of ours that died left in the user's repository.

The rule: only what is provably ours is removed, under the lock of the step that it belongs to.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from drumline.workspace.locks import take_lock
from drumline.workspace.refs import clear_noted, find_noted
from drumline.workspace.worktrees import bury_record, find_aside, is_broken, list_records, read_target

OLD = 600.0
"""Seconds after which a folder that a record passes through for a moment is left over."""


def find_broken_records(common_dir: Path, root: Path) -> list[Path]:
    """Records of worktrees below `root` that a crash left half made: git fails for the user until they are gone."""
    return [record for record in list_records(common_dir) if is_broken(record) and _find_worktree(record, root)]


def clear_records(common_dir: Path, root: Path) -> list[Path]:
    """Remove half made records of ours, unless a live process works on them; returns those it removed."""
    removed = []
    for record in find_broken_records(common_dir, root):
        worktree = _find_worktree(record, root)
        if worktree is None:
            continue
        with suppress(BlockingIOError):
            lock = take_lock(worktree.parent.with_name(f"{worktree.parent.name}.aside") / f"{worktree.name}.lock")
            try:
                bury_record(common_dir, record)
                removed.append(record)
            finally:
                os.close(lock)
    _clear_passing(find_aside(common_dir))
    return removed


def clear_ref_locks(common_dir: Path) -> list[Path]:
    """Remove git's lock files of refs that processes of ours died writing; returns those it removed."""
    return _visit_ref_locks(common_dir, clear_noted)


def find_ref_locks(common_dir: Path) -> list[Path]:
    """Git's lock files of refs that processes of ours died writing."""
    return _visit_ref_locks(common_dir, find_noted)


def _visit_ref_locks(common_dir: Path, act: Callable[[Path, int], list[Path]]) -> list[Path]:
    found = []
    for file in (common_dir / "drumline" / "locks").glob("refs-*"):
        with suppress(BlockingIOError):
            lock = take_lock(file)
            try:
                found += act(common_dir, lock)
            finally:
                os.close(lock)
    return found


def _find_worktree(record: Path, root: Path) -> Path | None:
    """The worktree of ours that a record is about, `<root>/<run>/<step>`."""
    target = read_target(record)
    ours = target is not None and target.is_relative_to(root) and len(target.relative_to(root).parts) == 3
    return target.parent if target is not None and ours else None


def _clear_passing(folder: Path) -> None:
    """Remove what crashes left where records are made and buried."""
    with suppress(OSError):
        for entry in folder.iterdir():
            if time.time() - entry.stat().st_mtime > OLD:
                shutil.rmtree(entry, ignore_errors=True)
