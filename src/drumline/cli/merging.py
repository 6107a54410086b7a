"""`do --merge`: brings a task's commit onto the branch that a person is on.

The rule: only what no check fails on or what a person accepted, only as a fast-forward, only into a clean checkout of
the branch that was checked out when the task began. In any other case nothing is touched, and the command to type is
said. The branch is in the journal, so the process that drives the run to its end merges it.
"""

from __future__ import annotations

import shlex

import click

from drumline.cli.output import SCHEMA_VERSION, is_terminal, print_json, say
from drumline.core.acceptance import is_accepted
from drumline.core.ids import Commit
from drumline.core.plaintext import name_some
from drumline.core.proof import Level, Proof
from drumline.core.state import RunState
from drumline.core.task import STEP
from drumline.core.vocabulary import RunEnd
from drumline.errors import InvalidInput, NeedsPerson
from drumline.views.cells import flatten
from drumline.views.gates import merge_command
from drumline.wiring import Project
from drumline.workspace.merging import fast_forward, list_in_way, read_stat, repair_merge

MOST_STASHED = 5
"""How many files are named in the command that puts them aside; of more, all that is uncommitted is."""


def choose_branch(project: Project) -> str:
    """The branch that is checked out now."""
    branch = project.repository.branch_name()
    if not branch:
        raise InvalidInput("--merge needs a branch, and none is checked out", hint="git switch BRANCH")
    return branch


def merge_if_due(project: Project, run: RunState, *, as_json: bool) -> bool:
    """Merge if that was asked for and has not happened; whether it was so.

    First what a merge that was killed left in the checkout is repaired, which may be all that is left to do.
    """
    due = is_merge_due(project, run)
    repair = repair_merge(project.repository.common_dir)
    if repair is not None and repair.done:
        say(f"{repair.top}: {repair.done}")
    if due and is_merge_due(project, run):
        merge(project, run, as_json=as_json)
    elif due:
        _tell_merged(run, as_json=as_json)
    return due


def is_merge_due(project: Project, run: RunState) -> bool:
    """Whether a merge was asked for that has not happened: the run is done, and the checkout is without its result."""
    finished = run.finished.get(STEP)
    done = run.ended is not None and run.ended.state == RunEnd.DONE
    if not run.begun.merge or not done or finished is None:
        return False
    return finished.commit is None or not project.repository.contains(finished.commit)


def merge(project: Project, run: RunState, *, as_json: bool) -> None:
    """Carry out what was asked for; NeedsPerson with the reason and the command to type if that cannot be."""
    branch, finished = run.begun.merge, run.finished[STEP]
    by_hand = merge_command(run)
    if not (_is_enough(finished.proof) or is_accepted(run, STEP)) or finished.commit is None:
        raise NeedsPerson("not merged: nothing proves the result", hint=f"git show {run.begun.branch}, then: {by_hand}")
    _check_checkout(project, branch, by_hand)
    if run.begun.merge_asks:
        _ask(project, run, by_hand=by_hand, as_json=as_json)
    move(project, run, finished.commit, into=branch)
    _tell_merged(run, as_json=as_json)


def move(project: Project, run: RunState, commit: Commit, *, into: str) -> None:
    """Move the branch that is checked out to a commit; NeedsPerson if git refuses, with what is in the way."""
    refusal = fast_forward(project.repository, commit)
    if not refusal:
        return
    again, found = merge_command(run), list_in_way(project.repository, commit)
    if not found:
        raise NeedsPerson(f"not merged into {into}: {refusal}", hint=again)
    paths = f" -- {shlex.join(found)}" if len(found) <= MOST_STASHED else ""
    named = name_some(map(flatten, found))
    raise NeedsPerson(
        f"not merged into {into}: your checkout has uncommitted changes in what the run changed ({named}); "
        "commit them, or put them aside",
        hint=f"git stash push -u{paths} && {again}, then: git stash pop",
    )


def _tell_merged(run: RunState, *, as_json: bool) -> None:
    branch, commit = run.begun.merge, run.finished[STEP].commit
    if as_json:
        told = {"event": "merged", "run": run.id, "branch": branch, "commit": commit}
        print_json({"schema_version": SCHEMA_VERSION, **told})
    else:
        click.echo(f"merged into {branch}")


def _check_checkout(project: Project, branch: str, by_hand: str) -> None:
    """Refuse another branch than the one that was meant, and a checkout with changes of the person's own."""
    repository = project.repository
    now = repository.branch_name()
    if now != branch:
        raise NeedsPerson(f"not merged: {now or 'no branch'} is checked out by now, not {branch}", hint=by_hand)
    changed = repository.list_changed()
    if changed:
        named = ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")
        raise NeedsPerson(
            f"not merged: your checkout has uncommitted changes ({named})", hint=f"git commit, then: {by_hand}"
        )


def _is_enough(proof: Proof | None) -> bool:
    """Whether no check fails through the work, whatever the setting `require` says."""
    return proof is not None and proof.level in (Level.PROVED, Level.KEPT)


def _ask(project: Project, run: RunState, *, by_hand: str, as_json: bool) -> None:
    look = f"git show {run.begun.branch}, then: {by_hand}"
    if as_json or not is_terminal():
        raise NeedsPerson("not merged: somebody else wrote the issue, so a person has to look first", hint=look)
    say(read_stat(project.repository.top, run.begun.base, run.begun.branch))
    question = f"Somebody else wrote the issue. Merge the result into {run.begun.merge}"
    if not click.confirm(question, default=False, err=True):
        raise NeedsPerson("not merged: you said no", hint=look)
