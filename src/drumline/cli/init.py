"""`drumline init`: get a repository ready."""

from __future__ import annotations

import click

from drumline.app.scaffold import write_config
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.settings import settings_table
from drumline.wiring import open_site


@click.command("init")
@json_option
def command(as_json: bool) -> None:
    """Write .drumline/config.toml, with every setting explained. What is there stays as it is."""
    site = open_site()
    written = write_config(site.repository.top, settings_table())
    if as_json:
        created = [".drumline/config.toml"] if written else []
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "created": created})
        return
    click.echo("wrote .drumline/config.toml" if written else ".drumline/config.toml is there already; nothing written")
    say("  next: set your agent in it, then: drumline validate PATH/TO/PLAN")
