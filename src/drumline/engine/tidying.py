"""Removes what nobody needs any more when a driver leaves: workspaces of finished steps, entries of dead drivers.

The rule: no work is ever only in what is removed, and what cannot be removed now is not an error.
"""

from __future__ import annotations

import contextlib

import anyio

from drumline.core.ids import StepId
from drumline.core.state import RunState
from drumline.engine.kit import Kit
from drumline.engine.salvage import read_work
from drumline.errors import GitError

SKIPPED = "skipped"
OVER = frozenset({"done", SKIPPED})


async def tidy_up(kit: Kit, run: RunState) -> None:
    """Remove the workspaces of steps that are done or skipped, and take dead drivers off."""
    held = kit.store.held(run.id)
    for step, finished in run.finished.items():
        if finished.state in OVER and step not in held and kit.workspaces.path(step).exists():
            with contextlib.suppress(GitError, OSError):
                await _remove(kit, run, step, keep=finished.state == SKIPPED)
    # A dead driver's supervisors may need a moment to end.
    await anyio.to_thread.run_sync(kit.roster.clear_dead)


async def _remove(kit: Kit, run: RunState, step: StepId, *, keep: bool) -> None:
    if keep:  # its driver may have died in the middle of an attempt
        work = await read_work(kit.workspaces, step, base=run.begun.base)
        await kit.workspaces.keep(step, SKIPPED, work.tree, base=run.begun.base)
    await kit.workspaces.remove(step)
