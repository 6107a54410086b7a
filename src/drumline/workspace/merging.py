"""Moves the user's own branch, because they asked for it. The rule: forward only, and git refuses or does all of it."""

from __future__ import annotations

from pathlib import Path

from drumline.core.ids import Commit
from drumline.workspace.git import ask_git


def fast_forward(top: Path, commit: Commit) -> str:
    """Move the branch that is checked out to a commit that follows it, files included; why not, or empty."""
    done = ask_git("merge", "--ff-only", "--no-autostash", "--quiet", commit, cwd=top, accept=(0, 1, 2, 128))
    return "" if done.code == 0 else " ".join(done.err.split()) or f"git merge ended with {done.code}"


def read_stat(top: Path, base: Commit, branch: str) -> str:
    """Which files a branch changes, and how much, for a person to read."""
    return ask_git("diff", "--stat=100", "--no-color", "--no-ext-diff", base, branch, "--", cwd=top).line
