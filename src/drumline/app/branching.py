"""The branch of a run: a new one, or the one that is checked out where the run may work in the checkout itself.

The rule: what cannot be had is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.app.catalog import RunBrief
from drumline.core.inplace import Checkout, find_objection
from drumline.core.plan import Plan
from drumline.errors import InvalidInput
from drumline.ports.roster import Roster
from drumline.workspace.repository import Repository

ENGINE = ".drumline"


def choose_branch(repository: Repository, plan: Plan, typed: str) -> str:
    """A branch that does not exist yet, as typed or as other tools of the plan's format name it; empty for our way."""
    if typed and not repository.is_free(typed):
        raise InvalidInput(
            f"the run cannot have the branch {typed!r}: it is not a valid name, or a branch of that name exists",
            hint="drumline run PLAN --branch NAME, with a branch that does not exist yet",
        )
    return typed or (plan.branch if plan.branch and repository.is_free(plan.branch) else "")


def choose_checkout(
    repository: Repository, *, typed: str, plan_files: Sequence[str], runs: Sequence[RunBrief], roster: Roster
) -> str:
    """The branch that is checked out, which becomes that of the run; `typed` is one that was asked for."""
    top = str(repository.top)
    busy = next((brief.run for brief in runs if brief.state.begun.checkout == top and roster.drivers(brief.run)), "")
    branch = repository.branch_name()
    if typed and typed != branch:
        raise InvalidInput(
            f"--branch {typed} and work_in = inplace cannot be combined: the run has the branch that is checked out",
            hint=f"git switch -c {typed}",
        )
    checkout = Checkout(
        branch=branch,
        default=repository.default_branch(),
        changed=tuple(repository.uncommitted(exclude=[*plan_files, ENGINE])),
        busy=busy,
        odd=repository.find_oddity(),
    )
    objection = find_objection(checkout)
    if objection is not None:
        raise InvalidInput(objection.text, hint=objection.hint)
    return branch
