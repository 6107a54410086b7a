"""A shim named `git` that stands before the real one on PATH and kills a chosen subcommand together with its parent."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

REAL_GIT = shutil.which("git") or "git"

SHIM = """#!/bin/bash
# Acts on one call of the chosen subcommand, then is the real git.
for word in "$@"; do
  if [ "$word" = "$SHIM_COMMAND" ]; then
    echo >> "$SHIM_FOLDER/calls"
    if [ "$(wc -l < "$SHIM_FOLDER/calls")" -eq "$SHIM_NTH" ]; then
      touch "$SHIM_FOLDER/used"
      {act}
      kill -9 $PPID $$
    fi
    break
  fi
done
exec {git} "$@"
"""

CALLS = ("write", "rename", "link", "unlink", "mkdir", "fsync")
# One kind of call at a time: strace counts each kind by itself, so that a set would be struck at the commonest only.
DIES_AT_CALL = (
    "strace -f -qq -o /dev/null -e trace=$SHIM_KIND -e inject=$SHIM_KIND:signal=KILL:when=$SHIM_CALL"
    f' {REAL_GIT} "$@"; code=$?; [ $code -eq 137 ] || {{ touch "$SHIM_FOLDER/whole"; exit $code; }}'
)
USER_COMMANDS = [
    ("branch", "-a"),
    ("log", "--all", "--oneline"),
    ("worktree", "list"),
    ("fsck", "--no-dangling"),
    ("fetch", "."),
]

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="strace is missing, with which git is killed in the middle of a system call (apt-get install strace)",
)


def git(where: Path, *args: str) -> str:
    return subprocess.run([REAL_GIT, *args], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


def put_shim(folder: Path, act: str) -> None:
    """Make the shim; `act` is what it does, in shell, before it and its parent are killed."""
    shim = folder / "git"
    shim.write_text(SHIM.replace("{act}", act).replace("{git}", REAL_GIT))
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)


def arm_shim(folder: Path, command: str, *, nth: int = 1, kind: str = "", call: int = 0) -> dict[str, str]:
    """The variables of a process that is to die in the nth such subcommand, at that call of that kind."""
    for name in ("used", "calls", "whole"):
        (folder / name).unlink(missing_ok=True)
    chosen = {"SHIM_COMMAND": command, "SHIM_NTH": str(nth), "SHIM_FOLDER": str(folder)}
    return chosen | {"SHIM_KIND": kind, "SHIM_CALL": str(call), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def assert_usable(top: Path) -> None:
    """What the user types works, whatever died."""
    for words in USER_COMMANDS:
        git(top, *words)
