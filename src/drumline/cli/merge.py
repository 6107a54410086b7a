"""`drumline merge`: brings what a run has landed onto the user's branch, or asks others to.

The rule: only when a person types it, only of a run that is done, and all of it or nothing.
"""

from __future__ import annotations

import shutil

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.pullrequest import PullRequest, choose_forge, open_request, push
from drumline.cli.merging import choose_branch, move
from drumline.cli.options import json_option, run_argument
from drumline.cli.output import SCHEMA_VERSION, print_json, print_lines, say
from drumline.core.ids import Commit
from drumline.core.plaintext import count_noun
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd
from drumline.errors import InvalidInput, NeedsPerson
from drumline.views.cells import flatten
from drumline.views.leavings import is_among
from drumline.wiring import Project, open_project
from drumline.workspace.merging import commit_files, join, repair_merge


@click.command("merge")
@run_argument
@click.option("--pr", "as_request", is_flag=True, help="Push the run's branch and open a pull request instead.")
@click.option("--plan-files", is_flag=True, help="Commit the plan's files afterwards, with the marks of the run.")
@json_option
def command(run: str, as_request: bool, plan_files: bool, as_json: bool) -> int:
    """Merge what RUN (the newest if not given) has landed into the branch that is checked out.

    It is a fast-forward where your branch has not moved; else a merge commit, whose tree no check has seen. Nothing is
    changed if files conflict. With --pr, gh, glab or tea opens a pull request into your branch.
    """
    if as_request and plan_files:
        raise InvalidInput("--pr and --plan-files cannot be combined", hint="drumline merge --pr")
    project = open_project()
    project.check_speaker()
    store = project.open_store(read_only=True)
    state = read_run(store, find_run(store, run))
    _check_done(state)
    into = choose_branch(project)
    if as_request and into == state.begun.branch:
        into = _choose_default(project, into)
    told, *lines = _request(project, state, into) if as_request else _merge(project, state, into)
    if plan_files and state.begun.plan:
        made = _commit_plan(project, state)
        told["plan_commit"] = made
        lines.append(f"committed the files of {state.begun.plan}" if made else "the plan's files have not changed")
    elif not as_request and (loose := _count_loose(project, state)):
        lines.append(f"not committed: the marks in {count_noun(loose, 'file')} of {state.begun.plan}")
        lines.append(f"  next: drumline merge {state.id} --plan-files")
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "run": state.id, "into": into, **told})
    else:
        print_lines(lines)
    return 0


def _choose_default(project: Project, branch: str) -> str:
    """What a branch that was worked on in place is asked to be merged into."""
    default = project.repository.default_branch()
    if not default or default == branch:
        told = f"the run worked on {branch} itself, and the remote does not say which branch it is to be merged into"
        raise InvalidInput(told, hint="git switch BRANCH, then: drumline merge --pr")
    return default


def _check_done(run: RunState) -> None:
    branch = run.begun.branch
    if not branch:
        raise InvalidInput(f"run {run.id} works in a folder and has no branch", hint="git status")
    state = run.ended.state if run.ended is not None else None
    if state is not RunEnd.DONE:
        hint = f"drumline resume {run.id}, or what has landed so far: git merge {branch}"
        raise NeedsPerson(f"not merged: run {run.id} is {state or 'not over'}", hint=hint)


def _merge(project: Project, run: RunState, into: str) -> tuple[dict[str, object], str]:
    repository, branch = project.repository, run.begun.branch
    repair = repair_merge(repository.common_dir)
    if repair is not None and repair.done:
        say(f"{repair.top}: {repair.done}")
    tip, by_hand = repository.find_commit(f"refs/heads/{branch}"), f"git merge {branch}"
    if tip is None:
        raise NeedsPerson(f"not merged: the branch {branch} is gone", hint=f"drumline status {run.id}")
    if repository.contains(tip):
        return {"how": "already", "commit": repository.head_commit()}, f"{into} has all of it already"
    found = join(repository, tip, message=f"Merge {branch}\n\nDrumline-Run: {run.id}\n")
    if found.commit is None:
        named = ", ".join(flatten(path) for path in found.conflicts[:5])
        raise NeedsPerson(f"not merged: both {into} and {branch} changed {named}", hint=by_hand)
    move(project, run, found.commit, into=into)
    how = "fast_forward" if found.commit == tip else "merge"
    note = "" if how == "fast_forward" else f"; {into} had moved, so no check has seen this tree"
    return {"how": how, "commit": repository.head_commit()}, f"merged into {into}{note}"


def _count_loose(project: Project, run: RunState) -> int:
    """How many of the plan's files that the run has marked differ from what is committed."""
    changed = project.repository.uncommitted()
    return sum(is_among(path, changed) for path in {one.path for one in run.mirrored.values()})


def _commit_plan(project: Project, run: RunState) -> Commit | None:
    patterns = project.open_plan(run.begun.plan, run.plan.format).patterns
    return commit_files(project.repository, patterns, message=f"Mark what is done of {run.begun.plan}\n")


def _request(project: Project, run: RunState, into: str) -> tuple[dict[str, object], str]:
    repository, branch = project.repository, run.begun.branch
    program = choose_forge(repository.remote_url(), lambda name: shutil.which(name) is not None)
    push(repository.top, repository.remote_name(), branch)
    wanted = PullRequest(head=branch, base=into, title=flatten(run.plan.title or run.begun.plan_name), body=_body(run))
    address = open_request(program, wanted, top=repository.top)
    told: dict[str, object] = {"how": "pull_request", "program": program, "address": address}
    return told, f"opened a pull request into {into}: {address}"


def _body(run: RunState) -> str:
    """What the run did, step by step, with how much is known about each."""
    lines = []
    for step in run.plan.steps:
        finished = run.finished.get(step.id)
        if finished is None:
            continue
        level = f", {finished.proof.level.value}" if finished.proof is not None else ""
        lines.append(f"- {flatten(step.id)}: {flatten(step.title)} ({finished.state.value}{level})")
    closes = ["", f"Closes #{run.begun.issue}"] if run.begun.issue else []
    return "\n".join([*lines, *closes, "", f"Drumline-Run: {run.id}"])
