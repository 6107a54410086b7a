"""Applies a patch of git's in a workspace. The rule: all of it or nothing, and nothing outside the workspace.

Git itself refuses paths that leave the work tree, lead through a link, or belong to it.
"""

from __future__ import annotations

import os
from pathlib import Path

import anyio

from drumline.errors import InvalidInput

# What the user prefers for patches must not change what is applied.
PLAIN = ("-c", "core.hooksPath=/dev/null", "-c", "apply.whitespace=nowarn", "-c", "apply.ignoreWhitespace=no")
LONGEST = 1000


async def apply_patch(patch: bytes, workspace: Path) -> bool:
    """Bring the files to what the patch says; False if they were there already. InvalidInput if it does not fit."""
    inside = await _ask_git(workspace, "rev-parse", "--show-prefix")
    # Git reads the paths of its own patches from the top of the repository, ours count from the workspace.
    words = ("apply", "--whitespace=nowarn", *_place(inside[1] if inside[0] == 0 else ""))
    code, _, complaint = await _ask_git(workspace, *words, "-", text=patch)
    if code == 0:
        return True
    # An attempt may be played again after a crash.
    if (await _ask_git(workspace, *words, "--reverse", "--check", "-", text=patch))[0] == 0:
        return False
    raise InvalidInput(
        f"the patch does not fit the workspace: {complaint.strip()[:LONGEST]}",
        hint="replay it from the commit that it was recorded on",
    )


def _place(prefix: str) -> tuple[str, ...]:
    folder = prefix.strip().rstrip("/")
    return (f"--directory={folder}",) if folder else ()


async def _ask_git(folder: Path, *words: str, text: bytes = b"") -> tuple[int, str, str]:
    """Exit code, output and complaint of git, which hears nothing of the caller's repository."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = await anyio.run_process(["git", *PLAIN, *words], input=text, check=False, cwd=folder, env=env)
    except OSError as error:
        return 127, "", f"git cannot be started: {error}"
    return done.returncode, os.fsdecode(done.stdout), done.stderr.decode("utf-8", "replace")
