"""`drumline diff`: what a step, or the whole run, has changed."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.inbox import check_step
from drumline.app.naming import find_step
from drumline.cli.options import json_option, run_option, some_step_argument
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.change import Change, find_change
from drumline.core.ids import Commit
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.record import asdict
from drumline.wiring import Project, open_project
from drumline.workspace.diffs import list_changed, read_diff, resolve_first, show_diff
from drumline.workspace.landing import name_head


@click.command("diff")
@some_step_argument
@run_option
@click.option("--stat", is_flag=True, help="Only name the files, with the lines that changed.")
@json_option
def command(step: str, run: str, stat: bool, as_json: bool) -> int:
    """Show what STEP has changed, or the whole run if STEP is not given, or if it is the id of a run.

    Of a step that has not landed, this is its work as the journal has it: what an agent writes at this moment is not
    in it. `drumline why STEP` names the worktree.
    """
    project = open_project()
    store = project.open_store(read_only=True)
    state = read_run(store, find_run(store, run))
    if step and not run and find_step(state.plan, step) is None and step in store.runs():
        state, step = read_run(store, find_run(store, step)), ""
    if step:
        name = check_step(state, step)
        found = project.watcher(store, state).look(time.time(), also=name).steps
        change = find_change(state, name, found.get(name))
    else:
        change = _find_all(project, state)
    if change is None:
        raise InvalidInput(f"{step} has changed nothing yet", hint=f"drumline why {step}")
    return _tell(project, state, change, stat=stat, as_json=as_json)


def _find_all(project: Project, run: RunState) -> Change:
    """What is on the run branch; where we left it if the branch is gone, and what landed last if both are."""
    if not run.begun.branch:
        raise InvalidInput(f"run {run.id} works in a folder and has no branch", hint="git status")
    names = [f"refs/heads/{run.begun.branch}", name_head(run.id), *filter(None, [run.queue.head])]
    return Change(old=run.begun.base, new=Commit(resolve_first(project.repository.top, names)))


def _tell(project: Project, run: RunState, change: Change, *, stat: bool, as_json: bool) -> int:
    top = project.repository.top
    resolve_first(top, [change.old])
    resolve_first(top, [change.new])
    if not as_json:
        if change.note:
            say(change.note)
        return 1 if show_diff(top, change.old, change.new, options=("--stat",) if stat else ()) else 0
    files = [asdict(file) for file in list_changed(top, change.old, change.new)]
    told = {"run": run.id, "step": change.step, "old": change.old, "new": change.new, "note": change.note}
    text = {} if stat else {"diff": read_diff(top, change.old, change.new)}
    print_json({"schema_version": SCHEMA_VERSION, "ok": True, **told, "files": files, **text})
    return 0
