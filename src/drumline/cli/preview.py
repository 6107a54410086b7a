"""`drumline run --dry-run`: what a run would do, without doing any of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import click

from drumline.app.proposing import Proposal
from drumline.cli.output import SCHEMA_VERSION, print_json
from drumline.core.ids import StepId
from drumline.core.outlook import Outlook, look_ahead
from drumline.core.parallelism import measure_parallelism, parallelism_json
from drumline.core.plan import Reading, Status
from drumline.settings import Settings


def show_preview(
    reading: Reading,
    selection: tuple[StepId, ...] | None,
    settings: Settings,
    *,
    as_json: bool,
    proposals: Sequence[Proposal] = (),
    places: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Show waves, steps and every command that would be executed; `places` are the files of those that were found."""
    here = {step.id for step in reading.plan.steps if not step.elsewhere}
    chosen = here if selection is None else here & set(selection)
    over = {Status.DONE: "done already", Status.SKIPPED: "skipped"}
    done = {step: over[marks.status] for step, marks in reading.marks.items() if marks.status in over}
    shape = measure_parallelism(reading.plan.steps, reading.plan.format)
    mode = "sequential" if reading.plan.express else shape.mode if settings.mode == "ask" else settings.mode
    if as_json:
        told = _preview_json(reading, chosen - done.keys(), settings, mode=mode)
        proved = proved_json(look_ahead(reading, settings.configured, selection))
        print_json({**told, **proved, "proposed": proposed_json(proposals)})
        return
    how = mode if mode == "sequential" else f"{mode}, {settings.jobs or 'any number'} at once"
    count = len(chosen - done.keys())
    steps = "1 step" if count == 1 else f"{count} steps"
    click.echo(f"{reading.plan.title or reading.plan.name}: {steps} to do, {how}")
    for check in reading.plan.preflight:
        click.echo(f"before the first step: {check.command}")
    if settings.setup:
        click.echo(f"in every new workspace: {_name_place(settings.setup, places)}")
    for number, wave in enumerate(shape.waves, start=1):
        click.echo(f"wave {number}")
        for step_id in wave:
            _show_step(reading, step_id, chosen=chosen, done=done, places=places)
    for command in settings.configured:
        click.echo(f"after every step: {command}")
    for check in reading.plan.final:
        click.echo(f"after the last step: {check.command}")


def tell_nothing_left(reading: Reading, *, as_json: bool) -> int:
    """Say that a plan has nothing left to do, which is not a failure; return the exit code."""
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "ok": True, "plan": reading.plan.path, "steps": []})
    else:
        click.echo(f"nothing is left to do in {reading.plan.path}: its steps are done or skipped")
    return 0


def proved_json(outlook: Outlook) -> dict[str, object]:
    """How many steps would be proved, of how many; and the steps still to do that are not counted."""
    return {
        "proved": len(outlook.proved),
        "of": len(outlook.worked),
        "held": [step.id for step in outlook.held],
        "read_only": [step.id for step in outlook.reading],
    }


def proposed_json(proposals: Sequence[Proposal]) -> list[dict[str, object]]:
    """Checks that could be added; `step` is empty for every step without one."""
    return [{"command": one.command, "step": one.step, "from": one.why} for one in proposals]


def _name_place(command: str, places: Mapping[str, str]) -> str:
    """The command, with the file that says so if it was found in one."""
    return f"{command}  ({places[command]})" if command in places else command


def _show_step(
    reading: Reading,
    step_id: StepId,
    *,
    chosen: set[StepId],
    done: Mapping[StepId, str],
    places: Mapping[str, str],
) -> None:
    step = reading.plan.by_id[step_id]
    left = f"for the repository {step.elsewhere}" if step.elsewhere else "not part of this run"
    what = done.get(step_id, "" if step_id in chosen else left)
    needs = f" (needs {', '.join(step.needs)})" if step.needs else ""
    click.echo(f"  {step.id}: {step.title}{needs}{f' — {what}' if what else ''}")
    if not what:
        if step.agent:
            click.echo(f"      agent: {step.agent}")
        for check in step.checks:
            click.echo(f"      check: {_name_place(check.command, places)}")
        for item in step.manual:
            click.echo(f"      by hand: {item}")


def _preview_json(reading: Reading, todo: set[StepId], settings: Settings, *, mode: str) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "plan": reading.plan.path,
        "format": reading.plan.format,
        "mode": mode,
        "jobs": settings.jobs,
        "agent": settings.agent,
        "steps": [
            {
                "id": step.id,
                "title": step.title,
                "needs": list(step.needs),
                "agent": step.agent,
                "checks": [check.command for check in step.checks],
            }
            for step in reading.plan.steps
            if step.id in todo
        ],
        "preflight": [check.command for check in reading.plan.preflight],
        "final": [check.command for check in reading.plan.final],
        "setup": settings.setup,
        "provide": list(settings.provide),
        "checks": list(settings.configured),
        "profile": parallelism_json(measure_parallelism(reading.plan.steps, reading.plan.format)),
    }
