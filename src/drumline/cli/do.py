"""`drumline do`: one task in a person's words, done by an agent and judged by the repository's own tests.

The rule: it is a run like any other. Only its plan has no files: one step, whose text is in the journal.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import anyio
import click

from drumline.app.begin import Merge, Scope, begin_run, new_run_id, pin_terms
from drumline.app.brought import list_plan_commands
from drumline.app.detection import TEST, Detected, Found, detect_at_head
from drumline.app.ledger import list_flaky
from drumline.cli.accepting import ask_acceptance
from drumline.cli.detach import detach
from drumline.cli.inplace import choose_run_branch
from drumline.cli.introduction import tell_commands
from drumline.cli.merging import choose_branch
from drumline.cli.options import (
    agent_option,
    autonomy_option,
    detach_option,
    dry_run_option,
    json_option,
    read_words,
    require_option,
    retries_option,
)
from drumline.cli.output import is_terminal, say
from drumline.cli.preview import show_preview
from drumline.cli.recordings import check_record, record_option
from drumline.cli.retyping import retype
from drumline.cli.session import Session
from drumline.cli.trusting import Offer, ask_trust, ask_walked_trust
from drumline.cli.warning import name_specs, say_uncommitted, say_unjailed
from drumline.core.ids import RunId
from drumline.core.kinds import DETECTED, ENVIRONMENT
from drumline.core.leftovers import PACKAGING
from drumline.core.plan import Check, Plan
from drumline.core.subject import WITHOUT_STEP
from drumline.core.task import plan_task, quote_issue
from drumline.core.trust import CHECK, SETUP, TYPED, Brought, distinct
from drumline.core.vocabulary import CheckKind
from drumline.errors import InvalidInput
from drumline.planfiles.task import TaskFiles
from drumline.record import Record, replace
from drumline.settings import QUICK, Settings
from drumline.store.sqlite import SqliteStore
from drumline.views.cells import flatten
from drumline.wiring import Project, open_project

FLAGS = ("agent", "autonomy", "retries", "setup", "require")
EXAMPLE = "drumline do 'Fix the login'"


class Job(Record):
    """What was typed, and what was found for it."""

    project: Project
    plan: Plan
    agent: str
    found: Detected
    named: tuple[str, ...]
    as_json: bool
    detached: bool
    record: Path | None = None
    merge: Merge | None = None
    issue: int = 0

    @property
    def settings(self) -> Settings:
        """The settings of the run: a command found for fresh workspaces counts where none is set."""
        settings = self.project.settings
        setup = " && ".join(found.command for found in self.found.of(SETUP))
        settings = replace(settings, setup=settings.setup or setup, subject=settings.subject or WITHOUT_STEP)
        if not self.named:
            return settings
        typed = tuple(check for check in settings.kinds if check.source == ENVIRONMENT)
        return replace(settings, checks=(), kinds=typed)


@click.command("do")
@click.argument("text", required=False, default="", metavar="TEXT|@FILE|-")
@click.option(
    "--check", "checks", multiple=True, metavar="CMD", help="Must succeed; replaces what was found. Repeatable."
)
@click.option("--setup", metavar="CMD", help="Run in the fresh workspace first; replaces what was found.")
@click.option(
    "--issue", type=click.IntRange(min=1), metavar="N", help="The issue N, through gh, glab or tea; TEXT adds to it."
)
@click.option("--merge", is_flag=True, help="Fast-forward your branch to the result if no check fails.")
@agent_option
@autonomy_option
@retries_option
@require_option
@record_option
@dry_run_option
@detach_option
@json_option
def command(text: str, checks: tuple[str, ...], **typed: object) -> int:
    """Do one task: TEXT in your words, those of a file, or standard input (-). No plan, no configuration needed.

    An agent works on it in a workspace of its own, at the commit you are on. The repository's tests, or the commands
    you name with --check, decide; failures go back to the agent. The result is one commit on a branch.
    """
    for flag in ("record", "merge"):
        if typed[flag] and typed["detached"]:
            raise InvalidInput(f"--{flag} and --detach cannot be combined", hint=retype(without="--detach"))
    project = open_project()
    project.repository.head_commit()
    flags = {key: typed[key] for key in FLAGS} | {"checks": checks or None}
    project = project.with_settings(flags, {"rigor": QUICK})
    project.check_speaker()
    job = _prepare(project, text, typed | {"checks": checks})
    if typed["dry_run"]:
        places = {found.command: found.place for found in job.found.found}
        show_preview(TaskFiles(job.plan).read(), None, job.settings, as_json=job.as_json, places=places)
        return 0
    return _do(job)


def _prepare(project: Project, text: str, typed: Mapping[str, object]) -> Job:
    issue = typed["issue"]
    if not isinstance(issue, int):
        words, title = _read_text(text, project.here), ""
    else:
        words, title = _read_issue(project, issue, _read_text(text, project.here) if text else "")
    agent = _choose_agent(project, typed=typed["agent"] is not None)
    found = _detect(project)
    named = project.settings.checks if typed["checks"] else ()
    checks = [Check(command=command, source=TYPED) for command in named]
    checks += [Check(command=check.command, source=DETECTED, kind=CheckKind.TEST) for check in found.of(TEST)]
    return Job(
        project=project,
        plan=plan_task(words, title=title, checks=checks),
        agent=agent,
        merge=Merge(branch=choose_branch(project), asks=issue is not None) if typed["merge"] else None,
        issue=issue if isinstance(issue, int) else 0,
        found=found,
        named=named,
        as_json=bool(typed["as_json"]),
        detached=bool(typed["detached"]),
        record=check_record(project, str(typed["record"])),
    )


def _read_text(typed: str, here: Path) -> str:
    """The words of the task, from wherever they are."""
    text = read_words(typed, here, what="the task", hint=EXAMPLE)
    if not text.strip():
        raise InvalidInput("there is no task: the text is empty", hint=EXAMPLE)
    return text.removeprefix("\ufeff")


def _read_issue(project: Project, number: int, words: str) -> tuple[str, str]:
    """The task and the title of resolving an issue. Its own title is quoted with its text, and nowhere else."""
    from drumline.app.issue import read_issue

    repository = project.repository
    issue = read_issue(
        number,
        url=repository.remote_url(),
        top=repository.top,
        is_installed=lambda name: shutil.which(name) is not None,
    )
    say(f"issue {number}: {flatten(issue.title)}")
    return quote_issue(number, title=issue.title, body=issue.body, words=words), f"Resolve issue {number}"


def _detect(project: Project) -> Detected:
    """What the repository says about its tests and workspaces, as far as the settings do not say it."""
    settings = project.settings
    configured = {"checks", "setup"} & project.config.keys()
    tested = bool(settings.checks) or any(check.kind is CheckKind.TEST for check in settings.kinds)
    if configured or (tested and settings.setup):
        return Detected()
    named = (TEST,) if tested else ()
    found = detect_at_head(project.repository, kinds=(TEST,), named=named)
    found = Detected(found=found.of(TEST)) if settings.setup else found
    for each in found.found:
        if each.program and shutil.which(each.program) is None:
            message = f"{each.place} says that {each.command!r} is needed here, but {each.program} is not installed"
            raise InvalidInput(message, hint=f"install {each.program}, or: {retype('--check CMD --setup true')}")
    return found


def _choose_agent(project: Project, *, typed: bool) -> str:
    """The agent that is set; if none is, the only one that is installed."""
    if project.settings.agent:
        return project.anchor(project.settings.agent, typed=typed or bool(os.environ.get("DRUMLINE_AGENT")))
    from drumline.app.agents import list_installed

    installed = list_installed()
    if len(installed) == 1:
        say(f"no agent is set; using {installed[0]}, the only agent program that is installed")
        return installed[0]
    if installed:
        message = f"no agent is set, and {len(installed)} are installed ({', '.join(installed)})"
        raise InvalidInput(message, hint=retype("--agent", installed[0]))
    message = "no agent is set, and no agent program was found on this machine"
    again = retype("--agent 'command:CMD'")
    raise InvalidInput(message, hint=f"drumline agents, or: {again}")


def _do(job: Job) -> int:
    project = job.project
    project.check_agents(job.agent, job.plan.steps)
    say_unjailed(
        name_specs((job.agent, *project.settings.fallback), (), project.profiles), sandbox=project.settings.sandbox
    )
    _say_before(job)
    ask_trust(project, _offer(job), as_json=job.as_json)
    ask_walked_trust(project, job.plan.steps, as_json=job.as_json)
    store = project.open_store()
    try:
        return _drive(job, store)
    finally:
        store.close()


def _say_before(job: Job) -> None:
    """What a person should know before anything begins."""
    tell_commands(job.project)
    say_uncommitted(job.project.repository.uncommitted(exclude=[".drumline"]))
    for found in job.found.of(SETUP):
        say(f"in the fresh workspace: {found.command}  ({found.place})")
    if any(" -e " in found.command for found in job.found.of(SETUP)) and not _ignores_packaging(job.project):
        say(f"  what it leaves beside the sources (*{PACKAGING}) does not land; add *{PACKAGING}/ to .gitignore")
    for check in (*job.named, *job.settings.configured):
        say(f"must succeed: {check}")
    for found in job.found.of(TEST):
        say(f"must succeed: {found.command}  ({found.place})")
    if not job.named and not job.settings.configured and not job.found.of(TEST):
        say("no tests were found in this repository: nothing will prove the result")
        say(f"  name a command that decides: {retype('--check CMD')}")


def _ignores_packaging(project: Project) -> bool:
    return PACKAGING in (project.repository.read_file(".gitignore") or "")


def _offer(job: Job) -> Offer:
    """The commands of the repository that this run would execute: what is found is the repository's word."""
    found = [_brought(SETUP if each.kind == SETUP else CHECK, each) for each in job.found.found]
    own, everything = (list_plan_commands(job.project.list_sources(everything=each), ()) for each in (False, True))
    return Offer(brought=distinct([*found, *own]), everything=distinct([*found, *everything]), place="")


def _brought(kind: str, found: Found) -> Brought:
    return Brought(kind=kind, text=found.command, place=found.place)


def _drive(job: Job, store: SqliteStore) -> int:
    project, run = job.project, _begin(job, store)
    if job.detached:
        return detach(project, run, as_json=job.as_json)
    session = Session(project=project, store=store, run=run, as_json=job.as_json, fresh=True, record=job.record)
    return session.drive(resuming=False)


def _begin(job: Job, store: SqliteStore) -> RunId:
    present = replace(job.project.present(), settings=job.settings, agent=job.agent)
    terms = pin_terms(present, mode="sequential", typed={*job.project.given, "agent", "checks", "setup", "subject"})
    reading = TaskFiles(job.plan).read()
    asks = not job.as_json and not job.detached and is_terminal()
    branch = choose_run_branch(job.project, store, typed="", plan=job.plan)
    scope = Scope(
        run=new_run_id(time.time()),
        branch=branch,
        checkout=str(job.project.repository.top) if job.project.is_inplace else "",
        base=job.project.repository.head_commit(),
        merge=job.merge,
        issue=job.issue,
        flaky=list_flaky(store),
        lessons=job.project.lessons.load(time.time()),
        accepted=ask_acceptance(reading, None, job.settings, asks=asks, hint=retype("--check CMD")),
    )
    anyio.run(begin_run, store, reading, terms, scope)
    return scope.run
