"""`drumline handoff`: what a step leaves for those behind it, made of what the journal knows."""

from __future__ import annotations

import time

import click

from drumline.app.catalog import find_run, list_runs, read_run
from drumline.app.inbox import check_step
from drumline.cli.options import json_option, run_option, step_argument
from drumline.cli.output import SCHEMA_VERSION, print_json
from drumline.core.flow.events import NodeEnded
from drumline.core.handoffdoc import find_staleness, write_handoff
from drumline.core.ids import StepId, Stream
from drumline.core.orders import orders_for
from drumline.core.proof import Level
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.ports.journal import Journal
from drumline.views.proofs import find_proof
from drumline.wiring import open_project


@click.command("handoff")
@step_argument
@run_option
@json_option
def command(step: str, run: str, as_json: bool) -> int:
    """Show the handoff of STEP: what it did and did not do, with evidence from its checks.

    It is made of what the journal knows, and with rigor full of what an agent wrote for it before the step landed.
    Steps of phased plans have it as a file, too.
    """
    project = open_project()
    store = project.open_store(read_only=True)
    state = read_run(store, find_run(store, run))
    name = check_step(state, step)
    finished = state.finished.get(name)
    if finished is None:
        raise _refuse(store, state, name)
    by = finished.landed_by or name
    worked = project.watcher(store, state).look(time.time(), also=by).steps[by]
    told = (entry.event for entry in store.read(Stream(state.id, by), kinds=(NodeEnded.__name__,)))
    staleness = find_staleness(told)
    text = write_handoff(state, orders_for(state, state.define(name)), worked, finished, staleness=staleness)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "run": state.id, "step": name, "text": text})
    else:
        click.echo(text, nl=False)
    return 0


def _refuse(store: Journal, run: RunState, step: StepId) -> InvalidInput:
    """Why a step has no handoff in this run, and where it has one."""
    ended = [brief.run for brief in list_runs(store, plan=run.begun.plan) if step in brief.state.finished]
    before = next((other for other in reversed(ended) if other != run.id), None)
    proof = find_proof(run, step)
    if before is None and (proof is None or proof.level is not Level.DECLARED):
        return InvalidInput(f"{step} has not ended yet, so that it leaves nothing", hint=f"drumline why {step}")
    told = f"{step} was not worked on in run {run.id}, so that it leaves nothing there"
    return InvalidInput(told, hint=f"drumline handoff {step} --run {before}" if before else f"drumline why {step}")
