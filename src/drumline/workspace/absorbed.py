"""Whether a branch has the work of a commit without having the commit: squashed, rebased or picked.

The rule: only what the work changed is compared, so that other changes beside it, the plan's own files among them, do
not matter. What was changed again before it arrived is known by its patch.
"""

from __future__ import annotations

from pathlib import Path

from drumline.core.ids import Commit
from drumline.workspace.git import ask_git

MOST = 200
"""Commits that are looked at, newest first."""


def is_absorbed(commit: Commit, *, into: str, cwd: Path) -> bool:
    """Whether a commit of `into` since both parted has all that `commit` changed, or made the same change."""
    base = ask_git("merge-base", into, commit, cwd=cwd, accept=(0, 1, 128)).line
    if not base:
        return False
    paths = ask_git("diff", "--name-only", "--no-renames", "-z", base, commit, cwd=cwd).items
    if not paths:
        return True
    named = [f":(top,literal){path}" for path in paths]
    since = f"{base}..{into}"
    touching = ask_git("rev-list", f"--max-count={MOST}", since, "--", *named, cwd=cwd).line.split()
    if any(not ask_git("diff", "--quiet", one, commit, "--", *named, cwd=cwd, accept=(0, 1)).code for one in touching):
        return True
    return _has_patch(base, commit, since, named, cwd=cwd) or _has_picks(commit, into, base, cwd=cwd)


def _has_patch(base: str, commit: Commit, since: str, named: list[str], *, cwd: Path) -> bool:
    """Whether one commit made the whole change."""
    whole = ask_git("diff", "--no-color", "--no-ext-diff", base, commit, cwd=cwd).out
    form = ("--format=commit %H", "--no-color", "--no-ext-diff", "-p", f"--max-count={MOST}")
    made = ask_git("log", *form, since, "--", *named, cwd=cwd).out
    wanted, there = (ask_git("patch-id", "--stable", cwd=cwd, given=text).line for text in (whole, made))
    return wanted.partition(" ")[0] in [line.partition(" ")[0] for line in there.splitlines()] if wanted else False


def _has_picks(commit: Commit, into: str, base: str, *, cwd: Path) -> bool:
    """Whether each commit of the work is there by its change."""
    told = ask_git("cherry", into, commit, base, cwd=cwd).line.splitlines()
    return bool(told) and all(line.startswith("-") for line in told)
