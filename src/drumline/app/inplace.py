"""Finds out whether a run may work in the checkout itself, and refuses by name where it may not."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.app.catalog import RunBrief
from drumline.core.inplace import Checkout, find_objection
from drumline.errors import InvalidInput
from drumline.ports.roster import Roster
from drumline.workspace.repository import Repository

ENGINE = ".drumline"


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
