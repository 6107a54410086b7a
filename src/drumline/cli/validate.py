"""`drumline validate`: every problem of a plan at once, and what would be run."""

from __future__ import annotations

import click

from drumline.cli.options import format_option, json_option, plan_argument
from drumline.cli.output import SCHEMA_VERSION, count_problems, print_json, problem_json, say, show_problems
from drumline.core.plan import Reading
from drumline.core.profile import profile, profile_json
from drumline.views.explain import explain
from drumline.wiring import open_site

INVALID = 3


@click.command("validate")
@plan_argument
@format_option
@click.option("--strict", is_flag=True, help="Let warnings fail, too.")
@json_option
def command(plan: str, strict: bool, format: str, as_json: bool) -> int:
    """Check PLAN (a path, a name in plans/, a ticket id or slug) and show its shape."""
    reading = open_site().open_plan(plan, format).read()
    ok = not reading.errors and not (strict and reading.problems)
    if as_json:
        print_json(validation_json(reading, ok=ok))
    else:
        show_problems(reading.problems)
        _show_shape(reading, ok=ok)
    return 0 if ok else INVALID


def validation_json(reading: Reading, *, ok: bool) -> dict[str, object]:
    """The contract that scripts use."""
    steps = reading.plan.steps
    return {
        "schema_version": SCHEMA_VERSION,
        "ok": ok,
        "plan": reading.plan.path,
        "format": reading.plan.format,
        "steps": [
            {
                "id": step.id,
                "title": step.title,
                "needs": list(step.needs),
                "files": list(step.files),
                "agent": step.agent,
                "status": reading.marks[step.id].status.value if step.id in reading.marks else "ready",
            }
            for step in steps
        ],
        "problems": [problem_json(p) for p in reading.problems],
        "profile": {} if reading.errors else profile_json(profile(steps)),
    }


def _show_shape(reading: Reading, *, ok: bool) -> None:
    verdict = f"{'valid' if ok else 'not valid'} ({count_problems(reading.problems)})"
    click.echo(f"{reading.plan.path}: {verdict}, format {reading.plan.format}")
    if reading.errors:
        say("  next: fix the errors above, then: drumline validate " + reading.plan.path)
        return
    for line in explain(reading, profile(reading.plan.steps)):
        click.echo(line)
