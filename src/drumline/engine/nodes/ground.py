"""Where checks run: in a place in which nobody works, or in the step's own workspace, at exactly the tree they judge.

The rule: what lands is what is judged. Where the configuration says how dependencies come into a place, checks have one
of their own. Else they run in the workspace: ignored files that the attempt made do not land, so they are set aside
meanwhile; dependencies and caches in folders that everybody knows stay.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import anyio

from drumline.core.ids import Commit, Tree
from drumline.core.judge import DELETED
from drumline.core.plaintext import name_some
from drumline.core.products import MOST_IGNORED, asks_for, is_productless
from drumline.core.stepstate import StepState
from drumline.engine.nodes.stepwork import StepWork, known
from drumline.engine.products import MOST_HIDDEN, find_present, list_ignored
from drumline.engine.stage import Stage, Stand


def has_stage(work: StepWork) -> bool:
    """Whether checks run in a place in which nobody works."""
    return bool(work.setup)


async def stand_on_tree(work: StepWork, tree: Tree, *, base: Commit) -> Stand:
    """The place in which nobody works, with this tree."""
    ground = work.ground
    if ground.stage is None:
        ground.stage = Stage(services=work.services, tools=work.tools, setup=work.setup, step=work.orders.step.id)
    return await ground.stage.bring(tree, base=base)


async def stand_on_work(work: StepWork, state: StepState) -> Stand:
    """Where the checks of the work run: there is the tree of the work and nothing else of it."""
    step, ground = work.orders.step, work.ground
    if has_stage(work):
        return await stand_on_tree(work, known(state.tree), base=known(state.base))
    if not ground.held and (made := await _list_unlanded(work, state)):
        await work.services.workspaces.set_aside(step.id, made)
        ground.held = made
    return Stand(id=step.id, path=work.services.workspaces.path(step.id))


async def leave_ground(work: StepWork) -> None:
    """Let the workspace be as its agent left it, and others use the place."""
    if work.ground.stage is not None:
        await work.ground.stage.aclose()
        work.ground.stage = None
    if work.ground.held:
        work.ground.held = ()
        with anyio.CancelScope(shield=True):  # else the agent would miss what it made
            await work.services.workspaces.give_back(work.orders.step.id)


def tell_held(held: Sequence[str]) -> str:
    """What to say of files that a check did not see."""
    return f"(not there while checks run, because git ignores it and it does not land: {name_some(held)})"


def tell_output(output: str, held: Sequence[str], *, failed: bool) -> str:
    """What a check said, and what it could not see if it failed."""
    return f"{output}\n{tell_held(held)}" if held and failed else output


async def _list_unlanded(work: StepWork, state: StepState) -> Sequence[str]:
    """The ignored files of the work that could make checks pass without landing.

    What the plan asks for stays: a step that lands without it is not proved, and neither is one that lands nothing.
    """
    wanted = work.orders.step.files
    made = [path for path in await list_made(work, state) if not any(asks_for(entry, path) for entry in wanted)]
    changed = await work.services.workspaces.changed(known(state.base), known(state.tree))
    made += await _list_linked(work, known(state.tree), [path for path, kind in changed.items() if kind != DELETED])
    if not made or is_productless(changed, tree=known(state.tree), ready=state.ready):
        return ()
    return [*dict.fromkeys(made)]


async def _list_linked(work: StepWork, tree: Tree, changed: Sequence[str]) -> list[str]:
    """Files of the workspace that links of the work lead to and that are not in its tree: only the link lands."""
    top, found = work.services.workspaces.path(work.orders.step.id), []
    for link in [path for path in changed if (top / path).is_symlink()]:
        target = os.path.relpath(os.path.normpath(top / link.rpartition("/")[0] / (top / link).readlink()), top)
        inside = not target.startswith("..") and (top / target).is_file()
        if inside and await work.services.workspaces.read_text(tree, target) is None:
            found.append(target)
    return found


async def list_made(work: StepWork, state: StepState) -> Sequence[str]:
    """The ignored files of the work, also where there were more than the journal keeps."""
    made = state.last.ignored if state.last else ()
    if len(made) < MOST_IGNORED:
        return made
    present = find_present(state)
    return await list_ignored(work.services.workspaces, work.orders.step, present=present, most=MOST_HIDDEN)
