"""Landing: a step's commit reaches the run branch exactly once, by compare-and-set, no matter who else lands.

Landings of a run are made one at a time, under the lock that git inherits: what a dead driver's git still does is
waited for. Before the branch moves, a ref of the step's own says which commit lands for which candidate; a landing is
recognised by that ref, never by its message. A second ref, `@head`, says what we wrote last: a branch that stands
elsewhere was moved by somebody else, and is not moved until that is settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import anyio

from drumline.core.ids import Commit, RunId, StepId, Tree
from drumline.errors import GitError
from drumline.ports.workspaces import Landing, Merge
from drumline.record import Record
from drumline.workspace.commits import Made, read_commit, recall_commit
from drumline.workspace.git import Git, Result
from drumline.workspace.locks import back_off, is_busy, retry_busy
from drumline.workspace.rebases import wait_for_rebase
from drumline.workspace.refs import Update, read_loose, write_refs
from drumline.workspace.worktrees import detach_head, file_name, find_checkouts, find_record, may_be_checked_out

LANDED = "landed-"
PATIENCE = 10.0
"""Seconds to wait for a lock of somebody else's git."""
_TAKEN = "taken"
_SYMBOLIC = "symbolic"
_EACH = f"%(if)%(symref)%(then){_SYMBOLIC} %(end)%(objectname) %(refname)"
"""We write no symbolic ref: one in place of ours counts as gone, whatever it names."""


def name_head(run: RunId) -> str:
    """The ref that says what we wrote last to the branch of a run; no step can be called so."""
    return f"refs/drumline/{file_name(run)}/@head"


class Target(Record):
    """Where a run lands; `folder` holds the run's own worktrees, `checkout` is the one it works in, if it does."""

    git: Git
    run: RunId
    branch: str
    folder: Path
    checkout: Path | None = None

    @property
    def ref(self) -> str:
        """The full name of the run branch."""
        return f"refs/heads/{self.branch}"

    @property
    def head_ref(self) -> str:
        """The ref that says what we wrote last; no step can be called so."""
        return name_head(self.run)

    def step_refs(self, step: StepId) -> str:
        """What the names of a step's refs begin with."""
        return f"refs/drumline/{file_name(self.run)}/{file_name(step)}/"

    async def read_refs(self, *patterns: str) -> Mapping[str, Commit]:
        """The run branch, `@head`, and what else the patterns name, each with its commit."""
        return {ref: Commit(commit) for commit, ref in await self._list_refs(_EACH, *patterns)}

    async def read_standing(self, *patterns: str) -> tuple[Mapping[str, Commit], bool]:
        """The same refs, and whether a worktree, of the user's or of ours, has the run branch checked out."""
        form = f"{_EACH}%(if)%(worktreepath)%(then) {_TAKEN}%(end)"
        listed = await retry_busy(lambda: self._list_refs(form, *patterns))
        refs = {words[1]: Commit(words[0]) for words in listed}
        return refs, any(words[1:] == [self.ref, _TAKEN] for words in listed)

    async def _list_refs(self, form: str, *patterns: str) -> list[list[str]]:
        listed = await self.git.run("for-each-ref", f"--format={form}", self.ref, self.head_ref, *patterns)
        return [line.split(" ") for line in listed.line.splitlines() if not line.startswith(_SYMBOLIC)]

    async def contains(self, tip: str, commit: str) -> bool:
        """Whether `commit` is in the history of `tip`, which a ref has; one that does not exist any more is not."""
        if tip == commit:
            return True
        return not (await self.git.run("merge-base", "--is-ancestor", commit, tip, accept=(0, 1, 128))).code


async def land_commit(target: Target, step: StepId, commit: Commit, *, head: Commit, held: int) -> Landing:
    """Bring `commit` onto the branch, or adopt the landing of this step found above `head`."""
    rebased = await wait_for_rebase(target.git.common_dir, target.ref, besides=target.folder)
    if rebased is None and (landing := await _land_at_once(target, step, commit, head=head, held=held)):
        return landing
    refs, taken = await target.read_standing(f"{target.step_refs(step)}{LANDED}*")
    tip = refs.get(target.ref)
    if tip is None:
        return Landing(refusal=f"the run branch {target.branch!r} is gone", moved=True)
    found = await _find_landing(target, refs, commit, head=head, tip=tip)
    if found:
        return Landing(commit=found.id, tree=found.tree, adopted=True)
    if refs.get(target.head_ref, tip) != tip:
        return Landing(refusal=f"the run branch {target.branch!r} was moved by somebody else", moved=True)
    if rebased is not None:
        where = f"the run branch {target.branch!r} is being rebased in {str(rebased)!r}"
        return Landing(refusal=f"{where}; it is moved only when that is over (git rebase --continue or --abort)")
    made = await read_commit(target.git, commit)
    if made.parents != (tip,):
        return Landing(behind=tip)
    refusal = await free_branch(target, tip) if taken else ""
    if refusal:
        return Landing(refusal=refusal)
    return await _move(target, step, made, tip=tip, held=held)


async def _land_at_once(target: Target, step: StepId, commit: Commit, *, head: Commit, held: int) -> Landing | None:
    """Move the branch if it is where the work began, as mostly; None if git refuses that, or has to be asked first."""
    made = recall_commit(target.git, commit)
    if made is None or made.parents != (head,) or read_loose(target.git, target.ref) != head:
        return None
    if may_be_checked_out(target.git.common_dir, target.ref):
        return None
    moved = await _write_landing(target, step, made, tip=head, noted=head, held=held)
    return None if moved.code else Landing(commit=made.id, tree=made.tree)


async def find_landing(target: Target, step: StepId, commit: Commit) -> Landing | None:
    """The landing of a candidate that git knows, whatever the journal says."""
    ref = f"{target.step_refs(step)}{LANDED}{commit}"
    refs = await target.read_refs(ref)
    if target.ref not in refs:
        return None
    found = await _find_landing(target, refs, commit, head=None, tip=refs[target.ref])
    return Landing(commit=found.id, tree=found.tree, adopted=True) if found else None


async def _find_landing(
    target: Target, refs: Mapping[str, Commit], commit: Commit, *, head: Commit | None, tip: Commit
) -> Made | None:
    """A landing of exactly this candidate, or of the step above `head`."""
    for ref, landed in refs.items():
        if LANDED not in ref.rpartition("/")[2]:
            continue
        exact = ref.endswith(f"/{LANDED}{commit}")
        if not await target.contains(tip, landed):
            continue
        if exact or (head is not None and not await target.contains(head, landed)):
            return await read_commit(target.git, landed)
    return None


async def merge_commit(git: Git, commit: Commit, onto: Commit) -> Merge:
    """Put the change of a commit on another one; where both changed the same, the tree has conflict markers."""
    merge = await git.run(
        "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", onto, commit, accept=(0, 1)
    )
    tree, *conflicts = merge.items
    below = await read_commit(git, onto)
    return Merge(tree=Tree(tree), onto=below.tree, conflicts=tuple(sorted(set(conflicts))))


async def free_branch(target: Target, tip: Commit) -> str:
    """Say where the branch is checked out, unless that is a workspace of this run, which is simply detached."""
    for path in await find_checkouts(target.git, target.ref):
        if target.checkout is not None and path.resolve() == target.checkout:
            continue
        record = find_record(target.git, path)
        if record is None or not path.is_relative_to(target.folder):
            return f"the run branch {target.branch!r} is checked out at {str(path)!r}; it is moved only when it is not"
        await detach_head(target.git, record, tip)
    return ""


async def _move(target: Target, step: StepId, made: Made, *, tip: Commit, held: int) -> Landing:
    """Move the branch from `tip` to the commit, after the step's ref says so."""
    deadline = anyio.current_time() + PATIENCE
    for attempt in count():
        moved = await _write_landing(target, step, made, tip=tip, held=held)
        if moved.code == 0:
            return Landing(commit=made.id, tree=made.tree)
        if not is_busy(moved.err) or "but expected" in moved.err or anyio.current_time() > deadline:
            break
        await back_off(attempt)
    if is_busy(moved.err):
        said = moved.err.partition("\n")[0]
        return Landing(
            refusal=f"the run branch {target.branch!r} cannot be moved: {said}", moved="but expected" in said
        )
    raise GitError(f"the run branch {target.branch!r} cannot be moved: {moved.err}", hint="drumline doctor")


async def _write_landing(
    target: Target, step: StepId, made: Made, *, tip: Commit, noted: Commit | None = None, held: int
) -> Result:
    """Say that the commit lands, then move the branch from `tip`, if we have `noted` that it stands there."""
    says = [Update(ref=f"{target.step_refs(step)}{LANDED}{made.id}", new=made.id)]
    moves = [Update(ref=target.ref, new=made.id, old=tip), Update(ref=target.head_ref, new=made.id, old=noted)]
    return await write_refs(target.git, says, moves, held=held, reason=f"land {step!r}")
