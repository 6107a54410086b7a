"""Chooses the branch of a run that is about to begin, and says so where it works in the checkout itself."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.app.branching import choose_branch, choose_checkout
from drumline.app.catalog import list_runs
from drumline.cli.output import say
from drumline.core.plan import Plan
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Project


def choose_run_branch(
    project: Project, store: SqliteStore, *, typed: str, plan: Plan, plan_files: Sequence[str] = ()
) -> str:
    """The branch that a run lands on, empty if it is to have one of its own; in place it is what is checked out."""
    repository = project.repository
    if not project.is_inplace:
        return choose_branch(repository, plan, typed)
    runs = list_runs(store)
    branch = choose_checkout(repository, typed=typed, plan_files=plan_files, runs=runs, roster=project.roster)
    say(f"steps are worked on in this checkout, on {branch}: leave its files alone until the run has ended")
    return branch
