"""`drumline validate`: every problem of a plan at once, and what would be run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing

import click

from drumline.app.adopting import is_usable, tell_found
from drumline.app.catalog import RunBrief, list_runs
from drumline.app.detection import SETUP, detect_at_head
from drumline.app.drifting import Ground, find_drift
from drumline.app.foreign import refuse_disabled
from drumline.app.proposing import Proposal
from drumline.app.provided import find_provided
from drumline.cli.introduction import MOST_SHOWN, list_proposals, propose_checks
from drumline.cli.options import format_option, json_option, some_plan_argument
from drumline.cli.output import (
    SCHEMA_VERSION,
    count_problems,
    print_json,
    print_lines,
    problem_json,
    say,
    show_problems,
)
from drumline.cli.retyping import choose_plan, name_plan
from drumline.core.checkenv import tell_left_out
from drumline.core.checklist import arrange_step, list_unbuilt
from drumline.core.outlook import look_ahead, todo
from drumline.core.parallelism import measure_parallelism, parallelism_json
from drumline.core.plan import SIDECAR, Reading
from drumline.record import replace
from drumline.views.explain import explain
from drumline.wiring import Project, open_project

INVALID = 3


@click.command("validate")
@some_plan_argument
@format_option
@click.option("--drift", is_flag=True, help="Compare paths and symbols that steps name with the head.")
@click.option("--strict", is_flag=True, help="Let warnings fail, too.")
@json_option
def command(plan: str, format: str, *, drift: bool, strict: bool, as_json: bool) -> int:
    """Check PLAN (a path, a name in plans/, a ticket id or slug; the newest unfinished plan if not given) and show its
    shape.
    """
    project = open_project()
    plan = plan or choose_plan(project)
    planfiles = project.open_plan(plan, format)
    reading = refuse_disabled(planfiles.read(), os.environ)
    project = project.with_plan(reading.plan)
    if drift and not reading.errors:
        found = find_drift(reading, planfiles.text, project.repository, _find_ground(project, reading))
        reading = replace(reading, problems=(*reading.problems, *found))
        if not found:
            say("no drift: the head has the paths and symbols that the steps still to do name")
    ok = not reading.errors and not (strict and reading.problems)
    left_out = project.check_environment.left_out
    if as_json:
        print_json(validation_json(reading, ok=ok) | {"left_out": {name: [*dirs] for name, dirs in left_out.items()}})
    else:
        show_problems(reading.problems)
        proposals = [] if reading.errors else propose_checks(project, reading)
        _show_shape(
            reading, project.settings.configured, ok=ok, named=name_plan(plan, format), proposes=bool(proposals)
        )
        _show_proposals(project, reading, proposals)
        _show_unbuilt(project, reading)
        if told := tell_left_out(left_out):
            say(f"note: {told}")
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
        "profile": {} if reading.errors else parallelism_json(measure_parallelism(steps, reading.plan.format)),
    }


def _find_ground(project: Project, reading: Reading) -> Ground:
    """What the plan is compared with: the commit of its first run, else the one at which its files were committed."""
    head = project.repository.head_commit()
    runs: list[RunBrief] = []
    if project.has_store():
        with closing(project.open_store(read_only=True)) as store:
            runs = list_runs(store, plan=reading.plan.path)
    if not runs:
        written = project.repository.last_change([path for path in reading.digests if not path.endswith(SIDECAR)])
        if written is None:
            say("nothing is recorded of this plan yet: it has no run and is in no commit; only the head is looked at")
        else:
            say(f"no run of this plan is recorded; compared with {written[:12]}, the last commit that changed it")
        return Ground(head=head, base=written, since="was last committed")
    landed = {finished.commit for brief in runs for finished in brief.state.finished.values() if finished.commit}
    return Ground(head=head, base=runs[0].state.begun.base, landed=frozenset(landed))


def _show_shape(reading: Reading, configured: Sequence[str], *, ok: bool, named: str, proposes: bool) -> None:
    verdict = f"{'valid' if ok else 'not valid'} ({count_problems(reading.problems)})"
    click.echo(f"{reading.plan.path}: {verdict}, format {reading.plan.format}")
    if reading.errors:
        say(f"  next: fix the errors above, then: drumline validate {named}")
        return
    outlook = look_ahead(reading, configured)
    print_lines(explain(reading, measure_parallelism(reading.plan.steps, reading.plan.format), outlook))
    if not ok:
        say(f"  next: fix the warnings above, then: drumline validate {named} --strict")
    elif outlook.left:
        say(f"  next: drumline {'checks' if outlook.unproved and proposes else 'run'} {named}")


def _show_unbuilt(project: Project, reading: Reading) -> None:
    """The steps that only have to compile where no command builds."""
    steps = [] if reading.errors else todo(reading)
    ids = [step.id for step in steps if list_unbuilt(step, arrange_step(step, project.settings.kinds).checks)]
    if ids:
        say(f"note: {', '.join(ids)} only have to compile, and no command is named for that: nothing proves them")
        say("  name one: BUILD_CMD in the environment, or build in [commands] of .drumline/config.toml")


def _show_proposals(project: Project, reading: Reading, proposals: Sequence[Proposal]) -> None:
    """What could be configured: checks for steps that have none, and a setup command if none is set."""
    if reading.errors:
        return
    print_lines(list_proposals(proposals)[:MOST_SHOWN])
    if project.settings.setup or project.settings.provide:
        return
    detected = detect_at_head(project.repository)
    found = (*detected.of(SETUP), *find_provided(project.repository, detected))
    for each in found:
        click.echo(tell_found(each))
    if any(is_usable(each) for each in found):
        say("  to have it in every workspace, and checks in places of their own: drumline init --accept")
