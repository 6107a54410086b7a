"""Shows what lies between two trees with the user's own git, its pager and its colours included.

The rule: git reads objects only. It never looks into a workspace, where it would obey what an agent wrote.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from drumline.errors import InvalidInput
from drumline.record import Record
from drumline.workspace.git import ask_git, environment

_PLAIN = ("--no-ext-diff", "--no-textconv")


class ChangedFile(Record):
    """A file that differs; figures are None for one that is not text."""

    path: str
    added: int | None
    deleted: int | None


def show_diff(top: Path, old: str, new: str, *, options: Sequence[str] = ()) -> int:
    """Let git print the difference where our own output goes; its exit code."""
    command = ["git", "diff", *_PLAIN, *options, old, new, "--"]
    return subprocess.run(command, cwd=top, env=environment({}), check=False).returncode


def read_diff(top: Path, old: str, new: str) -> str:
    """The difference as text, in which what is no UTF-8 is replaced."""
    return ask_git("diff", "--no-color", *_PLAIN, old, new, "--", cwd=top).out.decode("utf-8", "replace")


def list_changed(top: Path, old: str, new: str) -> list[ChangedFile]:
    """The files that differ, with the lines that were added and deleted."""
    told = ask_git("diff", "--numstat", "-z", "--no-renames", *_PLAIN, old, new, "--", cwd=top)
    return [_read_row(row) for row in told.items]


def resolve_first(top: Path, names: Sequence[str]) -> str:
    """The first of these names that is a commit or a tree here; InvalidInput if none is."""
    for name in names:
        found = ask_git("rev-parse", "--verify", "--quiet", f"{name}^{{tree}}", cwd=top, accept=(0, 1, 128))
        if found.code == 0:
            return name
    hint = "drumline runs"
    raise InvalidInput(f"git does not have {' or '.join(names)} any more", hint=hint)


def _read_row(row: str) -> ChangedFile:
    added, deleted, path = row.split("\t", 2)
    figures = [None if figure == "-" else int(figure) for figure in (added, deleted)]
    return ChangedFile(path=path, added=figures[0], deleted=figures[1])
