"""`drumline gc`: remove what runs and dead processes left, and say what was left and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import click

from drumline.app.leftovers import Cleanup, Leftover, clear_leftovers
from drumline.app.overruns import clear_overruns, find_overruns
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, is_terminal, print_json, print_lines
from drumline.core.plaintext import count_noun
from drumline.record import Record, replace
from drumline.wiring import open_project


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@click.option("--yes", is_flag=True, help="Remove branches and refs of runs that are over, too, without asking.")
@click.option("--discard", is_flag=True, help="Of these, remove also what nothing else has; it is lost then.")
@json_option
def command(dry_run: bool, yes: bool, discard: bool, as_json: bool) -> int:
    """Remove worktrees, locks, folders of drivers and temporary files that no run needs any more.

    What a live run uses stays, and so does what a run that can be resumed needs. Work that no ref keeps is kept first.

    Branches and refs of runs that are done or cancelled are listed, and removed once you agree: those whose work is in
    a branch of yours, also if it was squashed or rebased there, and with --discard the others.
    """
    project = open_project()
    project.check_speaker()
    store = project.open_store() if project.has_store() else None
    try:
        cleanup = replace(project.cleanup(store, dry=dry_run), thorough=True)
        found = anyio.run(clear_leftovers, cleanup)
        found += _clear_refs(cleanup, Request(yes=yes, discard=discard, asks=not as_json and is_terminal()))
    finally:
        if store is not None:
            store.close()
    if as_json:
        told = [_spell(leftover, dry=dry_run) for leftover in found]
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "dry_run": dry_run, "leftovers": told})
    else:
        print_lines(_tell(found, dry=dry_run))
    return 0


class Request(Record):
    """What a person wants done with branches and refs of runs that are over; `asks` if they can be asked."""

    yes: bool
    discard: bool
    asks: bool


def _clear_refs(cleanup: Cleanup, wanted: Request) -> list[Leftover]:
    """Show what would be removed, and remove it once a person agrees."""
    refs = find_overruns(cleanup)
    planned = clear_overruns(replace(cleanup, dry=True), refs, discard=wanted.discard)
    going = [one for one in planned if not one.left]
    if cleanup.dry:
        return planned
    agreed = wanted.yes
    if going and wanted.asks and not agreed:
        print_lines(_tell(planned, dry=True))
        agreed = click.confirm(f"Remove {count_noun(len(going), 'branch or ref', 's')}?", default=False, err=True)
    if agreed:
        return clear_overruns(cleanup, refs, discard=wanted.discard)
    told = (
        [f"{len(going):,} of runs that are over; drumline gc --yes removes them, --dry-run lists them"] if going else []
    )
    if kept := len(planned) - len(going):
        told.append(f"{kept:,} of runs that are over stay; drumline gc --dry-run says why")
    return [Leftover(kind="branches and refs below", path=Path("refs"), left=text) for text in told]


def _tell(found: Sequence[Leftover], *, dry: bool) -> list[str]:
    removed = [leftover for leftover in found if not leftover.left]
    lines = [
        f"{_tell_deed(one, dry=dry)} {one.kind} {one.path}{f' ({one.note})' if one.note else ''}" for one in removed
    ]
    lines += [f"left {one.kind} {one.path}: {one.left}" for one in found if one.left]
    return lines or ["nothing is left over"]


def _tell_deed(leftover: Leftover, *, dry: bool) -> str:
    if not dry:
        return leftover.deed
    return "would repair" if leftover.repaired else "would remove"


def _spell(leftover: Leftover, *, dry: bool) -> dict[str, object]:
    return {
        "kind": leftover.kind,
        "path": str(leftover.path),
        "removed": not leftover.left and not dry and not leftover.repaired,
        "repaired": not leftover.left and not dry and leftover.repaired,
        "reason": leftover.left,
        "note": leftover.note,
    }
