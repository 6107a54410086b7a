"""Commits as git has them, beside the journal that speaks of them."""

from __future__ import annotations

from pathlib import Path

from drumline.core.ids import Commit
from drumline.core.verification import SeenCommit
from drumline.workspace.git import ask_git

_FORMAT = "--format=%T%x00%P%x00%(trailers:only=true,unfold=true)"
MOST = 20_000
"""Commits whose trees are looked at."""


def see_commit(top: Path, commit: Commit) -> SeenCommit | None:
    """A commit with its trailers; None if git does not have it."""
    told = ask_git("log", "-1", _FORMAT, commit, "--", cwd=top, accept=(0, 128))
    if told.code:
        return None
    tree, parents, trailers = told.line.split("\0", 2)
    pairs = (line.partition(": ") for line in trailers.splitlines() if line)
    return SeenCommit(tree=tree, parents=tuple(parents.split()), trailers={name: value for name, _, value in pairs})


def is_below(top: Path, commit: Commit, tip: str) -> bool:
    """Whether a commit is in the history of another."""
    return ask_git("merge-base", "--is-ancestor", commit, tip, cwd=top, accept=(0, 1, 128)).code == 0


def has_tree(top: Path, tree: str) -> bool:
    """Whether a commit of what is checked out has this tree."""
    return tree in ask_git("log", f"--max-count={MOST}", "--format=%T", "HEAD", "--", cwd=top).line.split()
