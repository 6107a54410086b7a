"""`drumline init`: get a repository ready."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import click

from drumline.app.adopting import Adoption, choose_adopted, tell_found
from drumline.app.convert import template, write_pages
from drumline.app.detection import Found, detect_at_head
from drumline.app.planplace import PLANS, choose_folder
from drumline.app.provided import find_provided
from drumline.cli.options import json_option
from drumline.cli.output import SCHEMA_VERSION, print_json, say
from drumline.core.validation import legal_id
from drumline.errors import InvalidInput
from drumline.record import replace
from drumline.settings import Setting, first_settings
from drumline.settingvalues import parse_commands, parse_globs, parse_provided
from drumline.wiring import open_project


@click.command("init")
@click.option("--plan", "plan", default="", metavar="NAME", help="Write a plan to begin with, too: plans/NAME.")
@click.option("--accept", is_flag=True, help="Write the commands that are found, by kind, without asking.")
@json_option
def command(plan: str, accept: bool, as_json: bool) -> None:
    """Write .drumline/config.toml, with the usual settings explained, and propose commands. An existing one is kept."""
    project = open_project()
    path = project.repository.top / ".drumline" / "config.toml"
    detected = detect_at_head(project.repository)
    found = choose_adopted(detected, project.config)
    if not {"setup", "provide"} & project.config.keys():
        found = replace(found, provide=find_provided(project.repository, detected))
    written = _write_config(path)
    created = [".drumline/config.toml"] if written else []
    begun = f"{choose_folder(project.here)}/{plan}"
    if plan:
        created += _begin_plan(project.here, plan, begun)
    if as_json:
        if accept and found.found:
            found.write(path)
        told = {"found": _list_json(found.found), "missing": _list_json(found.missing), "accepted": accept}
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "created": created} | told)
        return
    click.echo("wrote .drumline/config.toml" if written else _tell_kept(accept=accept and bool(found.found)))
    _offer(found, path, accept=accept)
    if plan:
        beside = ", because setuptools would take a folder plans at the top for a package"
        click.echo(f"wrote a plan to begin with: {begun}{'' if begun.startswith(PLANS) else beside}")
        say(f"  next: edit it, then: drumline validate {begun}")
    else:
        say("  next: set your agent in it, then: drumline validate PATH/TO/PLAN")


def _tell_kept(*, accept: bool) -> str:
    """What is said of a configuration that was there before."""
    return ".drumline/config.toml is there already" + ("" if accept else "; nothing written")


def _offer(found: Adoption, path: Path, *, accept: bool) -> None:
    """List what was found, and write it on a yes; without a terminal say how to."""
    for each in (*found.found, *found.missing):
        click.echo(tell_found(each))
    if not found.found:
        return
    if not accept and not (sys.stdin.isatty() and sys.stderr.isatty()):
        say("  to run them for every step: drumline init --accept")
    elif accept or click.confirm("Write them into .drumline/config.toml and run them for every step", err=True):
        found.write(path)
        keys = [*(("setup",) if found.setup else ()), *(("provide",) if found.provide else ())]
        keys += dict.fromkeys(each.kind for each in found.kinds)
        click.echo(f"wrote {', '.join(keys)} into .drumline/config.toml")


def _list_json(found: Sequence[Found]) -> list[dict[str, object]]:
    return [{"kind": each.kind, "command": each.command, "from": each.place} for each in found]


def _begin_plan(here: Path, name: str, place: str) -> list[str]:
    if not legal_id(name):
        message = f"{name!r} cannot name a plan: use letters, digits, '.', '_' and '-'"
        raise InvalidInput(message, hint="drumline init --plan my-plan")
    pages = template(name, date=time.strftime("%Y-%m-%d"))
    write_pages(here / place, pages)
    return [f"{place}/{page.name}" for page in pages]


def _write_config(path: Path) -> bool:
    """Write `.drumline/config.toml` with the usual settings commented out; False if there is one, which is kept."""
    if path.exists():
        return False
    path.parent.mkdir(exist_ok=True)
    lines = ["# Settings of Drumline for this repository. A flag or a DRUMLINE_* variable overrules them.", ""]
    for row in first_settings():
        lines += [*(f"# {line}" for line in wrap(row.help, 100)), f"# {row.key} = {_toml(row)}", ""]
    lines += ["# All others, for special cases: docs/reference/settings.md of Drumline.", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return True


def _toml(row: Setting) -> str:
    if row.parse in (parse_commands, parse_globs, parse_provided):
        return "[]"
    return row.default if row.default.isdigit() else f'"{row.default}"'
