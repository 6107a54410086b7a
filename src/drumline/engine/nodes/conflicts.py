"""What an agent is shown of the files in which its work conflicts with what landed meanwhile."""

from __future__ import annotations

from drumline.core.hunks import Hunk, cut_hunks
from drumline.core.stepstate import StepState
from drumline.engine.nodes.stepwork import StepWork

MOST_FILES = 20


async def list_hunks(work: StepWork, state: StepState) -> list[Hunk]:
    """The parts of these files that have conflict markers; none where the work conflicts with nothing."""
    if state.clash is None or state.tree is None:
        return []
    read = work.services.workspaces.read_text
    texts = {path: await read(state.tree, path) or "" for path in state.clash.conflicts[:MOST_FILES]}
    return [hunk for path, text in texts.items() for hunk in cut_hunks(path, text)]
