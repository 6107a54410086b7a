"""Moves the user's own branch, because they asked for it. The rule: forward only, and all of it or nothing.

What is about to be done is noted under a lock that git inherits. If the lock is free and the note is still there, the
merge was killed, and what it left is repaired: by the next merge, and at every start of a run, by `doctor` and `gc`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from drumline.core.ids import Commit
from drumline.record import Record
from drumline.workspace.checkout import COMPLETED, FastForward, Repair, repair_noted, write_note
from drumline.workspace.git import UNASKED, ask_git
from drumline.workspace.locks import take_lock
from drumline.workspace.repository import Repository

PATIENCE = 30.0
"""Seconds to wait for another merge of ours in the same repository."""
BUSY_PATIENCE = 1.0
"""Seconds to wait for the locks of other gits to go, and for one that was just killed to be gone."""
_LOOK = 0.05


def fast_forward(repository: Repository, commit: Commit) -> str:
    """Move the branch that is checked out to a commit that follows it, files included; why not, or empty."""
    try:
        with _hold(repository.common_dir, PATIENCE) as held:
            repair_noted(held)
            return _merge(repository, commit, held)
    except BlockingIOError:
        return "another process of drumline merges in this repository"


def repair_merge(common_dir: Path, *, dry: bool = False) -> Repair | None:
    """Repair what a merge of ours that was killed left in the user's checkout; with `dry`, say what would be done."""
    if not _find_lock(common_dir).exists():
        return None
    try:
        with _hold(common_dir, BUSY_PATIENCE) as held:
            return repair_noted(held, dry=dry)
    except BlockingIOError:
        return None


class Joined(Record):
    """Where a branch would stand with another one in it: `commit`, or None where these files conflict."""

    commit: Commit | None
    conflicts: tuple[str, ...] = ()


def join(repository: Repository, tip: Commit, *, message: str) -> Joined:
    """The commit that has both the checkout's and `tip`: one of them, or a merge. Nothing is moved or checked out."""
    top = repository.top
    if ask_git("merge-base", "--is-ancestor", "HEAD", tip, cwd=top, accept=(0, 1)).code == 0:
        return Joined(commit=tip)
    merged = ask_git(
        "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "HEAD", tip, cwd=top, accept=(0, 1)
    )
    tree, *conflicts = merged.items
    if merged.code:
        return Joined(commit=None, conflicts=tuple(conflicts))
    links = ("-p", "HEAD", "-p", tip)
    return Joined(commit=Commit(ask_git("commit-tree", tree, *links, cwd=top, given=message.encode()).line))


def list_in_way(repository: Repository, commit: Commit) -> list[str]:
    """What the checkout has uncommitted, or beside git, of the files that a move to a commit changes."""
    top = repository.top
    moved = {*ask_git("diff-tree", "-r", "-z", "--name-only", "--no-renames", "HEAD", commit, cwd=top).items}
    told = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", UNASKED)
    return [entry[3:] for entry in ask_git("status", *told, cwd=top).items if entry[3:] in moved]


def commit_files(repository: Repository, patterns: Sequence[str], *, message: str) -> Commit | None:
    """Commit what changed below these patterns, and nothing else; None if nothing did."""
    specs = [f":(top,glob){pattern}" for pattern in patterns]
    changed = ask_git("status", "--porcelain=v1", "-z", "--no-renames", UNASKED, "--", *specs, cwd=repository.top).items
    if not changed:
        return None
    paths = [f":(top,literal){entry[3:]}" for entry in changed]
    ask_git("add", "--", *paths, cwd=repository.top)
    ask_git("commit", "--quiet", "--only", "--file=-", "--", *paths, cwd=repository.top, given=message.encode())
    return repository.head_commit()


def read_stat(top: Path, base: Commit, branch: str) -> str:
    """Which files a branch changes, and how much, for a person to read."""
    return ask_git("diff", "--stat=100", "--no-color", "--no-ext-diff", base, branch, "--", cwd=top).line


def _merge(repository: Repository, commit: Commit, held: int) -> str:
    begun = _describe(repository, commit)
    deadline = time.monotonic() + BUSY_PATIENCE
    while locks := begun.list_locks():
        if time.monotonic() > deadline:
            return f"another git process seems to be at work: {str(locks[0])!r} exists"
        time.sleep(_LOOK)
    write_note(held, begun)
    words = ("--ff-only", "--no-autostash", "--quiet", commit)
    try:
        done = begun.ask("merge", *words, held=held, accept=(0, 1, 2, 128))
    except BaseException:
        repair_noted(held, ended=time.time())  # git was killed and has been waited for
        raise
    if done.code == 0:
        write_note(held, None)
        return ""
    repair = repair_noted(held, ended=time.time())
    if repair is not None and repair.done == COMPLETED:
        return ""
    return " ".join(done.err.split()) or f"git merge ended with {done.code}"


def _describe(repository: Repository, commit: Commit) -> FastForward:
    """The fast-forward that is about to begin."""
    top = repository.top
    places = ask_git("rev-parse", "--path-format=absolute", "--git-dir", "HEAD", cwd=top).line
    git_dir, _, old = places.rpartition("\n")
    added = ask_git("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", old, commit, cwd=top)
    return FastForward(
        top=str(top),
        git_dir=git_dir,
        common_dir=str(repository.common_dir),
        ref=ask_git("symbolic-ref", "HEAD", cwd=top).line,
        old=old,
        new=commit,
        at=time.time(),
        there=tuple(path for path in added.items if os.path.lexists(top / path)),
    )


def _find_lock(common_dir: Path) -> Path:
    return common_dir / "drumline" / "locks" / "merge"


@contextmanager
def _hold(common_dir: Path, patience: float) -> Iterator[int]:
    """Hold the lock of merges in this repository; BlockingIOError if another process does for longer."""
    deadline = time.monotonic() + patience
    while True:
        try:
            held = take_lock(_find_lock(common_dir))
            break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_LOOK)
    try:
        yield held
    finally:
        os.close(held)
