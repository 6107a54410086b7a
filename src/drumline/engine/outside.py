"""What changed beside a workspace while an agent worked, for machines where nothing prevents it.

The rule: this tells people where to look. It sees the repository's main checkout, not the whole machine.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import anyio

from drumline.ports.agents import Assignment, Happening, Outcome

MOST = 20
UNHELD = (
    "what agents write outside their workspace is not prevented; changes of your checkout and edits that agents tell "
    "of are reported, others are not seen"
)
"""What that means for people."""
UNJAILED = f"bubblewrap does not work here: {UNHELD}"


async def look_on(assignment: Assignment, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Let an agent work that no jail holds: say so, and tell afterwards what changed beside its workspace."""
    await assignment.report(Happening(kind="notice", text=UNJAILED))
    before = await read_checkout(assignment.workspace)
    outcome = await work()
    found = compare(before, await read_checkout(assignment.workspace))
    return replace(outcome, notices=(*outcome.notices, *found))


async def read_checkout(workspace: Path) -> Mapping[Path, str]:
    """The changed files of the main checkout with marks of their content; nothing if the workspace is in it."""
    common = await _ask_git(workspace, "rev-parse", "--path-format=absolute", "--git-common-dir")
    folder = Path(common.strip()).parent if common.strip().endswith(".git") else None
    if folder is None or workspace.resolve().is_relative_to(folder.resolve()):
        return {}
    listed = await _ask_git(folder, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    return {path: _mark(path) for entry in listed.split("\0") if (path := folder / entry[3:]) != folder}


def compare(before: Mapping[Path, str], after: Mapping[Path, str]) -> list[str]:
    """A sentence for each file that is another one now."""
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    told = [f"{path} changed while it worked, outside its workspace" for path in changed[:MOST]]
    return told + ([f"… and {len(changed) - MOST} more"] if len(changed) > MOST else [])


def _mark(path: Path) -> str:
    try:
        found = path.lstat()
    except OSError:
        return "gone"
    return f"{found.st_mtime_ns} {found.st_size}"


async def _ask_git(folder: Path, *words: str) -> str:
    """What git says; nothing where there is no repository."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = await anyio.run_process(["git", "-C", str(folder), *words], check=False, env=env)
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else ""
