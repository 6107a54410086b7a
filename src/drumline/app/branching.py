"""How the branch of a run is called: as somebody typed it, as other tools of the plan's format would, or our way."""

from __future__ import annotations

from drumline.core.plan import Plan
from drumline.errors import InvalidInput
from drumline.workspace.repository import Repository


def choose_branch(repository: Repository, plan: Plan, typed: str) -> str:
    """A branch that does not exist yet; empty if the run is to have one with a name of its own."""
    if typed and not repository.is_free(typed):
        raise InvalidInput(
            f"the run cannot have the branch {typed!r}: it is not a valid name, or a branch of that name exists",
            hint="drumline run PLAN --branch NAME, with a branch that does not exist yet",
        )
    return typed or (plan.branch if plan.branch and repository.is_free(plan.branch) else "")
