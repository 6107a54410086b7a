"""What the work on a step changes beside its own files: read from git, and put back if a person wants that."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core import events as ev
from drumline.core.ids import Tree
from drumline.core.overstep import compare_change
from drumline.core.stepstate import StepState
from drumline.core.strays import NOTHING, Strayed
from drumline.engine.nodes.stepwork import Note, StepWork, known


async def look_for_strays(work: StepWork, tree: Tree, state: StepState) -> Strayed:
    """What the tree changes beside the files of the step; a rename is a deletion and a new file."""
    if not work.orders.lands or tree == state.ready:
        return NOTHING
    changed = await work.services.workspaces.changed(known(state.base), tree)
    return compare_change(work.run, work.orders.step, work.services.read_pinned(work.orders.step), changed)


async def undo(work: StepWork, state: StepState, paths: Sequence[str]) -> Note:
    """Put files of the work back as they were before it."""
    workspaces, step = work.services.workspaces, work.orders.step.id
    before = await workspaces.find_tree(known(state.base))
    tree = await workspaces.compose(known(state.tree), before, paths)
    await workspaces.keep(step, str(state.attempts), known(state.tree), base=known(state.base))
    await workspaces.restore(step, tree)
    strayed = await look_for_strays(work, tree, state)
    return Note(step=[ev.WorkChanged(tree=tree, strayed=strayed, undone=tuple(paths))])
