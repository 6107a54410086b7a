"""An agent program on the command line as an agent: started contained, read while it works, judged by what it says.

The rule: the exit code alone decides nothing. A program that ends without its final event has broken down.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import anyio

from drumline.agents.confinement import Confinement, make_scratch
from drumline.agents.follow import Follower
from drumline.agents.jail import Jail
from drumline.agents.kills import add_left, describe_kill
from drumline.agents.outage import Outage
from drumline.agents.program import Launch, Program, Reader, Setting, Talk
from drumline.agents.silence import LOOK, Silence, describe_silence
from drumline.agents.talking import run_talking
from drumline.agents.verdicts import discard_overlong
from drumline.core.login import ask_login, blame_keys
from drumline.core.plaintext import strip_controls
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.isolation.homes import describe_home
from drumline.isolation.outside import look_on
from drumline.isolation.privatehome import PrivateHomes, open_homes
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended, Job, Processes
from drumline.profiles import McpServer
from drumline.record import Record, field, replace

KEY = re.compile(r"(?:_|^)(?:API_KEY|AUTH_TOKEN|OAUTH_TOKEN|BEARER_TOKEN|ACCESS_TOKEN)(?:_|$)")
STREAM_LIMIT = 64 << 20
ACTS = ("tool", "command", "edit")
IDLED = "the agent exited without output and changed nothing"
COUNT = 3.0
"""Seconds between two counts of what a program has used while it works."""
STOPPED = Ended(exit_code=None, seconds=0.0)
"""The end of a program that was stopped while it worked: nobody has seen how it ended."""


class CliAgent(Record):
    """Runs one program per assignment. `jail` is None where writes outside can only be detected.

    `model` overrules the tiers but not the assignment; `servers` are the MCP servers there are, by name.
    """

    program: Program
    executable: Path
    processes: Processes
    jail: Jail | None = None
    model: str = ""
    tiers: Mapping[str, str] = field(default_factory=dict)
    servers: Mapping[str, McpServer] = field(default_factory=dict)

    async def work(self, assignment: Assignment) -> Outcome:
        """Do the assignment in its workspace. No process of it is left when this returns or is cancelled.

        Where the session to continue with is not there any more, the work is begun in a new one.
        """
        acted = False

        async def report(happening: Happening) -> None:
            nonlocal acted
            acted = acted or happening.kind in ACTS
            await assignment.report(happening)

        outcome = await self._attempt(replace(assignment, report=report))
        wanted = assignment.session or assignment.new_session
        # Words like these may also be in an answer, or in a command that it ran: then it had its session.
        began = acted or not outcome.failure
        if began or not wanted or not any(words in outcome.message for words in self.program.gone):
            return outcome
        fresh = await self._attempt(replace(assignment, session="", new_session=""))
        notice = f"the session {wanted} could not be used; it began a new one"
        return replace(fresh, notices=(notice, *fresh.notices))

    async def _attempt(self, assignment: Assignment) -> Outcome:
        if self.program.abilities.names_session and not (assignment.session or assignment.new_session):
            # Not every program tells the name of its session, so it gets one.
            assignment = replace(assignment, new_session=str(uuid.uuid4()))
        with make_scratch(assignment, self.jail) as scratch, self._open_homes(assignment) as homes:
            try:
                launch = self.program.build(assignment, self._choose_setting(assignment, scratch))
            except InvalidInput as error:
                return Outcome(failure=Failure.PERMANENT.value, message=str(error))
            job = self._write_job(assignment, launch, scratch, homes)
            run = partial(self._run, assignment, job, launch.talk)
            found = await (run() if self.jail else look_on(assignment, run))
            outcome = discard_overlong(found, session=assignment.session)
            source = outcome.source or (self.program.name if outcome.usage else "")
            return replace(
                self._explain_login(outcome),
                source=source,
                model=outcome.model or self.choose_model(assignment),
            )

    def _explain_login(self, outcome: Outcome) -> Outcome:
        """The outcome with what to do where the program let nobody in."""
        if outcome.failure != Failure.AUTH.value:
            return outcome
        if keys := list_keys(self.program.keep):
            return replace(outcome, message=blame_keys(keys, outcome.message))
        login = self.program.login
        return replace(outcome, message=ask_login(login, outcome.message), login=login) if login else outcome

    def _choose_setting(self, assignment: Assignment, scratch: Path) -> Setting:
        unknown = [name for name in assignment.mcp_servers if name not in self.servers]
        if unknown:
            known = ", ".join(self.servers) or "none"
            raise InvalidInput(f"no MCP server is called {', '.join(unknown)} (there are: {known})")
        return Setting(
            executable=self.executable,
            model=self.choose_model(assignment),
            scratch=scratch,
            jailed=self.jail is not None,
            servers=tuple(self.servers[name] for name in assignment.mcp_servers),
        )

    def choose_model(self, assignment: Assignment) -> str:
        """The model asked for, else that of the tier: the configured one, or the adapter's."""
        tier = assignment.tier
        chosen = assignment.model or self.model or self.tiers.get(tier)
        return chosen or self.program.list_models(assignment.workspace).get(tier, "")

    def _open_homes(self, assignment: Assignment) -> AbstractContextManager[PrivateHomes]:
        homes = [describe_home(home) for home in self.program.homes]
        return open_homes(homes, assignment, jailed=self.jail is not None, granted=self.program.folders)

    def _write_job(self, assignment: Assignment, launch: Launch, scratch: Path, homes: PrivateHomes) -> Job:
        held = Confinement(
            assignment=assignment,
            scratch=scratch,
            jail=self.jail,
            keep=self.program.keep,
            folders=self.program.folders,
            homes=homes,
            words=tuple(word for name in assignment.mcp_servers for word in self.servers[name].command),
        )
        return replace(
            held.write_job(launch.argv, log=assignment.log, env=launch.env),
            stdin=launch.stdin,
            timeout=assignment.timeout,
            printed=scratch / "stream.jsonl",
            printed_limit=STREAM_LIMIT,
        )

    async def _run(self, assignment: Assignment, job: Job, talk: Talk | None) -> Outcome:
        watch = _Watch(assignment, job, self.program, model=self.choose_model(assignment))
        ended: Ended | None = None
        async with watch.guard(), anyio.create_task_group() as tasks:
            tasks.start_soon(watch.follow, tasks.cancel_scope)
            ended = await (run_talking(self.processes, job, talk) if talk else self.processes.run(job))
            watch.over = True
            tasks.cancel_scope.cancel()
        await watch.catch_up(final=True)
        outcome = watch.describe_stop() if ended is None else add_left(watch.judge(ended), ended)
        return talk.conclude(outcome) if talk else outcome


class _Watch:
    """Looks on while a program works: hands on what happens, and ends it when it is silent or offline for too long."""

    def __init__(self, assignment: Assignment, job: Job, program: Program, *, model: str = "") -> None:
        self.over = False
        self._model = model
        self._counted = anyio.current_time()
        self._assignment = assignment
        self._reader: Reader = program.open_reader(assignment)
        self._follower = Follower(job.printed or job.log)
        self._silence = Silence(job.log, job.printed, longest=assignment.idle)
        self._outage = Outage(program.offline, longest=assignment.idle)
        self._last = ""
        self._session = ""
        self._notices: list[str] = []
        self._usage: Mapping[str, float] = {}

    async def follow(self, scope: anyio.CancelScope) -> None:
        """Read on until the program has ended; cancel `scope` if nothing, or no work, was heard of for too long."""
        while not self.over:
            await anyio.sleep(LOOK)
            if self._silence.is_broken():
                await self.catch_up()
                await self._count()
                stuck = self._outage.is_too_long()
            else:
                stuck = self._silence.is_too_long()
            if stuck:
                scope.cancel()

    @asynccontextmanager
    async def guard(self) -> AsyncIterator[None]:
        """If the work in this block is cut short, report what was used by then before anything else."""
        try:
            yield
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.catch_up(final=True)
                await self._count(every=0.0)
            raise

    async def _count(self, *, every: float = COUNT) -> None:
        """Tell what was used so far. Not every program says so as it goes on; its record of the session does."""
        now = anyio.current_time()
        if now - self._counted < every:
            return
        self._counted = now
        told = self._conclude(STOPPED)
        if told.usage:
            usage = Happening(kind="usage", usage=told.usage, text=told.model or self._model)
            await self._assignment.report(usage)

    async def catch_up(self, *, final: bool = False) -> None:
        """Hand on what is new."""
        for event in self._follower.read_events(final=final):
            for happening in self._reader.read(event):
                told = self._note(replace(happening, text=strip_controls(happening.text)))
                await self._assignment.report(told)

    def _note(self, happening: Happening) -> Happening:
        """Remember what matters for the end; files in the workspace are named from there."""
        self._outage.note(happening, anyio.current_time())
        if happening.kind == "session":
            self._session = happening.text
        if happening.kind == "usage":
            self._usage = happening.usage
        if happening.kind == "edit":
            happening = replace(happening, text=self._place(happening.text))
        if happening.kind in ACTS:
            self._last = f"{happening.kind} {happening.text}"
        return happening

    def _place(self, path: str) -> str:
        workspace = self._assignment.workspace
        place = workspace / path
        if place.is_relative_to(workspace):
            return str(place.relative_to(workspace))
        if not any(place.is_relative_to(folder) for folder in self._assignment.writable):
            self._notices.append(f"it edited {place}, which is outside its workspace")
        return path

    def judge(self, ended: Ended) -> Outcome:
        """What the program's end means. One that says nothing and does nothing has not done its work."""
        if ended.timed_out:
            offline = f"; it said: {self._outage.told}" if self._outage.told else ""
            message = f"timed out after {self._assignment.timeout:g} s{self._doing()}{offline}"
            return self._fail(Failure.TIMEOUT, message)
        if ended.exit_code is None and ended.killed:
            return self._fail(Failure.KILLED, describe_kill(ended) + self._doing())
        if ended.exit_code is None:
            return self._fail(Failure.PERMANENT, f"could not be started: {ended.message}")
        outcome = self._conclude(ended)
        silent = not outcome.message.strip() and outcome.structured is None and not outcome.question
        if silent and not outcome.failure and not self._last:
            return replace(outcome, failure=Failure.VALIDATION.value, message=IDLED)
        return outcome

    def _conclude(self, ended: Ended) -> Outcome:
        """What the reader says, with what was noted on the way."""
        found = self._reader.conclude(ended)
        return replace(
            found,
            message=strip_controls(found.message),
            usage=found.usage or self._usage,
            session=found.session or self._session,
            notices=(*found.notices, *self._notices),
        )

    def _fail(self, failure: Failure, message: str) -> Outcome:
        """A failure that we saw; what the program had used until then was used all the same."""
        told = self._conclude(STOPPED)
        return replace(
            Outcome(failure=failure.value, message=message, usage=told.usage, session=told.session),
            source=told.source if told.usage else "",
            model=told.model,
            notices=told.notices,
        )

    def describe_stop(self) -> Outcome:
        """The outcome of a program that was ended for its silence, or because it reached nobody."""
        if self._outage.told:
            return self._fail(Failure.TRANSIENT, f"it cannot reach its service: {self._outage.told}{self._doing()}")
        return self._fail(Failure.CRASH, describe_silence(self._assignment) + self._doing())

    def _doing(self) -> str:
        return f"; the last thing it did: {self._last[:500]}" if self._last else "; it had done nothing yet"


def find_executable(program: Program) -> Path | None:
    """Where the program is, or None."""
    if program.find and (found := program.find()):
        return found
    places = (shutil.which(name) for name in program.executables)
    return next((Path(place) for place in places if place), None)


def open_program(
    program: Program,
    *,
    processes: Processes,
    jail: Jail | None,
    model: str = "",
    tiers: Mapping[str, str] | None = None,
    servers: Mapping[str, McpServer] | None = None,
) -> CliAgent:
    """The agent that runs the program, in the jail if there is one; InvalidInput if it is not installed."""
    executable = find_executable(program)
    if executable is None:
        names = " or ".join(program.executables)
        raise InvalidInput(
            f"the agent {program.name!r} is not installed: there is no {names} on PATH",
            hint=program.install or "drumline agents",
        )
    return CliAgent(
        program=program,
        executable=executable,
        processes=processes,
        jail=jail,
        model=model,
        tiers=tiers or {},
        servers=servers or {},
    )


def list_keys(patterns: Sequence[str]) -> list[str]:
    """The variables that are set, may be seen by a program with these patterns, and hold a key by their name."""
    seen = (name for name, value in sorted(os.environ.items()) if value and KEY.search(name))
    return [name for name in seen if any(fnmatchcase(name, pattern) for pattern in patterns)]
