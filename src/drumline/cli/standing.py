"""`drumline` without a command: where things stand in this repository, and the next command.

The rule: it only looks, and it always ends with something to type.
"""

from __future__ import annotations

import shlex
import time
from contextlib import closing

import click

from drumline.app.catalog import list_runs, read_run
from drumline.cli.output import SCHEMA_VERSION, print_json
from drumline.core.vocabulary import RunStanding
from drumline.errors import DrumlineError, InvalidInput
from drumline.views.duration import age
from drumline.views.gates import merge_command, tell_choices
from drumline.views.runs import RunRow, run_row
from drumline.views.snapshot import Snapshot
from drumline.views.states import run_state
from drumline.views.status import status_json
from drumline.views.summary import summary
from drumline.wiring import Project, open_project

ALL = "all commands: drumline --help"


def tell_standing(*, as_json: bool = False) -> None:
    """Print what there is here, and what to type next; for programs the status of the newest run, or an error."""
    try:
        project = open_project()
    except DrumlineError as error:
        if as_json:
            raise
        lines = [str(error), f"  next: {error.hint}"]
    else:
        if as_json:
            print_json(_describe_json(project))
            return
        lines = _tell(project)
    for line in [*lines, ALL]:
        click.echo(line)


def _describe_json(project: Project) -> dict[str, object]:
    """The newest run, the newest unfinished plan, and the commands that are next."""
    run: dict[str, object] | None = None
    commands: list[str] = []
    if project.has_store():
        with closing(project.open_store(read_only=True)) as store:
            briefs = list_runs(store)
            if briefs:
                snapshot = project.watcher(store, read_run(store, briefs[-1].run), given=True).look(time.time())
                run, onward = status_json(snapshot), _find_next(project, snapshot)
                commands = [onward] if onward else []
    try:
        plan: str | None = project.newest_plan()
    except InvalidInput:
        plan = None
    if not commands:
        commands = [f"drumline run {shlex.quote(plan)}"] if plan else ["drumline do TEXT", "drumline run PLAN"]
    return {"schema_version": SCHEMA_VERSION, "run": run, "plan": plan, "next": commands}


def _tell(project: Project) -> list[str]:
    """The newest run and, unless that one is to go on first, the newest unfinished plan."""
    if not project.has_store():
        return _tell_plan(project) or _tell_beginning()
    with closing(project.open_store(read_only=True)) as store:
        briefs = list_runs(store)
        if not briefs:
            return _tell_plan(project) or _tell_beginning()
        snapshot = project.watcher(store, read_run(store, briefs[-1].run), given=True).look(time.time())
    state, onward = run_state(snapshot), _find_next(project, snapshot)
    row = run_row(snapshot.run, live=state is RunStanding.RUNNING, started_at=briefs[-1].started_at)
    told = [_describe(row, now=time.time()), *([f"  next: {tell_choices(snapshot.run, onward)}"] if onward else [])]
    others = sum(1 for brief in briefs[:-1] if brief.state.ended is None)
    told += [f"  and {others} more unfinished: drumline runs"] if others else []
    if state not in (RunStanding.DONE, RunStanding.CANCELLED):
        return told
    return [*told, *(_tell_plan(project) or ([] if onward else _tell_beginning()[1:2]))]


def _find_next(project: Project, snapshot: Snapshot) -> str:
    """The command that gets furthest: look on, let it go on, or take over what landed; empty if all of that is done."""
    run, state = snapshot.run, run_state(snapshot)
    if state is RunStanding.RUNNING:
        return f"drumline attach {run.id}"
    commands = [one for one in summary(snapshot).next if one != f"drumline status {run.id}"]
    merging = [one for one in commands if one == merge_command(run)]
    if state is not RunStanding.DONE:
        return commands[0] if commands else f"drumline why --run {run.id}"
    commits = [finished.commit for finished in run.finished.values() if finished.commit]
    return merging[0] if merging and not all(map(project.repository.contains, commits)) else ""


def _describe(row: RunRow, *, now: float) -> str:
    done = f", {row.done} of {row.total} steps done" if row.total is not None else ""
    return f"run {row.run} of {row.flow or row.plan}: {row.state}{done}, begun {age(row.started_at, now)}"


def _tell_plan(project: Project) -> list[str]:
    """The newest plan that has steps left."""
    try:
        plan = shlex.quote(project.newest_plan())
    except InvalidInput:
        return []
    return [f"unfinished plan: {plan}", f"  next: drumline validate {plan}, then: drumline run {plan}"]


def _tell_beginning() -> list[str]:
    return [
        "no run and no plan here yet",
        "  next: drumline do 'WHAT TO DO', or with a plan: drumline run PATH/TO/PLAN",
        "  to check this machine first: drumline doctor",
    ]
