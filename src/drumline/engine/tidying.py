"""Removes what nobody needs any more when a driver leaves: workspaces of closed steps, entries of dead drivers.

The rule: no work is ever only in what is removed, nobody can claim the step meanwhile, and what cannot be removed now
is not an error.
"""

from __future__ import annotations

import contextlib

import anyio

from drumline.core.ids import DriverId, StepId
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd
from drumline.engine.services import Services
from drumline.errors import GitError

SKIPPED, CANCELLED = "skipped", "cancelled"
OVER = frozenset({"done", SKIPPED})
CLOSING = frozenset({RunEnd.DONE, RunEnd.CANCELLED})
"""The ends of runs that no driver takes up again, so that no driver would remove what is left."""


async def tidy_up(services: Services, run: RunState, driver: DriverId, ending: RunEnd | None = None) -> None:
    """Remove the workspaces of steps that are skipped or cancelled with the run, and those that no step has.

    Another driver of the run makes new ones. A flow by itself has delivered its own, or leaves it to be looked at.
    Dead drivers are taken off. `ending` is how the run is about to end.
    """
    if run.lands:
        await _retire_places(services, run, driver, ending)
    # A dead driver's supervisors may need a moment to end.
    await anyio.to_thread.run_sync(services.roster.clear_dead)


async def _retire_places(services: Services, run: RunState, driver: DriverId, ending: RunEnd | None) -> None:
    for step in [step for step in {*run.finished, *run.working} if not needs_workspace(run, step, ending)]:
        token = services.store.take(run.id, step, driver) if services.workspaces.has_place(step) else None
        if token is None:
            continue
        try:
            with contextlib.suppress(GitError, OSError):
                await services.workspaces.retire(step, choose_label(run, step))
        finally:
            services.store.release(run.id, step, token)
    with contextlib.suppress(GitError, OSError):
        await services.workspaces.drop_released()


def needs_workspace(run: RunState, step: StepId, ending: RunEnd | None = None) -> bool:
    """Whether work on the step may go on in its workspace: not once it is done or skipped, or the run is over."""
    finished = run.finished.get(step)
    over = (ending if run.ended is None else run.ended.state) in CLOSING
    return not over and (finished is None or finished.state not in OVER)


def choose_label(run: RunState, step: StepId) -> str:
    """The label under which what is in the workspace of a closed step is kept: how the step ended, or the run."""
    finished = run.finished.get(step)
    return CANCELLED if finished is None else finished.state.value
