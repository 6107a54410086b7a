"""`drumline why`: what a step or a node is waiting for, or why it ended as it did."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.naming import find_step
from drumline.cli.options import json_option, run_option, some_step_argument
from drumline.cli.output import print_json, print_lines, say
from drumline.views.evidence import evidence_lines
from drumline.views.gates import tell_choices
from drumline.views.places import split_place
from drumline.views.why import why, why_json
from drumline.wiring import open_project


@click.command("why")
@some_step_argument
@run_option
@json_option
def command(step: str, run: str, as_json: bool) -> None:
    """Name the owner, the timer or the blocker of STEP, or of the whole run if STEP is not given.

    In a run of a flow, STEP is a node (`implement`) or a visit (`implement#2`, `coder#1/implement`).
    """
    project = open_project()
    store = project.open_store(read_only=True)
    state = read_run(store, find_run(store, run))
    name = find_step(state.plan, step) or step
    place = split_place(state, name) if name else None
    found = why(project.watcher(store, state, given=True).look(time.time(), also=place[0] if place else None), name)
    if as_json:
        print_json(why_json(state.id, found))
        return
    click.echo(found.sentence)
    print_lines(f"  {note}" for note in found.notes)
    print_lines(f"  {line}" for check in found.checks if check.was_run for line in evidence_lines(check))
    if found.worktree:
        click.echo(f"  worktree: {found.worktree}")
    say(f"  next: {tell_choices(state, found.hint)}")
