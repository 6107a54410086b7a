"""Reads the work in a workspace, also where git cannot read all of it: what can be kept is kept under a ref.

The rule: a workspace is not discarded before what it holds is kept; if nothing can be kept, the error goes on.
"""

from __future__ import annotations

from drumline.core.ids import Commit, StepId, Tree
from drumline.errors import GitError, GitKilled
from drumline.ports.workspaces import Workspaces
from drumline.record import Record

LONGEST = 300


class Work(Record):
    """What is in a workspace. `unreadable` says why `tree` is not all of it."""

    tree: Tree
    unreadable: str = ""


async def read_work(workspaces: Workspaces, step: StepId, *, base: Commit) -> Work:
    """The work as a tree: all of it, or what can be read."""
    try:
        # A check that could see what the agent dropped would judge another tree than the one that lands.
        return Work(tree=await workspaces.snapshot(step, base=base, tidy=True))
    except GitKilled:
        raise
    except (GitError, OSError) as error:
        why = " ".join(str(error).split())[:LONGEST]
        return Work(tree=await workspaces.salvage(step, base=base), unreadable=why)


def explain_unreadable(why: str, *, kept: str) -> str:
    """What to say to an agent whose workspace could not be read."""
    return (
        f"Your changes were undone, because git could not read the workspace as you left it: {why}. "
        f"Leave only regular files, folders and links that can be read. What could be read is kept: git show {kept}"
    )
