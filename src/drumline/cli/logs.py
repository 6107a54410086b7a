"""`drumline logs`: what agents said and what checks printed, attempt by attempt or visit by visit.

The rule: what a program printed is shown, and commands no terminal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.inbox import check_step
from drumline.app.look import WALK_KINDS
from drumline.cli.options import json_option, run_option, some_step_argument
from drumline.cli.output import SCHEMA_VERSION, print_json, print_lines, say
from drumline.cli.paging import page_lines, pager_option
from drumline.cli.transcripts import Follower, clock, log_lines, read_told
from drumline.core.events import Event
from drumline.core.flow.state import Key
from drumline.core.ids import FINAL, FLOW, PREFLIGHT, RunId, StepId, Stream
from drumline.core.plan import RUN_WALKS
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.isolation.transcripts import HAPPENINGS
from drumline.record import Record
from drumline.store.sqlite import SqliteStore
from drumline.views.attempts import Attempt, attempt_json, attempt_lines, list_attempts, list_lost
from drumline.views.failures import failure_json, failure_lines, list_failures
from drumline.views.logtitles import describe_ended, read_titles
from drumline.views.places import find_visits, split_place
from drumline.views.snapshot import Trace, Walk
from drumline.views.transcript import happened_json
from drumline.views.visitlogs import (
    CHECKED,
    PROMPT,
    SETUP,
    WORKED,
    Moment,
    head_lines,
    match_logs,
    number_logs,
    replay,
    state_lines,
    visit_json,
)
from drumline.wiring import Project, open_project

OF_ATTEMPTS = ("AttemptStarted", "AttemptUsed", "AttemptEnded", "CheckEnded", "WorkLost", "WorkRebased")


class Wanted(Record):
    """What a person asked for: which attempt or visits, with their prompts or the state after them, and how much of it.

    `raw` is what programs printed, but for codes; `tail` how many of the last lines are shown.
    """

    attempt: int | None = None
    prompts: bool = False
    state: bool = False
    as_json: bool = False
    raw: bool = False
    tail: int | None = None


@click.command("logs")
@some_step_argument
@click.option("--attempt", type=int, metavar="N", help="Only this attempt and its checks.")
@click.option("--prompt", "prompts", is_flag=True, help="Show the prompts, too.")
@click.option("--state", "state", is_flag=True, help="Show the visits of nodes, with the state after each.")
@click.option("-f", "--follow", is_flag=True, help="Print what comes until the run ends or needs a person.")
@click.option("--raw", is_flag=True, help="Print logs whole, as agents and checks wrote them.")
@click.option("--errors", is_flag=True, help="Only failures: who, when, the class, the message, what came of it.")
@click.option("--tail", type=click.IntRange(min=1), metavar="N", help="Only the last N lines.")
@pager_option
@run_option
@json_option
def command(step: str, run: str, *, follow: bool, errors: bool, **typed: Any) -> None:
    """Print what agents did and what checks printed for STEP, oldest first; for all steps if STEP is not given.

    What an agent said and each tool it used is one line with its result and time; of a long check only the lines
    that decide are shown.

    A node or a visit is named after its step (`step-1/implement`, `step-1/checks#2`), in a run of a flow by itself
    (`implement`, `coder#1/implement#2`): what each visit wrote is shown with its logs.
    """
    project = open_project()
    store = project.open_store(read_only=True)
    known = read_run(store, find_run(store, run))
    wanted = Wanted(**typed)
    step_id, place = _find_place(known, step) if step else (None, "")
    begun = [one for one in (PREFLIGHT, *(step.id for step in known.selected()), FINAL) if known.has_begun(one)]
    chosen = begun if step_id is None else [step_id]
    several = len(chosen) > 1
    shelves = [Shelf(project=project, store=store, run=known, step=one, place=place, named=several) for one in chosen]
    if follow:
        _follow(project, store, known, step_id, wanted)
    elif errors:
        _show_errors(known, step, shelves, wanted)
    else:
        lines = [line for shelf in shelves for line in _show(shelf, wanted)]
        page_lines(lines[-wanted.tail :] if wanted.tail else lines)
    if not begun and step_id is None:
        say(f"run {known.id} has no logs yet")
        say("  next: drumline why")


def read_lines(project: Project, store: SqliteStore, run: RunState, step: StepId) -> list[str]:
    """What `logs STEP` prints; nothing if there is nothing yet."""
    shelf = Shelf(project=project, store=store, run=run, step=step, place="")
    return list(_show(shelf, Wanted())) if _list_files(shelf.folder) else []


def _find_place(run: RunState, name: str) -> tuple[StepId, str]:
    """A step, and the place in its walk if the name has one; a step that names no flow walks one, too."""
    step, _, place = name.partition("/")
    found = split_place(run, name)
    if found is None and place and StepId(step) in run.plan.by_id:
        return StepId(step), place
    return found or (check_step(run, name), "")


def _show(shelf: Shelf, wanted: Wanted) -> Iterator[str]:
    """The lines about one step."""
    by_visits = bool(shelf.place or wanted.state or shelf.run.names_flow(shelf.step))
    return (_show_visits if by_visits else _show_attempts)(shelf, wanted)


class Shelf(Record):
    """Where the logs are that were asked for: of one step of a run, or of a place in its walk.

    `named` says that every title names the step, because those of several are shown.
    """

    project: Project
    store: SqliteStore
    run: RunState
    step: StepId
    place: str
    named: bool = False

    @property
    def folder(self) -> Path:
        """The logs of the step."""
        return self.project.logs(self.run.id) / self.step

    def entries(self, kinds: Sequence[str] = ()) -> Sequence[Recorded]:
        """What the step's stream says, with the times."""
        return self.store.read(Stream(self.run.id, self.step), kinds=kinds)

    def read(self, kinds: Sequence[str] = ()) -> list[Event]:
        """What the step's stream says."""
        return [entry.event for entry in self.entries(kinds)]

    def show(self, names: Iterable[str], told: Mapping[str, Attempt], wanted: Wanted) -> Iterator[str]:
        """Logs with what is known of them."""
        titles = read_titles(self.read(), self.step)
        lead = f"{self.step}: " if self.named else ""
        for name in names:
            notes = attempt_lines(told[name]) if name in told else titles.describe(name)
            yield from log_lines(
                self.folder / name,
                f"{lead}{titles.name(name)}",
                notes,
                raw=wanted.raw,
                check=titles.checks.get(name),
            )


def _show_attempts(shelf: Shelf, wanted: Wanted) -> Iterator[str]:
    """The attempts at a step and its checks."""
    files = _files(shelf.folder, attempt=wanted.attempt, prompts=wanted.prompts)
    told = _name_attempts(shelf.run, shelf.read(OF_ATTEMPTS))
    if wanted.as_json:
        print_json(_frame(shelf, [_describe(file) for file in files], told))
        return
    if not files:
        say(f"{shelf.step} has no logs yet")
        say(f"  next: drumline why {shelf.step}")
    yield from shelf.show([file.name for file in files], told, wanted)


def _show_visits(shelf: Shelf, wanted: Wanted) -> Iterator[str]:
    """The visits of a walk that were asked for, in the order they began."""
    if wanted.attempt is not None and shelf.step == FLOW:
        raise InvalidInput("the nodes of a flow have no attempts; a visit is named", hint="drumline logs NODE#2")
    watcher = shelf.project.watcher(shelf.store, shelf.run)
    walk = watcher.read_walk(shelf.step, time.time())
    if wanted.state and walk.problem:
        raise InvalidInput(walk.problem, hint="drumline logs NODE")
    keys, folder, name = find_visits(walk, shelf.place), shelf.folder, shelf.place
    told = _name_attempts(shelf.run, shelf.read(OF_ATTEMPTS)) if shelf.step != FLOW else {}
    logs = _list_logs(shelf, keys, wanted)
    events = [] if walk.problem else shelf.read(WALK_KINDS)
    moments = {moment.key: moment for moment in replay(events, set(keys), watcher.find_chart)}
    if wanted.as_json:
        listed = {key: [_describe(folder / one) for one in names] for key, names in logs.items()}
        visits = [
            visit_json(walk.traces[key], moments.get(key), files, state=wanted.state) for key, files in listed.items()
        ]
        every = [file for files in listed.values() for file in files]
        shown = {file["name"] for file in every}
        print_json(_frame(shelf, every, {one: told[one] for one in told if one in shown}) | {"visits": visits})
        return
    if not logs:
        say(f"{name or 'the flow'} has no logs yet")
        say(f"  next: drumline why {name}".rstrip())
    brief = shelf.step in RUN_WALKS and not (shelf.place or wanted.state)  # a person reads what the nodes printed
    for key in logs:
        if not brief:
            yield from _tell_visit(walk, walk.traces[key], moments.get(key), state=wanted.state)
        yield from shelf.show(logs[key], told, wanted)


def _list_logs(shelf: Shelf, keys: Sequence[Key], wanted: Wanted) -> dict[Key, list[str]]:
    """The logs of each visit; of one attempt and its checks, if only that is wanted."""
    files = [
        file for file in _list_files(shelf.folder) if wanted.attempt is None or _attempt_of(file) == wanted.attempt
    ]
    numbered = {} if shelf.step == FLOW else number_logs(shelf.read())
    found = match_logs([file.name for file in files], keys, prompts=wanted.prompts, numbered=numbered)
    return found if wanted.attempt is None else {key: names for key, names in found.items() if names}


def _tell_visit(walk: Walk, trace: Trace, moment: Moment | None, *, state: bool) -> Iterator[str]:
    title, *wrote = head_lines(walk, trace, moment)
    yield click.style(title, bold=True)
    yield from wrote
    yield from state_lines(moment) if state and moment else ()


def _show_errors(run: RunState, step: str, shelves: Sequence[Shelf], wanted: Wanted) -> None:
    """Every failure of the steps, as they came."""
    found = [one for shelf in shelves for one in list_failures(run, shelf.step, shelf.entries())]
    found = sorted(found, key=lambda one: one.at)[-(wanted.tail or len(found) or 1) :]
    if wanted.as_json:
        errors = [failure_json(one) for one in found]
        print_json({"schema_version": SCHEMA_VERSION, "run": run.id, "step": step or None, "errors": errors})
        return
    print_lines(line for one in found for line in failure_lines(one, clock))
    if not found:
        say(f"nothing failed in run {run.id}")


def _follow(project: Project, store: SqliteStore, run: RunState, step: StepId | None, wanted: Wanted) -> None:
    """Print what comes for one step, or for all, until nobody drives the run any more."""
    from drumline.cli.watching import POLL, Watch

    if wanted.as_json:
        raise InvalidInput("--follow and --json cannot be combined", hint="drumline logs --json")
    watch = Watch(store=store, run=run.id, watcher=project.watcher(store, run))
    logs = project.logs(run.id)

    def list_folders() -> dict[str, Path]:
        known = watch.watcher.state.selected() if watch.watcher.state.started else run.selected()
        every = (PREFLIGHT, *(one.id for one in known), FINAL)
        return {str(one): logs / one for one in every} if step is None else {"": logs / step}

    follower = Follower(
        list_folders=list_folders, is_over=watch.is_over, list_verdicts=_Verdicts(store, run.id, logs).read
    )
    try:
        follower.follow(POLL)
    except KeyboardInterrupt:
        say(f"no longer following; run {run.id} goes on")


@dataclass
class _Verdicts:
    """What the checks of a run come to, read from the journal as it grows."""

    store: SqliteStore
    run: RunId
    logs: Path
    _seen: int = 0

    def read(self) -> dict[Path, Sequence[str]]:
        """What came since the last time."""
        found: dict[Path, Sequence[str]] = {}
        for entry in self.store.tail(self.run, after=self._seen):
            self._seen = entry.seq
            found |= {self.logs / entry.stream.step / log: told for log, told in describe_ended(entry.event).items()}
        return found


def _frame(shelf: Shelf, logs: Sequence[object], told: Mapping[str, Attempt]) -> dict[str, object]:
    """What was asked for and found; a flow by itself has no attempts but those of its visits."""
    whole = f"{shelf.step}/{shelf.place}" if shelf.place else shelf.step
    step = (shelf.place or None) if shelf.step == FLOW else whole
    attempts = [attempt_json(attempt) for attempt in _list_once(told.values())]
    data: dict[str, object] = {"schema_version": SCHEMA_VERSION, "run": shelf.run.id, "step": step, "logs": logs}
    return data if shelf.step == FLOW else data | {"attempts": attempts}


def _describe(file: Path) -> dict[str, object]:
    told = [happened_json(one) for one in read_told(file)]
    described: dict[str, object] = {"name": file.name, "path": str(file), "bytes": file.stat().st_size}
    return {**described, "happenings": told} if told else described


def _list_files(folder: Path) -> list[Path]:
    """All logs, oldest first. While an agent works, it has a folder beside its log."""
    found = folder.iterdir() if folder.is_dir() else ()
    files = [file for file in found if file.is_file() and file.suffix != HAPPENINGS]
    return sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))


def _name_attempts(run: RunState, events: Sequence[Event]) -> dict[str, Attempt]:
    """The attempts by the names of their transcripts. A lost one is moved aside when its number is given out again."""
    ended, lost = list_attempts(run, events), list_lost(run, events)
    named = {f"{WORKED}-{number}.lost-{place}.log": attempt for (number, place), attempt in lost.items()}
    latest = {number: attempt for (number, _), attempt in lost.items()} | ended
    return named | {f"{WORKED}-{number}.log": attempt for number, attempt in latest.items()}


def _list_once(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Each attempt once: the transcript of one that was lost just now may have either name."""
    found: list[Attempt] = []
    for attempt in attempts:
        if not any(attempt is known for known in found):
            found.append(attempt)
    return sorted(found, key=lambda attempt: (attempt.number, not attempt.lost))


def _files(folder: Path, *, attempt: int | None, prompts: bool) -> list[Path]:
    shown = (SETUP, WORKED, *(f"{kind}-" for kind in CHECKED))
    kinds = (*shown, PROMPT) if prompts else shown
    found = [file for file in _list_files(folder) if file.name.startswith(kinds)]
    return [file for file in found if attempt is None or _attempt_of(file) == attempt]


def _attempt_of(file: Path) -> int | None:
    """The attempt in a log's name: `attempt-2.log`, `check-2-1.log`, `base-2-1.log`, `prompt-2.md`."""
    parts = file.name.replace(".", "-").split("-")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
