"""The run branch, looked at: is what was landed still on it, and has somebody else written to it?

The rule: nothing is ever lost by settling it. Where the branch is moved, what it pointed at stays reachable by a ref.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from urllib.parse import unquote

from drumline.core.branch import Branch
from drumline.core.ids import Commit, StepId, Tree
from drumline.errors import GitError
from drumline.ports.workspaces import Meant
from drumline.record import Record
from drumline.workspace.commits import read_commit, read_commits
from drumline.workspace.landing import LANDED, Target, free_branch
from drumline.workspace.refs import Update, write_refs

MOST_FOREIGN = 20
REPLACED = "@replaced"


async def find_head(target: Target, left: Commit | None = None, meant: Meant | None = None) -> Commit:
    """Where the next work begins: the tip, if only we have moved the branch, else where we left it.

    `left` is where the journal says that we did: anybody can move the ref that says so.
    """
    refs = await target.read_refs()
    tip, noted = refs.get(target.ref), refs.get(target.head_ref)
    if tip is None and noted is None:
        raise GitError(f"the run branch {target.branch!r} is gone", hint="drumline resume")
    if tip is not None and tip == noted and left in (None, tip):
        return tip
    branch = await _look(target, await _read_refs(target, meant), (), left)
    return (branch.tip if branch.is_sound else None) or branch.written or Commit(tip or "")


async def look_at_branch(
    target: Target, landed: Sequence[Commit], left: Commit | None, meant: Meant | None, *, held: int
) -> Branch:
    """The branch beside the landings that the journal knows, oldest first, and beside where it says that we `left` it.

    A crash between moving the branch and noting it is made good here.
    """
    refs = await _read_refs(target, meant)
    branch = await _look(target, refs, landed, left)
    if branch.is_sound and branch.tip is not None and branch.tip != refs.noted:
        await write_refs(target.git, [Update(ref=target.head_ref, new=branch.tip)], held=held)
    return branch


class _Refs(Record):
    """The branch, where it is noted that we left it, and our landings with their steps."""

    tip: Commit | None
    noted: Commit | None
    ours: Mapping[Commit, StepId]


async def _read_refs(target: Target, meant: Meant | None) -> _Refs:
    prefix = target.head_ref.rpartition("/")[0]
    refs = await target.read_refs(f"{prefix}/*/{LANDED}*")
    named = {commit: _step_of(ref, prefix) for ref, commit in refs.items() if LANDED in ref.rpartition("/")[2]}
    return _Refs(
        tip=refs.get(target.ref),
        noted=refs.get(target.head_ref),
        ours={commit: step for commit, step in named.items() if meant is None or meant(step, commit)},
    )


async def _look(target: Target, refs: _Refs, landed: Sequence[Commit], left: Commit | None) -> Branch:
    tip, ours = refs.tip, refs.ours
    known = {*landed, *ours}
    written = await _find_written(target, refs.noted, landed, left, known)
    if tip is None:
        return Branch(tip=None, written=written, missing=tuple(landed))
    if tip == written and not ours.keys() - set(landed):
        return Branch(tip=tip, written=written)
    missing = [commit for commit in landed if not await target.contains(tip, commit)]
    unknown = [commit for commit in ours if commit not in set(landed) and await target.contains(tip, commit)]
    return Branch(
        tip=tip,
        written=written,
        missing=tuple(missing),
        foreign=tuple(await _list_foreign(target, tip, written, known)),
        unknown=tuple([(ours[commit], commit, await _tree_of(target, commit)) for commit in unknown]),
        set_back=written is not None and not await target.contains(tip, written),
    )


async def _list_foreign(
    target: Target, tip: Commit, below: Commit | None, known: Collection[Commit]
) -> list[tuple[Commit, str]]:
    """The commits above another one that we did not make, each with its subject and author."""
    above = await read_commits(target.git, tip, *([f"^{below}"] if below else []), f"--max-count={MOST_FOREIGN}")
    return [(made.id, _describe(made.author.name, made.message)) for made in above if made.id not in known]


async def _find_written(
    target: Target, noted: Commit | None, landed: Sequence[Commit], left: Commit | None, known: Collection[Commit]
) -> Commit | None:
    """Where we left the branch: what `@head` says, if only landings of ours are above what the journal says; else that.

    Where what the journal says does not exist any more, it is the newest landing that does.
    """
    below = await _find_newest(target, [*landed, *([left] if left else [])])
    if noted is None or below is None or noted == below:
        return noted or below
    is_above = await target.contains(noted, below)
    return noted if is_above and not (left and await _list_foreign(target, noted, below, known)) else below


async def _find_newest(target: Target, commits: Sequence[Commit]) -> Commit | None:
    for commit in reversed(commits):
        if await target.git.find_commit(commit):
            return commit
    return None


async def settle_branch(target: Target, seen: Branch, to: Commit, *, held: int) -> str:
    """Let the branch stand at `to`; keep what it pointed at. Returns why that cannot be done, or nothing."""
    if seen.tip != to:
        refusal = await free_branch(target, to)
        if refusal:
            return refusal
    if seen.tip is None:  # or symbolic: that goes, and what it names stays
        await target.git.run("symbolic-ref", "--delete", target.ref, accept=(0, 1, 128))
    keeps = []
    if seen.tip is not None and seen.tip != to:
        folder = target.head_ref.rpartition("/")[0]
        keeps = [Update(ref=f"{folder}/{REPLACED}/{seen.tip}", new=seen.tip)]
    moves = [Update(ref=target.ref, new=to, old=seen.tip or ""), Update(ref=target.head_ref, new=to)]
    written = await write_refs(target.git, *([keeps] if keeps else []), moves, held=held, reason="settle the branch")
    return written.err if written.code else ""


def _step_of(ref: str, prefix: str) -> StepId:
    name = ref.removeprefix(f"{prefix}/").rpartition("/")[0]
    return StepId(unquote(name, errors="surrogateescape"))


def _describe(author: str, message: str) -> str:
    subject = message.strip().partition("\n")[0]
    return f"{subject} ({author})"[:200]


async def _tree_of(target: Target, commit: Commit) -> Tree:
    return (await read_commit(target.git, commit)).tree
