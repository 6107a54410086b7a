"""What the work on a step changes beside its own files, and which landed steps share files with it: read from git.

What is not the step's is put back if a person wants that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drumline.core import events as ev
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.overstep import compare_change
from drumline.core.sharing import list_sharing
from drumline.core.stepstate import StepState
from drumline.core.strays import NOTHING, Foreign, Strayed
from drumline.core.vocabulary import Mode
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.products import spell_path
from drumline.record import Record, replace

MOST = 20
"""Files of one conflict that are noted."""


class Reach(Record):
    """How far work reaches: what it changes beside the files of its step, and the landed steps that it shares with."""

    strayed: Strayed = NOTHING
    sharing: tuple[StepId, ...] = ()


async def look_round(work: StepWork, tree: Tree, state: StepState) -> Reach:
    """How far the tree reaches; a rename is a deletion and a new file."""
    if not work.orders.lands or tree == state.ready:
        return Reach()
    base = known(state.base)
    changed = await work.services.workspaces.changed(base, tree)
    strayed = compare_change(work.run, work.orders.step, work.services.read_pinned(work.orders.step), changed)
    later = {*work.run.landed_since(base)}
    landed = [finished for finished in work.run.finished.values() if finished.commit and finished.step not in later]
    files = ((finished.step, finished.files) for finished in landed)
    return Reach(strayed=strayed, sharing=find_sharing(work, changed, files))


async def note_change(work: StepWork, tree: Tree, state: StepState) -> ev.WorkChanged:
    """What is recorded about work that something else than an attempt has changed."""
    found = await look_round(work, tree, state)
    return ev.WorkChanged(tree=tree, strayed=found.strayed, sharing=found.sharing)


def find_sharing(
    work: StepWork, changed: Iterable[str], landed: Iterable[tuple[StepId, Sequence[str]]]
) -> tuple[StepId, ...]:
    """The landed steps, given with their files, that share one with the work."""
    return list_sharing(work.run, work.orders.step.id, [*map(spell_path, changed)], landed)


async def foresee_conflicts(work: StepWork, commit: Commit) -> tuple[Foreign, ...]:
    """The files in which the work conflicts with what others are writing, which is not known to anybody yet."""
    run = work.run
    others = [step for step in run.working if step not in run.finished and step != work.orders.step.id]
    if not others or not work.orders.lands or run.mode is not Mode.PARALLEL:
        return ()
    found = await work.services.workspaces.foresee(commit, others)
    return tuple(Foreign(path=spell_path(path), owner=step) for step, paths in found.items() for path in paths[:MOST])


async def undo(work: StepWork, state: StepState, paths: Sequence[str]) -> Note:
    """Put files of the work back as they were before it."""
    workspaces, step = work.services.workspaces, work.orders.step.id
    before = await workspaces.find_tree(known(state.base))
    tree = await workspaces.compose(known(state.tree), before, paths)
    await workspaces.keep(step, str(state.attempts), known(state.tree), base=known(state.base))
    await workspaces.restore(step, tree)
    return Note(step=[replace(await note_change(work, tree, state), undone=tuple(paths))])
