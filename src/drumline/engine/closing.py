"""Closes what a driver left open in a step: as landed if git knows the landing, else as lost.

The rule: the workspace has the tree that the journal knows before anybody works in it; whatever else was in it is kept
under a ref.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import DriverId, StepId, Token
from drumline.core.life import Phase
from drumline.core.stepstate import StepState
from drumline.engine.kills import repeat_killed
from drumline.engine.nodes.stepwork import StepWork
from drumline.engine.salvage import read_work
from drumline.ports.workspaces import Workspaces

Recover = Callable[[StepState, DriverId], list[ev.Event]]


async def close_open(work: StepWork, state: StepState, owner: DriverId, recover: Recover) -> list[ev.Event]:
    """What to record about the intent that `owner` left open; nothing if there is none."""
    lost = recover(state, owner)
    if not lost or state.phase is not Phase.LANDING or state.candidate is None:
        return lost
    find = partial(work.services.workspaces.find_landing, work.orders.step.id, state.candidate)
    landing = await repeat_killed(find, work.services.clock)
    if landing is None or landing.commit is None or landing.tree is None:
        return lost
    return [ev.StepLanded(commit=landing.commit, tree=landing.tree, adopted=True)]


async def adopt_changes(work: StepWork, state: StepState) -> list[ev.Event]:
    """What to record about files that a person changed in the workspace: no proof is about that yet."""
    step, workspaces = work.orders.step.id, work.services.workspaces
    if state.phase is not Phase.WORKED or state.base is None or not _is_there(workspaces, step):
        return []
    found = await read_work(workspaces, step, base=state.base)
    return [ev.WorkChanged(tree=found.tree, node=gates.BY_HAND)] if found.tree != state.tree else []


def tell_moved(step: StepId, state: StepState, events: Sequence[ev.Event]) -> list[ev.Event]:
    """What the run records of a landing among the events of a step: where its branch stands."""
    landed = [event for event in events if isinstance(event, ev.StepLanded)]
    return [
        ev.BranchMoved(step=step, old=state.base, new=event.commit, tree=event.tree)
        for event in landed
        if state.base is not None
    ]


async def restore_workspace(work: StepWork, state: StepState, token: Token) -> None:
    """Bring the workspace to the tree the journal knows; keep by ref what an interrupted attempt left in it."""
    step, workspaces = work.orders.step.id, work.services.workspaces
    if state.phase not in (Phase.PREPARED, Phase.WORKED) or state.tree is None or state.base is None:
        return
    if _is_there(workspaces, step):
        found = await read_work(workspaces, step, base=state.base)
        if found.tree not in (state.tree, state.ready):
            await workspaces.keep(step, f"lost-{token}", found.tree, base=state.base)
    await workspaces.restore(step, state.tree, base=state.base)


def _is_there(workspaces: Workspaces, step: StepId) -> bool:
    """Whether the step has a workspace, and the work in it is its own."""
    return workspaces.has_place(step) and workspaces.path(step).exists()
