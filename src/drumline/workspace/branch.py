"""The run branch, looked at: is what was landed still on it, and has somebody else written to it?

The rule: nothing is ever lost by settling it. Where the branch is moved, what it pointed at stays reachable by a ref.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from drumline.core.branch import Branch
from drumline.core.ids import Commit, StepId, Tree
from drumline.errors import GitError
from drumline.workspace.commits import read_commit, read_commits
from drumline.workspace.landing import LANDED, Target, free_branch
from drumline.workspace.refs import Update, write_refs

MOST_FOREIGN = 20
REPLACED = "@replaced"


async def find_head(target: Target) -> Commit:
    """Where the next work begins: the tip, if only we have moved the branch, else where we left it."""
    refs = await target.read_refs()
    tip, written = refs.get(target.ref), refs.get(target.head_ref)
    if tip is None or written is None or tip == written:
        found = written or tip
        if found is None:
            raise GitError(f"the run branch {target.branch!r} is gone", hint="drumline resume")
        return found
    # A crash between moving the branch and noting it leaves a landing of ours above what is noted.
    ours = await target.contains(tip, written) and not (await _look(target, ())).foreign
    return tip if ours else written


async def look_at_branch(target: Target, landed: Sequence[Commit], *, held: int) -> Branch:
    """The branch beside the landings that the journal knows, oldest first.

    A crash between moving the branch and noting it is made good here.
    """
    branch = await _look(target, landed)
    if branch.is_sound and branch.tip is not None and branch.tip != branch.written:
        await write_refs(target.git, [Update(ref=target.head_ref, new=branch.tip)], held=held)
    return branch


async def _look(target: Target, landed: Sequence[Commit]) -> Branch:
    prefix = target.head_ref.rpartition("/")[0]
    refs = await target.read_refs(f"{prefix}/*/{LANDED}*")
    tip = refs.get(target.ref)
    written = await _find_written(target, refs, landed)
    ours = {commit: _step_of(ref, prefix) for ref, commit in refs.items() if LANDED in ref.rpartition("/")[2]}
    if tip is None:
        return Branch(tip=None, written=written, missing=tuple(landed))
    known = {*landed, *ours}
    if tip == written and not ours.keys() - set(landed):
        return Branch(tip=tip, written=written)
    missing = [commit for commit in landed if not await target.contains(tip, commit)]
    unknown = [commit for commit in ours if commit not in set(landed) and await target.contains(tip, commit)]
    above = await read_commits(target.git, tip, *([f"^{written}"] if written else []), f"--max-count={MOST_FOREIGN}")
    foreign = [(made.id, _describe(made.author.name, made.message)) for made in above if made.id not in known]
    return Branch(
        tip=tip,
        written=written,
        missing=tuple(missing),
        foreign=tuple(foreign),
        unknown=tuple([(ours[commit], commit, await _tree_of(target, commit)) for commit in unknown]),
    )


async def _find_written(target: Target, refs: Mapping[str, Commit], landed: Sequence[Commit]) -> Commit | None:
    """Where we left the branch: what `@head` says, else the newest landing that still exists."""
    noted = refs.get(target.head_ref)
    for commit in reversed(landed):
        if noted is not None and await target.contains(noted, commit):
            return noted
        if await target.git.find_commit(commit):
            return commit
    return noted


async def settle_branch(target: Target, seen: Branch, to: Commit, *, held: int) -> str:
    """Let the branch stand at `to`; keep what it pointed at. Returns why that cannot be done, or nothing."""
    if seen.tip != to:
        refusal = await free_branch(target, to)
        if refusal:
            return refusal
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
