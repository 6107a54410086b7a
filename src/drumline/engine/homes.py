"""The folders that a program keeps its own things in. The rule: a variable that is empty counts as one that is not set.

Otherwise `$NAME/` would be the root of the machine, and a jail that lends it would hold nobody.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

VARIABLE = re.compile(r"\$\{?(\w+)\}?")
SEALED = ("drumline", "hooks", "config", "config.worktree", "info", "modules")
"""In the folder `.git` of a checkout: records of runs, and what names programs for git to start."""
GITDIR = "gitdir: "


def find_sealed(workspace: Path) -> list[Path]:
    """What of git a program that may write to a workspace must not: what makes git start programs, and our records.

    In a worktree that is the file that leads to the repository. In a whole checkout it may still commit.
    """
    git = workspace / ".git"
    if not git.is_dir():
        return [git] if git.is_file() else []
    return [path for name in SEALED if (path := git / name).exists()]


def find_repository(workspace: Path) -> list[Path]:
    """The checkout that a worktree belongs to, or its repository where that has none: git needs it to be readable."""
    try:
        text = (workspace / ".git").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    if not text.startswith(GITDIR):
        return []
    own = workspace / text.removeprefix(GITDIR).strip()
    # REPOSITORY/worktrees/NAME, where the repository is the folder `.git` of a checkout or stands alone.
    repository = own.parent.parent
    return [repository.parent if repository.name == ".git" else repository]


def find_named(words: Iterable[str]) -> list[Path]:
    """The files and folders that the words of a command name, as a word or behind an equals sign."""
    found = (Path(part) for word in words for part in (word, word.partition("=")[2]) if part.startswith("/"))
    return [path for path in found if "\0" not in str(path) and path.exists() and not path.is_socket()]


def find_homes(homes: Sequence[str]) -> list[Path]:
    """Those of the folders, with `~` and `$NAME`, that are there; one whose name ends with a slash is made.

    What is not there could not be made from inside a jail.
    """
    found: list[Path] = []
    for home in homes:
        if not all(os.environ.get(name) for name in VARIABLE.findall(home)):
            continue
        path = Path(os.path.expandvars(home)).expanduser()
        if path.is_absolute() and home.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        if path.is_absolute() and path.exists():
            found.append(path)
    return found
