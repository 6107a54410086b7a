"""What a step has changed, as lines of a diff: of its commit, of its worktree, or of what its last attempt left."""

from __future__ import annotations

from pathlib import Path

from drumline.core.ids import Commit, RunId, StepId
from drumline.core.plaintext import strip_controls
from drumline.workspace.git import Result, ask_git
from drumline.workspace.repository import Repository

MOST_LINES = 5_000
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")


def read_difference(
    repository: Repository, run: RunId, step: StepId, *, commit: Commit | None, worktree: str
) -> list[str]:
    """The lines; none if nothing has changed, or nobody can say what has."""
    if commit is not None:
        return show_commit(repository, commit)
    if worktree and Path(worktree).is_dir():
        place = Path(worktree)
        new = ask_git("ls-files", "-z", "--others", "--exclude-standard", cwd=place).items
        changed = ask_git("diff", *_PLAIN, "--stat", "-p", "HEAD", cwd=place)
        return [*(f"new file: {strip_controls(name)}" for name in new), *_lines(changed)]
    pattern = f"refs/drumline/{run}/{step}/"
    newest = ask_git(
        "for-each-ref", "--sort=-committerdate", "--count=1", "--format=%(objectname)", pattern, cwd=repository.top
    ).line
    return show_commit(repository, Commit(newest)) if newest else []


def show_commit(repository: Repository, commit: Commit) -> list[str]:
    """What a commit changed; nothing if it is not there."""
    told = ("--format=%h %s", "--stat", "-p", "--first-parent", "-m")
    return _lines(ask_git("show", *_PLAIN, *told, commit, cwd=repository.top, accept=(0, 128)))


def _lines(told: Result) -> list[str]:
    lines = told.out.decode("utf-8", "replace").split("\n")
    shown = [strip_controls(line) for line in lines[:MOST_LINES]]
    return [*shown, f"… and {len(lines) - MOST_LINES:,} more lines"] if len(lines) > MOST_LINES else shown
