"""Whether a work tree stayed as it was. The rule: looking changes nothing, neither files nor git's index.

Seen are commits, tracked files and untracked ones; what git ignores is not.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import anyio

from drumline.record import Record, field

BIGGEST = 64 * 1024 * 1024
"""Bytes of a file that are hashed; of a bigger one size and time must do."""
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false")


class TreeState(Record):
    """A work tree at one moment: its commit, and every file that differs from it."""

    commit: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


async def look(folder: Path) -> TreeState | None:
    """The work tree around a folder now; None if there is none, or no git."""
    top = await _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    root = Path(os.fsdecode(top.removesuffix(b"\n")))
    commit = await _git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    # A git that is started in a submodule would obey a configuration which a command of the model may have written.
    options = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    status = await _git(root, "status", *options)
    if status is None:
        return None
    lines = [os.fsdecode(line) for line in status.split(b"\0") if line]
    files = {line[3:]: f"{line[:2]} {_fingerprint(root / line[3:])}" for line in lines}
    return TreeState(commit=(commit or b"").decode().strip(), files=files)


def find_changes(before: TreeState, after: TreeState) -> list[str]:
    """What is different, by name; a new commit is told as `HEAD`."""
    names = sorted(before.files.keys() | after.files.keys())
    changed = [name for name in names if before.files.get(name) != after.files.get(name)]
    return changed if before.commit == after.commit else ["HEAD", *changed]


def _fingerprint(path: Path) -> str:
    try:
        if path.is_symlink():
            return f"-> {path.readlink()}"
        facts = path.stat()
        if not path.is_file() or facts.st_size > BIGGEST:
            return f"{facts.st_size} {facts.st_mtime_ns}"
        return f"{facts.st_mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    except OSError as error:
        return type(error).__name__


async def _git(folder: Path, *args: str) -> bytes | None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Without optional locks `status` does not refresh the index on disk.
    env = {**clean, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = await anyio.run_process(
            ["git", *_OPTIONS, *args], cwd=folder, env=env, check=False, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
