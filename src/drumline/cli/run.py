"""`drumline run`: begin a run, join a live one, or say clearly why neither happens."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

import anyio
import click

from drumline.app.begin import (
    Choice,
    Scope,
    Terms,
    begin_run,
    choose_steps,
    find_inherited,
    list_todo,
    new_run_id,
    pin_terms,
)
from drumline.app.brought import list_plan_commands
from drumline.app.catalog import RunBrief, list_runs, read_run
from drumline.app.finding import step_in_file
from drumline.app.foreign import foreign_settings, refuse_disabled
from drumline.app.joining import OLD, assert_agrees, last_landed, name_selection, survey, unmerged
from drumline.app.ledger import list_durations, list_flaky
from drumline.app.provided import refuse_unignored
from drumline.app.starting import hold_start
from drumline.cli.accepting import ask_acceptance
from drumline.cli.detach import detach
from drumline.cli.inplace import choose_run_branch
from drumline.cli.introduction import explain_plan, introduce, propose_checks, tell_commands
from drumline.cli.options import (
    agent_option,
    autonomy_option,
    detach_option,
    dry_run_option,
    format_option,
    json_option,
    read_words,
    require_option,
    retries_option,
    some_plan_argument,
)
from drumline.cli.otherruns import ask_about_other_run
from drumline.cli.output import is_terminal, say
from drumline.cli.preview import show_preview, tell_nothing_left
from drumline.cli.recordings import check_record, record_option
from drumline.cli.retyping import choose_plan, name_plan
from drumline.cli.session import Session
from drumline.cli.trusting import Offer, ask_trust, ask_walked_trust
from drumline.cli.warning import name_specs, say_uncommitted, say_unjailed
from drumline.core.ids import RunId, StepId
from drumline.core.parallelism import measure_parallelism
from drumline.core.plan import Reading, Status, list_around
from drumline.errors import InvalidInput, InvalidPlan, NeedsPerson
from drumline.store.sqlite import SqliteStore
from drumline.views.duration import duration
from drumline.views.gates import merge_command
from drumline.wiring import Project, open_project

MODES = ("parallel", "sequential", "ask")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was typed."""

    project: Project
    reading: Reading
    named: str
    choice: Choice
    explicit: Mapping[str, object]
    context: str
    as_json: bool
    detached: bool
    new: bool
    record: Path | None = None
    branch: str = ""


@click.command("run")
@some_plan_argument
@format_option
@agent_option
@click.option("--mode", type=click.Choice(MODES), help="How steps are scheduled; ask is the default.")
@autonomy_option
@click.option("--jobs", type=int, help="Steps this process works on at once.")
@retries_option
@require_option
@click.option("--step", metavar="ID|next", default="", help="Only this step.")
@click.option("--only", metavar="A,B", default="", help="Only these steps.")
@click.option("--from", "start", metavar="ID", default="", help="This step and those after it.")
@click.option("--flow", metavar="NAME", help="The flow that steps walk which name none.")
@click.option("--branch", metavar="NAME", default="", help="The branch that steps land on; it must not exist yet.")
@click.option("--context", metavar="TEXT|@FILE|-", default="", help="Goes into every prompt.")
@record_option
@dry_run_option
@detach_option
@click.option("--new", is_flag=True, help="Start a fresh run even if an earlier one is unfinished.")
@json_option
def command(plan: str, format: str, **typed: object) -> int:
    """Run PLAN with a coding agent: a path, a name in plans/, a ticket id or slug, or the file of one step; the newest
    unfinished plan if not given.
    """
    project = open_project()
    plan = plan or choose_plan(project)
    named = name_plan(plan, format)
    reading = _read_plan(project, plan, format)
    keys = ("agent", "mode", "autonomy", "jobs", "retries", "flow", "require")
    flags = {key: typed[key] for key in keys if typed[key] is not None}
    words = {"autonomy": reading.plan.autonomy, "flow": reading.plan.flow, "require": reading.plan.require}
    root = {key: word for key, word in words.items() if word}
    foreign = foreign_settings(reading.plan.format, os.environ)
    project = project.with_settings(flags, root, foreign, kinds=reading.plan.kinds)
    request = Request(
        project=project,
        reading=reading,
        named=named,
        choice=_choice(typed, file=step_in_file(reading, project.here / plan, top=project.repository.top)),
        explicit=flags,
        context=read_words(str(typed["context"]), project.here, what="--context", hint="drumline run --help"),
        as_json=bool(typed["as_json"]),
        detached=bool(typed["detached"]),
        new=bool(typed["new"]),
        record=check_record(project, str(typed["record"])),
        branch=str(typed["branch"]),
    )
    if request.record and request.detached:
        raise InvalidInput("--record and --detach cannot be combined", hint="drumline run PLAN --record FILE")
    if typed["dry_run"]:
        selection = choose_steps(reading, request.choice, frozenset())
        proposals = propose_checks(project, reading)
        if not request.as_json:
            explain_plan(project, reading, selection, proposals, tell=click.echo, named=named)
        show_preview(reading, selection, project.settings, as_json=request.as_json, proposals=proposals)
        return 0
    project.check_speaker()
    return _run(request)


def _read_plan(project: Project, plan: str, format: str) -> Reading:
    reading = refuse_disabled(project.open_plan(plan, format).read(), os.environ)
    if reading.errors:
        raise InvalidPlan(
            f"{plan} cannot be run", reading.problems, hint=f"drumline validate {name_plan(plan, format)}"
        )
    return reading


def _run(request: Request) -> int:
    project = request.project
    settings = project.settings
    specs = name_specs((settings.agent, *settings.fallback), request.reading.plan.steps, project.profiles)
    say_unjailed(specs, sandbox=settings.sandbox)
    store = project.open_store()
    plan = request.reading.plan.path
    try:
        with hold_start(project.state_dir / "locks", plan, wait_told=_say_waiting) as started:
            earlier = list_runs(store, plan=plan)
            settled = _settle_on(request, store, earlier)
            if settled is None:
                return tell_nothing_left(request.reading, as_json=request.as_json)
            run, resuming = settled
            fresh = run not in {brief.run for brief in earlier}
            if request.detached:
                return detach(project, run, as_json=request.as_json)
            session = Session(
                project=project,
                store=store,
                run=run,
                as_json=request.as_json,
                fresh=fresh,
                record=request.record,
                joined=started,
            )
            return session.drive(resuming=resuming)
    finally:
        store.close()


def _say_waiting() -> None:
    say("another process is starting a run of this plan; waiting for it")


def _settle_on(request: Request, store: SqliteStore, earlier: list[RunBrief]) -> tuple[RunId, bool] | None:
    """The run to drive, and whether it is taken up again; begins a new one where that is what is asked for.

    None if nothing is left to do and no agent is set that could do it.
    """
    selection = _selection(request, store, earlier)
    if request.project.settings.agent:
        request.project.check_agents(request.project.present().agent, request.reading.plan.steps)
    wanted = _wanted(request, selection)
    standing = survey(earlier, request.project.roster)
    if standing.live is not None and not request.new:
        assert_agrees(read_run(store, standing.live.run), wanted, otherwise=f"drumline attach {standing.live.run}")
        ask_trust(request.project, _offer(request, selection), as_json=request.as_json)
        say(f"joining run {standing.live.run}, which is live")
        return standing.live.run, False
    if standing.abandoned is not None and not request.new:
        old = standing.abandoned.run
        if _ask_to_resume(standing.abandoned, request):
            # What the configuration says by now counts for the next run; what was typed must not be ignored.
            typed = {key: wanted[key] for key in wanted if key in {*request.explicit, "selection", "context", "branch"}}
            assert_agrees(read_run(store, old), typed, otherwise=f"drumline resume {old}")
            ask_trust(request.project, _offer(request, selection), as_json=request.as_json)
            return old, True
    elif not request.new:
        _refuse_unmerged(request, earlier)
    _tell_missing(request, earlier)
    if not request.project.settings.agent and not list_todo(request.reading, selection):
        return None
    return _begin(request, store, earlier, selection), False


def _selection(request: Request, store: SqliteStore, earlier: list[RunBrief]) -> tuple[StepId, ...] | None:
    roster = request.project.roster
    live = frozenset(step for brief in earlier if roster.drivers(brief.run) for step in store.list_claims(brief.run))
    return choose_steps(request.reading, request.choice, live)


def _wanted(request: Request, selection: tuple[StepId, ...] | None) -> dict[str, str]:
    """The terms an earlier run must agree with: those that were set anywhere, not those left to their defaults."""
    settings = request.project.settings
    wanted = {}
    if selection is not None:
        wanted["selection"] = name_selection(selection)
    if request.context:
        wanted["context"] = request.context
    if request.branch:
        wanted["branch"] = request.branch
    if settings.agent:
        wanted["agent"] = request.project.present().agent
    if settings.mode != "ask":
        wanted["mode"] = settings.mode
    wanted |= {key: getattr(settings, key) for key in ("autonomy", "require") if key in request.explicit}
    return wanted


def _ask_to_resume(brief: RunBrief, request: Request) -> bool:
    """Ask a person whether an unfinished run is taken up; without one, say how to."""
    age = time.time() - brief.last_at
    state = brief.state.ended.state if brief.state.ended else "parked" if brief.state.parked else "interrupted"
    told = f"run {brief.run} of this plan is unfinished ({state}); it last moved {duration(age)} ago"
    if request.as_json or not is_terminal():
        raise NeedsPerson(
            told, hint=f"drumline resume {brief.run}, or: drumline run {quote(request.reading.plan.path)} --new"
        )
    say(told)
    if age > OLD:
        say("  that is a while: the repository may have moved on since")
    answer = click.prompt(
        "Resume it, or start fresh", type=click.Choice(["resume", "fresh"]), default="resume", err=True
    )
    return bool(answer == "resume")


def _refuse_unmerged(request: Request, earlier: list[RunBrief]) -> None:
    """Steps the plan calls done must be in the checkout, or the next steps would build on missing ground."""
    found = _find_unmerged(request, earlier)
    if found is not None:
        told = f"run {found.run} landed steps on {found.state.begun.branch}, which this checkout does not contain"
        anew = f"drumline run {quote(request.reading.plan.path)} --new"
        raise NeedsPerson(told, hint=f"{merge_command(found.state)}, or go on without it: {anew}")


def _tell_missing(request: Request, earlier: list[RunBrief]) -> None:
    """Say which steps count as done although their work is not in the checkout: a fresh run does not do them again."""
    found = _find_unmerged(request, earlier)
    marks = request.reading.marks
    finished = found.state.finished.values() if found else ()
    missing = [f.step for f in finished if f.commit and f.step in marks and marks[f.step].status is Status.DONE]
    if found is not None and missing:
        branch = found.state.begun.branch
        say(f"the plan calls {', '.join(missing)} done; that work is on {branch}, which this checkout does not contain")
        say(
            f"  this run does not repeat it; next: {merge_command(found.state)}, or set the status to ready in the plan"
        )


def _find_unmerged(request: Request, earlier: list[RunBrief]) -> RunBrief | None:
    commits = [commit for brief in earlier if (commit := last_landed(brief)) is not None]
    contains = {commit: request.project.repository.contains(commit) for commit in commits}
    return unmerged(earlier, contains)


def _begin(
    request: Request, store: SqliteStore, earlier: list[RunBrief], selection: tuple[StepId, ...] | None
) -> RunId:
    asks = not request.as_json and not request.detached and is_terminal()
    ask_about_other_run(request.reading, new=request.new, asks=asks)
    reading = introduce(request.project, request.reading, selection, first=not earlier, asks=asks, named=request.named)
    request = replace(request, reading=reading)
    project = request.project
    terms = _terms(request)
    branch = choose_run_branch(project, store, typed=request.branch, plan=reading.plan, plan_files=_plan_paths(reading))
    base = project.repository.head_commit()
    _say_once(request, selection)
    ask_trust(project, _offer(request, selection), as_json=request.as_json)
    ask_walked_trust(project, list_todo(reading, selection), as_json=request.as_json)
    scope = Scope(
        run=new_run_id(time.time()),
        base=base,
        selection=selection,
        inherited=find_inherited(store, project.roster, reading, earlier),
        flaky=list_flaky(store),
        lessons=project.lessons.load(time.time()),
        branch=branch,
        checkout=str(project.repository.top) if project.is_inplace else "",
        durations=list_durations(store, reading.plan.path),
        accepted=ask_acceptance(
            reading, selection, project.settings, asks=asks, hint=f"drumline checks {request.named}"
        ),
    )
    anyio.run(begin_run, store, reading, terms, scope)
    return scope.run


def _terms(request: Request) -> Terms:
    settings = request.project.settings
    if not settings.agent:
        raise InvalidInput(
            "no agent is set", hint="drumline run PLAN --agent 'command:CMD', or set agent in .drumline/config.toml"
        )
    project = request.project
    refuse_unignored(project.repository, settings.provide)
    return pin_terms(project.present(), mode=_mode(request), typed=project.given, context=request.context)


def _mode(request: Request) -> str:
    """The mode, asked for where somebody can be asked and there is something to choose."""
    if request.project.is_inplace:
        return "sequential"
    shape = measure_parallelism(request.reading.plan.steps, request.reading.plan.format)
    if request.reading.plan.express:
        return "sequential"
    if request.project.settings.mode != "ask":
        return request.project.settings.mode
    alone = shape.eligible <= 1 or bool(request.choice.step) or _count_left(request.reading) <= 1
    if alone or request.as_json or request.detached or not is_terminal():
        return shape.mode
    say(f"{shape.eligible} of {shape.total} steps are free to run side by side, in {len(shape.waves)} waves.")
    for found in shape.overlaps:
        say(f"  not side by side: {', '.join(found.steps[:5])} (they own {', '.join(found.paths[:3])})")
    other = "sequential" if shape.mode == "parallel" else "parallel"
    question = f"Mode: {shape.mode} (recommended) or {other}"
    choices = click.Choice([shape.mode, other])
    return str(click.prompt(question, type=choices, default=shape.mode, show_choices=False, err=True))


def _count_left(reading: Reading) -> int:
    """Steps that are still to be worked on here."""
    over = {step for step, marks in reading.marks.items() if marks.status in (Status.DONE, Status.SKIPPED)}
    return sum(1 for step in reading.plan.steps if not step.elsewhere and step.id not in over)


def _say_once(request: Request, selection: tuple[StepId, ...] | None) -> None:
    """What a person should know before a run begins."""
    project, reading = request.project, request.reading
    tell_commands(project)
    say_uncommitted(project.repository.uncommitted(exclude=[*_plan_paths(reading), ".drumline"]))
    for step in list_todo(reading, selection):
        if step.agent and "agent" in request.explicit:
            typed = request.explicit["agent"]
            say(f"{step.id} names its own agent {step.agent!r}; --agent {typed} does not apply to it")


def _offer(request: Request, selection: tuple[StepId, ...] | None) -> Offer:
    """The commands that this run would execute."""
    plan = request.reading.plan
    project, todo = request.project, [*list_around(plan), *list_todo(request.reading, selection)]
    return Offer(
        brought=list_plan_commands(project.list_sources(), todo),
        everything=list_plan_commands(project.list_sources(everything=True), todo),
        place=plan.path,
    )


def _plan_paths(reading: Reading) -> list[str]:
    """The plan's files, those included that are written when they are first needed."""
    return list(reading.digests)


def _choice(typed: Mapping[str, object], *, file: str) -> Choice:
    """The steps that were typed; if none was, the one in `file` if the plan was named by the file of a step."""
    given = [name for name in ("step", "only", "start") if typed[name]]
    if len(given) > 1:
        names = ", ".join("--from" if name == "start" else f"--{name}" for name in given)
        raise InvalidInput(f"{names} cannot be combined", hint="drumline run --help")
    only = tuple(part.strip() for part in str(typed["only"]).split(",") if part.strip())
    return Choice(step=str(typed["step"]) if given else file, only=only, start=str(typed["start"]))
