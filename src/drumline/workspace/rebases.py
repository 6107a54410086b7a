"""A rebase of the run branch that the user has begun: at its end git moves the branch only if nobody else has."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import anyio

from drumline.workspace.worktrees import list_records, read_target

PATIENCE = 10.0
"""Seconds to wait for a rebase; one with a conflict may stay open for days."""
_LOOK = 0.05
_NOTES = ("rebase-merge/head-name", "rebase-apply/head-name")


async def wait_for_rebase(common_dir: Path, ref: str, *, besides: Path) -> Path | None:
    """Wait until `ref` is not being rebased in any worktree; the state folder of a rebase that takes longer.

    A rebase in a worktree below `besides` is an agent's, and does not count.
    """
    deadline = time.monotonic() + PATIENCE
    while (found := _find_rebase(common_dir, ref, besides)) is not None and time.monotonic() < deadline:  # noqa: ASYNC110 - files
        await anyio.sleep(_LOOK)
    return found


def _find_rebase(common_dir: Path, ref: str, besides: Path) -> Path | None:
    records = [record for record in list_records(common_dir) if not _is_below(read_target(record), besides)]
    for note in (folder / name for folder in (common_dir, *records) for name in _NOTES):
        with suppress(OSError):
            if note.read_text(encoding="utf-8", errors="replace").strip() == ref:
                return note.parent
    return None


def _is_below(target: Path | None, folder: Path) -> bool:
    return target is not None and target.is_relative_to(folder)
