"""`drumline convert`: a plan of any format as a native one."""

from __future__ import annotations

import time
from pathlib import Path

import click

from drumline.app.convert import convert, write_pages
from drumline.cli.options import format_option, json_option, plan_argument
from drumline.cli.output import SCHEMA_VERSION, print_json, say, show_problems
from drumline.cli.retyping import name_plan
from drumline.errors import InvalidPlan
from drumline.wiring import open_project


@click.command("convert")
@plan_argument
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Choice(["dag"]), default="dag", help="The format to write; dag is native.")
@format_option
@json_option
def command(plan: str, folder: Path, target: str, format: str, as_json: bool) -> None:
    """Write PLAN in the native format into FOLDER, which must be new or empty. PLAN stays as it is."""
    project = open_project()
    planfiles = project.open_plan(plan, format)
    reading = planfiles.read()
    if reading.errors:
        hint = f"drumline validate {name_plan(plan, format)}"
        raise InvalidPlan(f"{plan} cannot be converted", reading.problems, hint=hint)
    pages = convert(planfiles, reading, date=time.strftime("%Y-%m-%d"))
    write_pages(project.here / folder, pages)
    if as_json:
        files = [page.name for page in pages]
        told = {"ok": True, "format": target, "folder": str(folder), "files": files}
        print_json({"schema_version": SCHEMA_VERSION, **told})
        return
    show_problems(reading.problems)
    click.echo(f"wrote {len(pages)} files to {folder} ({len(reading.plan.steps)} steps)")
    inside = (project.here / folder).resolve().is_relative_to(project.repository.top)
    moved = "" if inside else "move it into a repository, then: "
    say(f"  next: {moved}drumline validate {name_plan(str(folder), '')}")
