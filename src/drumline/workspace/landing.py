"""Landing: a step's commit reaches the run branch exactly once, by compare-and-set, whoever else lands meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drumline.core.ids import Commit, RunId, StepId, Tree
from drumline.errors import GitError
from drumline.ports.workspaces import Landing
from drumline.workspace.commits import Made, is_signed, make_commit, read_commit, read_commits, read_identity, read_tip
from drumline.workspace.git import Git
from drumline.workspace.locks import back_off, is_busy
from drumline.workspace.refs import write_ref
from drumline.workspace.worktrees import detach_head, find_checkouts, find_record

_TRIES = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where a run lands; `folder` holds the run's own worktrees, `ref_lock` is taken to write its refs."""

    git: Git
    run: RunId
    branch: str
    folder: Path
    ref_lock: Path

    @property
    def ref(self) -> str:
        """The full name of the run branch."""
        return f"refs/heads/{self.branch}"


async def land_commit(target: Target, step: StepId, commit: Commit, *, head: Commit) -> Landing:
    """Bring `commit` onto the branch, or adopt the landing of this step found above `head`."""
    made = await read_commit(target.git, commit)
    for attempt in range(_TRIES):
        tip = await read_tip(target.git, target.branch)
        found = await _find_landing(target, step, head=head, tip=tip)
        if found:
            return Landing(commit=found.id, tree=found.tree, merged=found.id != commit, adopted=True)
        landing = await _place(target.git, made, tip)
        if landing.commit is None:
            return landing
        refusal = await _free_branch(target, tip)
        if refusal:
            return Landing(refusal=refusal)
        if await _move(target, step, landing.commit, tip=tip):
            return landing
        await back_off(attempt)
    raise GitError(f"the run branch {target.branch!r} kept moving during {_TRIES} landings", hint="drumline resume")


async def _find_landing(target: Target, step: StepId, *, head: Commit, tip: Commit) -> Made | None:
    if head == tip:
        return None
    above = await read_commits(target.git, f"{head}..{tip}")
    return next((made for made in above if is_signed(made.message, run=target.run, step=step)), None)


async def _place(git: Git, made: Made, tip: Commit) -> Landing:
    """The commit itself if it stands on the tip, else its change merged onto the tip as one new commit."""
    if made.parents == (tip,):
        return Landing(commit=made.id, tree=made.tree)
    merge = await git.run(
        "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", tip, made.id, accept=(0, 1)
    )
    tree, *conflicts = merge.items
    if merge.code:
        return Landing(conflicts=tuple(sorted(set(conflicts))))
    when = max(made.committed, (await read_commit(git, tip)).committed)
    committer = await read_identity(git, when=when)
    moved = await make_commit(git, tree, [tip], message=made.message, author=made.author, committer=committer)
    return Landing(commit=moved, tree=Tree(tree), merged=True)


async def _free_branch(target: Target, tip: Commit) -> str:
    """Say where the branch is checked out, unless that is a workspace of this run, which is simply detached."""
    for path in await find_checkouts(target.git, target.ref):
        record = find_record(target.git, path)
        if record is None or not path.is_relative_to(target.folder):
            return f"the run branch {target.branch!r} is checked out at {str(path)!r}; it is moved only when it is not"
        await detach_head(target.git, record, tip)
    return ""


async def _move(target: Target, step: StepId, new: Commit, *, tip: Commit) -> bool:
    """Move the branch from `tip` to `new`; False if somebody else moved it or is about to."""
    reason = f"land {step!r}"
    moved = await write_ref(target.git, target.ref, new, old=tip, lock=target.ref_lock, reason=reason)
    if moved.code == 0:
        return True
    if not is_busy(moved.err):
        raise GitError(f"the run branch {target.branch!r} cannot be moved: {moved.err}", hint="drumline doctor")
    return False
