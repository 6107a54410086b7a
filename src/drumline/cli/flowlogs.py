"""`drumline logs` of a run that walks a flow: visit by visit what was written, what was printed, and the state."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from drumline.cli.logfiles import print_log
from drumline.cli.output import SCHEMA_VERSION, print_json, print_lines, say
from drumline.core.flow.state import Key
from drumline.core.ids import FLOW, RunId, Stream
from drumline.errors import InvalidInput
from drumline.record import Record
from drumline.store.sqlite import SqliteStore
from drumline.views.flowlogs import Moment, head_lines, match_logs, replay, state_lines, visit_json
from drumline.views.flowsnapshot import FlowSnapshot
from drumline.views.flowvisits import find_visits
from drumline.wiring import Site


class Wanted(Record):
    """What a person asked for."""

    name: str = ""
    prompts: bool = False
    state: bool = False
    as_json: bool = False


def show_flow_logs(site: Site, store: SqliteStore, run: RunId, wanted: Wanted) -> None:
    """Print the visits that were asked for, in the order they began."""
    watcher = site.flow_watcher(store, run)
    snapshot = watcher.look(time.time())
    if wanted.state and snapshot.problem:
        raise InvalidInput(snapshot.problem, hint="drumline logs NODE")
    keys = find_visits(snapshot, wanted.name)
    folder = site.logs(run) / FLOW
    logs = match_logs(_list_files(folder), keys, prompts=wanted.prompts)
    events = [] if snapshot.problem else [entry.event for entry in store.read(Stream(run, FLOW))]
    moments = {moment.key: moment for moment in replay(events, set(keys), watcher.find_chart)}
    if wanted.as_json:
        _print_data(snapshot, wanted, folder, logs=logs, moments=moments)
        return
    if not keys:
        say(f"{wanted.name or 'the flow'} has no logs yet")
        say(f"  next: drumline why {wanted.name}".rstrip())
    for key in keys:
        moment = moments.get(key)
        title, *wrote = head_lines(snapshot, snapshot.traces[key], moment)
        click.echo(click.style(title, bold=True))
        print_lines(wrote)
        print_lines(state_lines(moment) if wanted.state and moment else ())
        for name in logs[key]:
            print_log(folder / name)


def _list_files(folder: Path) -> list[str]:
    """The names of all logs, oldest first."""
    files = [file for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []
    return [file.name for file in sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))]


def _print_data(
    snapshot: FlowSnapshot,
    wanted: Wanted,
    folder: Path,
    *,
    logs: Mapping[Key, Sequence[str]],
    moments: Mapping[Key, Moment],
) -> None:
    listed = {key: [_describe(folder / name) for name in names] for key, names in logs.items()}
    visits = [
        visit_json(snapshot.traces[key], moments.get(key), found, state=wanted.state) for key, found in listed.items()
    ]
    every = [file for found in listed.values() for file in found]
    data = {"schema_version": SCHEMA_VERSION, "run": snapshot.run.id, "step": wanted.name or None, "logs": every}
    print_json({**data, "visits": visits})


def _describe(file: Path) -> dict[str, object]:
    return {"name": file.name, "path": str(file), "bytes": file.stat().st_size}
