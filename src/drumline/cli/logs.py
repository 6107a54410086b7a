"""`drumline logs`: what agents said and what checks printed, attempt by attempt or visit by visit.

The rule: what a program printed is shown, and commands no terminal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.say import check_step
from drumline.cli.options import json_option, run_option
from drumline.cli.output import SCHEMA_VERSION, print_json, print_lines, say
from drumline.core.codec import FLOW_KINDS
from drumline.core.events import Event
from drumline.core.ids import RunId, StepId, Stream
from drumline.core.plaintext import strip_controls
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.record import Record
from drumline.store.sqlite import SqliteStore
from drumline.views.attempts import Attempt, attempt_json, attempt_lines, list_attempts, list_lost
from drumline.views.places import find_visits, split_place
from drumline.views.snapshot import Trace, Walk
from drumline.views.visitlogs import Moment, head_lines, match_logs, replay, state_lines, visit_json
from drumline.wiring import Site, open_site

ATTEMPTS = ("AttemptStarted", "AttemptUsed", "AttemptEnded", "WorkLost")
WORKED = "attempt"
"""How the names of transcripts begin."""
COMPARED = ("base-", "base_source-", "base_judge-", "work-")
"""How the names of the logs of checks begin that ran on trees the work is compared with."""


class Wanted(Record):
    """What a person asked for: which attempt or visits, with their prompts or the state after them."""

    attempt: int | None = None
    prompts: bool = False
    state: bool = False
    as_json: bool = False


@click.command("logs")
@click.argument("step", required=False, default="")
@click.option("--attempt", type=int, metavar="N", help="Only this attempt and its checks.")
@click.option("--prompt", "prompts", is_flag=True, help="Show the prompts, too.")
@click.option("--state", "state", is_flag=True, help="Of a flow: show the state after each visit, too.")
@run_option
@json_option
def command(step: str, attempt: int | None, prompts: bool, state: bool, run: str, as_json: bool) -> None:
    """Print the transcripts and check logs of STEP, oldest first; of all steps if STEP is not given.

    In a run of a flow, STEP is a node (`implement`) or a visit (`implement#2`, `coder#1/implement`), and what
    each visit wrote is shown.
    """
    site = open_site()
    store = site.open_store(read_only=True)
    known = read_run(store, find_run(store, run))
    wanted = Wanted(attempt=attempt, prompts=prompts, state=state, as_json=as_json)
    step_id, place = split_place(known.plan, step) or (check_step(known, step), "") if step else (None, "")
    begun = [one.id for one in known.selected() if _was_begun(known, one.id)]
    chosen = begun if step_id is None else [step_id]
    if wanted.state and not any(known.plan.by_id[one].flow for one in chosen):
        raise InvalidInput("the steps of a plan have no state; the nodes of a flow do", hint=f"drumline logs {step}")
    for one in chosen:
        show = _show_visits if known.plan.by_id[one].flow else _show_attempts
        show(Shelf(site=site, store=store, run=known, step=one, place=place), wanted)
    if not chosen:
        say(f"run {known.id} has no logs yet")
        say("  next: drumline why")


def _was_begun(run: RunState, step: StepId) -> bool:
    return step in run.working or step in run.finished or step in run.rounds


class Shelf(Record):
    """Where the logs are that were asked for: of one step of a run, or of a place in its walk."""

    site: Site
    store: SqliteStore
    run: RunState
    step: StepId
    place: str

    @property
    def folder(self) -> Path:
        """The logs of the step."""
        return self.site.logs(self.run.id) / self.step

    def read(self, kinds: Sequence[str] = ()) -> list[Event]:
        """What the step's stream says."""
        return [entry.event for entry in self.store.read(Stream(self.run.id, self.step), kinds=kinds)]


def _show_attempts(shelf: Shelf, wanted: Wanted) -> None:
    """Print the attempts at a step and its checks."""
    files = _files(shelf.folder, attempt=wanted.attempt, prompts=wanted.prompts)
    _show(files, _name_attempts(shelf.run, shelf.read(ATTEMPTS)), shelf.run.id, shelf.step, as_json=wanted.as_json)


def _show_visits(shelf: Shelf, wanted: Wanted) -> None:
    """Print the visits of a walk that were asked for, in the order they began."""
    if wanted.attempt is not None:
        raise InvalidInput("the nodes of a flow have no attempts; a visit is named", hint="drumline logs NODE#2")
    watcher = shelf.site.watcher(shelf.store, shelf.run)
    walk = watcher.look(time.time(), also=shelf.step).walks[shelf.step]
    if wanted.state and walk.problem:
        raise InvalidInput(walk.problem, hint="drumline logs NODE")
    keys, folder, name = find_visits(walk, shelf.place), shelf.folder, shelf.place
    logs = match_logs([file.name for file in _list_files(folder)], keys, prompts=wanted.prompts)
    events = [] if walk.problem else shelf.read(tuple(FLOW_KINDS))
    moments = {moment.key: moment for moment in replay(events, set(keys), watcher.find_chart)}
    if wanted.as_json:
        listed = {key: [_describe(folder / one) for one in names] for key, names in logs.items()}
        visits = [
            visit_json(walk.traces[key], moments.get(key), files, state=wanted.state) for key, files in listed.items()
        ]
        every = [file for files in listed.values() for file in files]
        print_json({**_frame(shelf.run.id, name or None, every), "visits": visits})
        return
    if not keys:
        say(f"{name or 'the flow'} has no logs yet")
        say(f"  next: drumline why {name}".rstrip())
    for key in keys:
        _print_visit(walk, walk.traces[key], moments.get(key), state=wanted.state)
        for one in logs[key]:
            print_log(folder / one)


def _print_visit(walk: Walk, trace: Trace, moment: Moment | None, *, state: bool) -> None:
    title, *wrote = head_lines(walk, trace, moment)
    click.echo(click.style(title, bold=True))
    print_lines(wrote)
    print_lines(state_lines(moment) if state and moment else ())


def _frame(run: RunId, step: str | None, logs: Sequence[object]) -> dict[str, object]:
    return {"schema_version": SCHEMA_VERSION, "run": run, "step": step, "logs": logs}


def _describe(file: Path) -> dict[str, object]:
    return {"name": file.name, "path": str(file), "bytes": file.stat().st_size}


def _list_files(folder: Path) -> list[Path]:
    """All logs, oldest first. While an agent works, it has a folder beside its log."""
    files = [file for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []
    return sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))


def _name_attempts(run: RunState, events: Sequence[Event]) -> dict[str, Attempt]:
    """The attempts by the names of their transcripts. A lost one is moved aside when its number is given out again."""
    ended, lost = list_attempts(run, events), list_lost(run, events)
    named = {f"{WORKED}-{number}.lost-{place}.log": attempt for (number, place), attempt in lost.items()}
    latest = {number: attempt for (number, _), attempt in lost.items()} | ended
    return named | {f"{WORKED}-{number}.log": attempt for number, attempt in latest.items()}


def _show(files: Sequence[Path], told: Mapping[str, Attempt], run: RunId, step: str, *, as_json: bool) -> None:
    if as_json:
        attempts = [attempt_json(attempt) for attempt in _list_once(told.values())]
        print_json({**_frame(run, step, [_describe(file) for file in files]), "attempts": attempts})
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
    shown = ("setup", WORKED, "check", *COMPARED)
    kinds = (*shown, "prompt") if prompts else shown
    found = [file for file in _list_files(folder) if file.name.startswith(kinds)]
    return [file for file in found if attempt is None or _attempt_of(file) == attempt]


def _attempt_of(file: Path) -> int | None:
    """The attempt in a log's name: `attempt-2.log`, `check-2-1.log`, `base-2-1.log`, `prompt-2.md`."""
    parts = file.name.replace(".", "-").split("-")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None


def print_log(file: Path, notes: Iterable[str] = ()) -> None:
    """A log under its name, after some notes about it; the file itself keeps every byte."""
    click.echo(click.style(f"==> {file.name} <==", bold=True))
    for note in notes:
        click.echo(click.style(f"  {note}", dim=True))
    text = file.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    # Line by line: a code without an end must not take the rest of the log with it.
    click.echo("\n".join(strip_controls(line) for line in text.split("\n")))
    click.echo("")
