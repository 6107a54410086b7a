"""What a step is told whose role is to review what has landed. The rule: facts from git, none from agents."""

from __future__ import annotations

from drumline.core.roles import find_role
from drumline.core.stepstate import StepState
from drumline.engine.nodes.review import cut_diff
from drumline.engine.nodes.stepwork import StepWork, known

ENDING = "reviewer"


async def describe_reviewed(work: StepWork, state: StepState) -> str:
    """Base, head and diff of what the run has landed so far; empty for a step of another role."""
    role = find_role(work.orders.step.role)
    if role is None or not role.name.endswith(ENDING) or not work.orders.lands:
        return ""
    base, head = work.run.begun.base, known(state.base)
    changed = await work.services.workspaces.changed(base, known(state.tree))
    if not changed:
        return f"Nothing has landed yet: base and head are {base}."
    diff = cut_diff(await work.services.workspaces.diff(base, known(state.tree)))
    files = "\n".join(f"- `{path}` ({kind})" for path, kind in changed.items())
    return f"Base: {base}\nHead: {head}\n\n{files}\n\n```diff\n{diff}\n```"
