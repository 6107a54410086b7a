"""`drumline logs`: what agents said and what checks printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.say import check_step
from drumline.cli.logfiles import print_log
from drumline.cli.options import json_option, run_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.events import Event
from drumline.core.ids import RunId, StepId, Stream
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.views.attempts import Attempt, attempt_json, attempt_lines, list_attempts, list_lost
from drumline.wiring import open_site

ATTEMPTS = ("AttemptStarted", "AttemptUsed", "AttemptEnded", "WorkLost")
WORKED = "attempt"
"""How the names of transcripts begin."""


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
        events = [entry.event for entry in store.read(Stream(found, step_id), kinds=ATTEMPTS)]
        files = _files(site.logs(found) / step_id, attempt=attempt, prompts=prompts)
        _show(files, _name_attempts(known, events), known.id, step_id, as_json=as_json)
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


def _name_attempts(run: RunState, events: Sequence[Event]) -> dict[str, Attempt]:
    """The attempts by the names of their transcripts. A lost one is moved aside when its number is given out again."""
    ended, lost = list_attempts(run, events), list_lost(run, events)
    named = {f"{WORKED}-{number}.lost-{place}.log": attempt for (number, place), attempt in lost.items()}
    latest = {number: attempt for (number, _), attempt in lost.items()} | ended
    return named | {f"{WORKED}-{number}.log": attempt for number, attempt in latest.items()}


def _show(files: Sequence[Path], told: Mapping[str, Attempt], run: RunId, step: str, *, as_json: bool) -> None:
    if as_json:
        listed = [{"name": file.name, "path": str(file), "bytes": file.stat().st_size} for file in files]
        attempts = [attempt_json(attempt) for attempt in _list_once(told.values())]
        print_json({"schema_version": SCHEMA_VERSION, "run": run, "step": step, "logs": listed, "attempts": attempts})
        return
    if not files:
        say(f"{step} has no logs yet")
        say(f"  next: drumline why {step}")
    for file in files:
        tried = told.get(file.name)
        print_log(file, attempt_lines(tried) if tried else ())


def _list_once(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Each attempt once: the transcript of one that was lost just now may have either name."""
    found: list[Attempt] = []
    for attempt in attempts:
        if not any(attempt is known for known in found):
            found.append(attempt)
    return sorted(found, key=lambda attempt: (attempt.number, not attempt.lost))


def _files(folder: Path, *, attempt: int | None, prompts: bool) -> list[Path]:
    kinds = ("setup", WORKED, "check", "prompt") if prompts else ("setup", WORKED, "check")
    # While an agent works, it has a folder beside its log.
    found = [file for file in folder.glob("*") if file.name.startswith(kinds) and file.is_file()]
    if attempt is not None:
        found = [file for file in found if _attempt_of(file) == attempt]
    return sorted(found, key=lambda file: (file.stat().st_mtime_ns, file.name))


def _attempt_of(file: Path) -> int | None:
    """The attempt in a log's name: `attempt-2.log`, `check-2-1.log`, `prompt-2.md`."""
    parts = file.name.replace(".", "-").split("-")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
