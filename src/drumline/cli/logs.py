"""`drumline logs`: what agents said and what checks printed."""

from __future__ import annotations

from pathlib import Path

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.say import check_step
from drumline.cli.options import json_option, run_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.ids import RunId, StepId
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.wiring import open_site


@click.command("logs")
@click.argument("step", required=False, default="")
@click.option("--attempt", type=int, metavar="N", help="Only this attempt and its checks.")
@click.option("--prompt", "prompts", is_flag=True, help="Show the prompts, too.")
@click.option("--state", "state", is_flag=True, help="Of a flow: show the state after each visit, too.")
@run_option
@json_option
def command(step: str, attempt: int | None, prompts: bool, state: bool, run: str, as_json: bool) -> None:
    """Print the transcripts and check logs of STEP, oldest first.

    In a run that walks a flow, STEP is a node (`implement`) or a visit (`implement#2`, `coder#1/implement`), and what
    each visit wrote is shown; without it, all visits are.
    """
    site = open_site()
    store = site.open_store(read_only=True)
    found = find_run(store, run)
    known = read_run(store, found)
    if known.flow is None:
        step_id = _check_plan(known, step, state=state)
        _show(site.logs(found) / step_id, found, step_id, attempt=attempt, prompts=prompts, as_json=as_json)
        return
    if attempt is not None:
        raise InvalidInput("the nodes of a flow have no attempts; a visit is named", hint="drumline logs NODE#2")
    from drumline.cli.flowlogs import Wanted, show_flow_logs

    show_flow_logs(site, store, found, Wanted(name=step, prompts=prompts, state=state, as_json=as_json))


def _check_plan(run: RunState, step: str, *, state: bool) -> StepId:
    if not step:
        raise InvalidInput("no step was named (legal: a step of the plan)", hint="drumline logs STEP")
    step_id = check_step(run, step)
    if state:
        raise InvalidInput("the steps of a plan have no state; the nodes of a flow do", hint=f"drumline logs {step}")
    return step_id


def _show(folder: Path, run: RunId, step: str, *, attempt: int | None, prompts: bool, as_json: bool) -> None:
    files = _files(folder, attempt=attempt, prompts=prompts)
    if as_json:
        listed = [{"name": file.name, "path": str(file), "bytes": file.stat().st_size} for file in files]
        print_json({"schema_version": SCHEMA_VERSION, "run": run, "step": step, "logs": listed})
        return
    if not files:
        say(f"{step} has no logs yet")
        say(f"  next: drumline why {step}")
    for file in files:
        click.echo(click.style(f"==> {file.name} <==", bold=True))
        click.echo(file.read_text(encoding="utf-8", errors="replace").rstrip("\n"))
        click.echo("")


def _files(folder: Path, *, attempt: int | None, prompts: bool) -> list[Path]:
    kinds = ("setup", "attempt", "check", "prompt") if prompts else ("setup", "attempt", "check")
    found = [file for file in folder.glob("*") if file.name.startswith(kinds)] if folder.is_dir() else []
    if attempt is not None:
        found = [file for file in found if _attempt_of(file) == attempt]
    return sorted(found, key=lambda file: (file.stat().st_mtime_ns, file.name))


def _attempt_of(file: Path) -> int | None:
    """The attempt in a log's name: `attempt-2.log`, `check-2-1.log`, `prompt-2.md`."""
    parts = file.name.replace(".", "-").split("-")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
