"""`drumline init`: get a repository ready."""

from __future__ import annotations

import time
from pathlib import Path

import click

from drumline.app.convert import template, write_pages
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.validation import legal_id
from drumline.errors import InvalidInput
from drumline.settings import Setting, settings_table
from drumline.wiring import open_site


@click.command("init")
@click.option("--plan", "plan", default="", metavar="NAME", help="Write a plan to begin with into plans/NAME, too.")
@json_option
def command(plan: str, as_json: bool) -> None:
    """Write .drumline/config.toml, with every setting explained. What is there stays as it is."""
    site = open_site()
    written = _write_config(site.repository.top)
    created = [".drumline/config.toml"] if written else []
    if plan:
        created += _begin_plan(site.here, plan)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "created": created})
        return
    click.echo("wrote .drumline/config.toml" if written else ".drumline/config.toml is there already; nothing written")
    if plan:
        click.echo(f"wrote a plan to begin with: plans/{plan}")
        say(f"  next: edit it, then: drumline validate plans/{plan}")
    else:
        say("  next: set your agent in it, then: drumline validate PATH/TO/PLAN")


def _begin_plan(here: Path, name: str) -> list[str]:
    if not legal_id(name):
        message = f"{name!r} cannot name a plan: use letters, digits, '.', '_' and '-'"
        raise InvalidInput(message, hint="drumline init --plan my-plan")
    pages = template(name, date=time.strftime("%Y-%m-%d"))
    write_pages(here / "plans" / name, pages)
    return [f"plans/{name}/{page.name}" for page in pages]


def _write_config(top: Path) -> Path | None:
    """Write `.drumline/config.toml` with every setting commented out; None if there is one, which stays as it is."""
    path = top / ".drumline" / "config.toml"
    if path.exists():
        return None
    path.parent.mkdir(exist_ok=True)
    lines = ["# Settings of Drumline for this repository. A flag or a DRUMLINE_* variable overrules them.", ""]
    for row in settings_table():
        lines += [f"# {row.help}", f"# {row.key} = {_toml(row)}", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _toml(row: Setting) -> str:
    if row.key == "checks":
        return "[]"
    return row.default if row.default.isdigit() else f'"{row.default}"'
