"""Branches and refs of runs that are over, and which of them hold nothing that is not elsewhere.

The rule: a ref may go if its commit is reachable from a branch of the user, or if one of these branches, or the run
branch that is there already, has its tree or its change. Everything else is work that only this ref keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from drumline.core.ids import Commit
from drumline.record import Record
from drumline.workspace.absorbed import is_absorbed
from drumline.workspace.git import ask_git
from drumline.workspace.refs import AS_IT_IS

BRANCHES = "refs/heads/"
OURS = "refs/heads/drumline/"
CHECKED_OUT = "it is checked out"
ALONE = "nothing else has its work; --discard removes it"
MOST = 20_000
"""Commits whose trees are looked at."""
_FORMAT = "--format=%(refname)%00%(objectname)%00%(objecttype)%00%(tree)"


class RunRef(Record):
    """A ref of a run; `kept` says why it stays, `used` that it stays in any case."""

    ref: str
    commit: Commit
    kept: str = ""
    used: bool = False


def find_run_refs(top: Path, run: str, branch: str, base: Commit) -> list[RunRef]:
    """The branch of a run that began at `base`, and all its refs, each with what speaks against removing it.

    A run that works on a branch of the user has none of its own: `branch` is empty then.
    """
    own = [f"{BRANCHES}{branch}"] if branch else []
    listed = ask_git("for-each-ref", _FORMAT, *own, f"refs/drumline/{run}/", cwd=top).line
    found = [line.split("\0") for line in listed.splitlines()]
    if not found:
        return []
    users = _list_users(top)
    merged = {commit for _, commit, kind, _ in found if kind == "commit" and _is_there(top, Commit(commit), users)}
    trees = _list_trees(top, [*users, *merged], base)
    used = _list_checked_out(top)
    return [
        RunRef(
            ref=ref,
            commit=Commit(commit),
            kept=CHECKED_OUT if ref in used else "" if commit in merged or tree in trees else ALONE,
            used=ref in used,
        )
        for ref, commit, _, tree in found
    ]


def remove_refs(top: Path, refs: Iterable[RunRef]) -> str:
    """Remove refs that are still as they were seen, all of them or none; why not, or empty."""
    text = "".join(f"{AS_IT_IS}delete {one.ref} {one.commit}\n" for one in refs)
    if not text:
        return ""
    done = ask_git("update-ref", "--stdin", cwd=top, given=text.encode(), accept=range(256))
    return "" if done.code == 0 else " ".join(done.err.split()) or "git update-ref failed"


def _list_users(top: Path) -> list[str]:
    """The branches of the user, here and as last seen elsewhere, and what is checked out."""
    listed = ask_git("for-each-ref", "--format=%(refname)", BRANCHES, "refs/remotes/", "refs/tags/", cwd=top).line
    return ["HEAD", *(ref for ref in listed.splitlines() if not ref.startswith(OURS))]


def _is_there(top: Path, commit: Commit, users: Sequence[str]) -> bool:
    """Whether the commit is in the history of one of the branches, or what is checked out has its change."""
    outside = ask_git("rev-list", "--max-count=1", commit, "--not", *users, cwd=top).line
    return not outside or is_absorbed(commit, into="HEAD", cwd=top)


def _list_trees(top: Path, tips: Sequence[str], base: Commit) -> set[str]:
    """The trees that these histories have since the run began, with the one that it began with."""
    since = (f"--max-count={MOST}", *tips, "--not", f"{base}^@", "--")
    return set(ask_git("log", "--format=%T", *since, cwd=top).line.split())


def _list_checked_out(top: Path) -> set[str]:
    told = ask_git("worktree", "list", "--porcelain", cwd=top).line
    return {line.removeprefix("branch ") for line in told.splitlines() if line.startswith("branch ")}
