"""`drumline logs`: what agents said and what checks printed."""

from __future__ import annotations

from pathlib import Path

import click

from drumline.app.catalog import find_run, read_run
from drumline.app.say import check_step
from drumline.cli.options import json_option, run_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.wiring import open_site


@click.command("logs")
@click.argument("step")
@click.option("--attempt", type=int, metavar="N", help="Only this attempt and its checks.")
@click.option("--prompt", "prompts", is_flag=True, help="Show the prompts, too.")
@run_option
@json_option
def command(step: str, attempt: int | None, prompts: bool, run: str, as_json: bool) -> None:
    """Print the transcripts and check logs of STEP, oldest first."""
    site = open_site()
    store = site.open_store(read_only=True)
    found = find_run(store, run)
    check_step(read_run(store, found), step)
    files = _files(site.logs(found) / step, attempt=attempt, prompts=prompts)
    if as_json:
        listed = [{"name": file.name, "path": str(file), "bytes": file.stat().st_size} for file in files]
        print_json({"schema_version": SCHEMA_VERSION, "run": found, "step": step, "logs": listed})
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
