"""`drumline flow run`: walk a flow by itself, in the current folder."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
import click

from drumline.app.begin import new_run_id, pin_flow_terms
from drumline.app.flowcheck import list_left_out, refuse_broken
from drumline.app.flowrun import Order, begin_flow_run, gather_variables
from drumline.cli.detach import detach
from drumline.cli.options import detach_option, json_option, read_words
from drumline.cli.output import say
from drumline.cli.recordings import check_record, record_option
from drumline.cli.session import Session
from drumline.cli.trusting import ask_flow_trust
from drumline.cli.warning import say_unjailed
from drumline.core.flow.model import Flow
from drumline.core.ids import Commit
from drumline.errors import InvalidInput
from drumline.flowfiles.library import locate_flow
from drumline.wiring import Project, open_project
from drumline.wiring.flows import check_flow_agents, flow_folder, list_flows, open_check, open_library


@click.command("run")
@click.argument("flow")
@click.option(
    "--var", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of the flow; may be repeated."
)
@click.option("--prompt", default="", metavar="TEXT|@FILE|-", help="What it is about.")
@click.option("--agent", metavar="AGENT", help="Does the work of every agent, for example 'command:my-agent --print'.")
@click.option("--model", default="", metavar="MODEL", help="Answers every llm node, for example provider:model.")
@click.option("--worktree", is_flag=True, help="Work in a worktree of its own instead of the current folder.")
@record_option
@detach_option
@json_option
def command(
    flow: str,
    variables: Sequence[str],
    prompt: str,
    agent: str | None,
    model: str,
    worktree: bool,
    record: str,
    detached: bool,
    as_json: bool,
) -> int:
    """Walk FLOW (a file, a folder with one, or a name) and print the output of the end it comes to."""
    if record and detached:
        raise InvalidInput("--record and --detach cannot be combined", hint="drumline flow run FLOW --record FILE")
    project = open_project().with_settings({"agent": agent}, {})
    project.check_speaker()
    agents = _choose(project, agent or "", model)
    place = check_record(project, record)
    store = project.open_store()
    try:
        run = new_run_id(time.time())
        library = open_library(project, project.logs(run) / "flows", override=agents.agent)
        found = library.load(locate_flow(Path(flow), top=project.repository.top))
        say_unjailed(check_flow_agents(project, library, found), sandbox=project.settings.sandbox)
        _check_called(project, found)
        ask_flow_trust(project, list_flows(library, found), agent=agent or "", model=agents.model, as_json=as_json)
        order = Order(
            run=run,
            flow=found,
            folder=flow_folder(project, run) if worktree else project.here,
            place=project.name_path(Path(found.path)),
            base=project.repository.head_commit() if worktree else Commit(""),
            prompt=read_words(prompt, project.here, what="--prompt", hint="drumline flow run --help"),
            variables=gather_variables(found, variables, os.environ),
            terms=pin_flow_terms(project.present(), agent=agents.agent, typed=project.given),
            model=agents.model,
            worktree=worktree,
        )
        anyio.run(begin_flow_run, store, order)
        where = f"{order.folder}, a worktree of its own" if worktree else f"{order.folder}; nothing there is reset"
        say(f"run {run}: walking {found.name} in {where}")
        if detached:
            return detach(project, run, as_json=as_json)
        session = Session(project=project, store=store, run=run, as_json=as_json, record=place, fresh=True)
        return session.drive(resuming=False)
    finally:
        store.close()


def _check_called(project: Project, flow: Flow) -> None:
    """Refuse a flow that calls a broken one, and say what the run goes on without."""
    check = open_check(project.repository.top, project.config)
    called = list(check.check_called(flow))
    refuse_broken(called)
    for problem in list_left_out([check.check(Path(flow.path)), *called]):
        say(f"warning: {problem.where}: {problem.message}")


class _Agents(NamedTuple):
    """Who works and who answers, where the command line says so; empty where it does not."""

    agent: str
    model: str


def _choose(project: Project, agent: str, model: str) -> _Agents:
    """A scripted agent plays the models, too, unless they are named: no run of a script should call a real one."""
    named = project.profiles.get(agent, {}).get("agent", "")
    spec = project.anchor(named, typed=False) if named else project.anchor(agent, typed=True)
    if spec:
        project.check_agent(spec)
    anchored = project.anchor(model, typed=True)
    if anchored:
        project.check_model(anchored)
    return _Agents(spec, anchored or (spec if spec.startswith("scripted:") else ""))
