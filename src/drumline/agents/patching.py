"""Applies a patch of git's in a workspace. The rule: all of it or nothing, and nothing outside the workspace.

Git itself refuses paths that leave the work tree, lead through a link, or belong to it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import anyio

from drumline.errors import GitKilled, GitStuck, InvalidInput

# What the user prefers for patches must not change what is applied.
PLAIN = ("-c", "core.hooksPath=/dev/null", "-c", "apply.whitespace=nowarn", "-c", "apply.ignoreWhitespace=no")
LONGEST = 1000
LIMIT = 600.0
"""How many seconds one git may take: far more than any needs, so that one that is stopped or hangs is noticed."""


async def apply_patch(patch: bytes, workspace: Path) -> bool:
    """Bring the files to what the patch says; False if they were there already.

    InvalidInput if it does not fit, GitKilled if git was killed from outside, or by us because it did not end.
    """
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
        # A file, not a pipe: git may be killed before it has read all of it.
        with tempfile.TemporaryFile() as stdin, anyio.fail_after(LIMIT):
            stdin.write(text)
            stdin.seek(0)
            done = await anyio.run_process(["git", *PLAIN, *words], stdin=stdin, check=False, cwd=folder, env=env)
    except TimeoutError as error:
        message = f"git {words[0]} did not end within {LIMIT:g} s (it was stopped, or hangs) and was killed"
        raise GitStuck(message, hint="drumline resume") from error
    except OSError as error:
        return 127, "", f"git cannot be started: {error}"
    if done.returncode < 0:
        raise GitKilled(f"git {words[0]} was killed by signal {-done.returncode}", hint="drumline resume")
    return done.returncode, os.fsdecode(done.stdout), done.stderr.decode("utf-8", "replace")
