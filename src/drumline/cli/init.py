"""`drumline init`: get a repository ready."""

from __future__ import annotations

import time
from pathlib import Path

import click

from drumline.app.convert import template, write_pages
from drumline.app.scaffold import write_config
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.validation import legal_id
from drumline.errors import InvalidInput
from drumline.settings import settings_table
from drumline.wiring import open_site


@click.command("init")
@click.option("--plan", "plan", default="", metavar="NAME", help="Write a plan to begin with into plans/NAME, too.")
@json_option
def command(plan: str, as_json: bool) -> None:
    """Write .drumline/config.toml, with every setting explained. What is there stays as it is."""
    site = open_site()
    written = write_config(site.repository.top, settings_table())
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
