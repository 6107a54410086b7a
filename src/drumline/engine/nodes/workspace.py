"""The workspace of a step: a worktree at the head of the run branch, with what the setup command makes in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from drumline.core import events as ev
from drumline.core.firstlines import find_first
from drumline.core.ids import Commit, Tree
from drumline.core.products import MOST_WALKED, asks_for, choose_products, sort_present, stays
from drumline.core.stepstate import StepState
from drumline.engine.branchwatch import know_landings
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.products import look_for_ignored
from drumline.engine.stage import provide, write_job
from drumline.errors import ChildKilled
from drumline.ports.processes import Ended

SETUP = "setup"


async def intend(work: StepWork) -> Note:
    """Where it will be, and at which commit."""
    # A slow setup must not let an edit slip in under the old text's name.
    work.services.read_pinned(work.orders.step)
    base = await _find_head(work)
    path = str(work.services.workspaces.path(work.orders.step.id))
    return Note(step=[ev.WorkspaceAssigned(path=path, base=base)])


async def _find_head(work: StepWork) -> Commit:
    """Where the work begins; git is asked only if the branch may not be where the journal says that we left it."""
    left, workspaces = work.run.left, work.services.workspaces
    if workspaces.stands_at(left):
        return left
    return await workspaces.head(left, know_landings(work.services.store, work.run))


async def set_up(work: StepWork) -> Ended:
    """Run the setup command of the run in the step's workspace."""
    step = work.orders.step.id
    job = write_job(
        work.services, work.setup, work.services.workspaces.path(step), work.services.log(step, f"{SETUP}.log")
    )
    return await work.tools.processes.run(work.tools.checks.strip(job))


async def _install(work: StepWork) -> str:
    """Run the setup command if there is one; why it failed, or an empty text."""
    command = work.setup.command
    ended = await set_up(work) if command else Ended(exit_code=0, seconds=0.0)
    if ended.killed:
        raise ChildKilled(f"the setup command {command}")
    why = ended.message or f"exit code {ended.exit_code}"
    told = " / ".join(find_first(ended.output))
    return f"setup command failed ({why}): {command}{told and f': {told}'}" if ended.exit_code != 0 else ""


async def act(work: StepWork, state: StepState) -> Note:
    """Make it, or say why it cannot be made."""
    step, workspaces = work.orders.step.id, work.services.workspaces
    base, setup = known(state.base), work.setup
    if not setup:
        return Note(step=[ev.WorkspaceReady(tree=await workspaces.prepare(step, base))])
    name = setup.name(await workspaces.list_files(await workspaces.find_tree(base)))
    again = state.round > 0  # whatever was wrong with it: another round begins from nothing
    tree = await workspaces.prepare(step, base, setup="" if again else name)
    if not again and workspaces.is_set_up(step, name):
        return Note(step=[ev.WorkspaceReady(tree=tree)])
    earlier = await look_for_ignored(workspaces, step, work.orders.step.files)
    refusal = await provide(work.services, setup, workspaces.path(step), link=False) or await _install(work)
    if refusal:
        return Note(step=[ev.WorkspaceFailed(reason=refusal)])
    made = await workspaces.snapshot(step, base=base)
    if made != tree:  # what is on no branch is gone once the user prunes the repository
        await workspaces.keep(step, SETUP, made, base=base)
    now = await look_for_ignored(workspaces, step, work.orders.step.files)
    left = count_left(await workspaces.changed(base, made)) if made != tree else {}
    ready = _describe(made, sort_present(earlier, now, _recall(state)), work.orders.step.files, left)
    if made == tree and stays(now):  # else the next step needs all of it again
        await workspaces.note_setup(step, name)
    return Note(step=[ready])


def count_left(paths: Iterable[str]) -> dict[str, int]:
    """How many files there are by the folder at the top; one that is alone in it is named itself."""
    by_top: dict[str, list[str]] = {}
    for path in paths:
        by_top.setdefault(path.partition("/")[0], []).append(path)
    return {found[0] if len(found) == 1 else top: len(found) for top, found in by_top.items()}


def _recall(state: StepState) -> Mapping[str, str]:
    """What an earlier setup made in this worktree, with the fingerprints that are known of it."""
    return {**dict.fromkeys(state.ignored, ""), **state.fingerprints}


def _describe(
    tree: Tree, present: Mapping[str, str], wanted: Sequence[str], left: Mapping[str, int]
) -> ev.WorkspaceReady:
    chosen = choose_products(present, wanted=wanted, most=MOST_WALKED)
    named = [path for path in chosen if present[path] and any(asks_for(entry, path) for entry in wanted)]
    return ev.WorkspaceReady(tree=tree, ignored=chosen, fingerprints={path: present[path] for path in named}, left=left)
