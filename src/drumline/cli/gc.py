"""`drumline gc`: remove what runs and dead processes left, and say what was left and why."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import click

from drumline.app.leftovers import Leftover, clear_leftovers
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, print_lines
from drumline.record import replace
from drumline.wiring import open_site


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@json_option
def command(dry_run: bool, as_json: bool) -> int:
    """Remove worktrees, locks, folders of drivers and temporary files that no run needs any more.

    What a live run uses stays, and so does what a run that can be resumed needs. Work that no ref keeps is kept first.
    """
    site = open_site()
    site.check_speaker()
    store = site.open_store() if site.has_store() else None
    try:
        found = anyio.run(clear_leftovers, replace(site.cleanup(store, dry=dry_run), thorough=True))
    finally:
        if store is not None:
            store.close()
    if as_json:
        told = [_spell(leftover, dry=dry_run) for leftover in found]
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "dry_run": dry_run, "leftovers": told})
    else:
        print_lines(_tell(found, dry=dry_run))
    return 0


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
