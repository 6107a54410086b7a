"""An agent program on the command line as an agent: started contained, read while it works, judged by what it says.

The rule: the exit code alone decides nothing. A program that ends without its final event has broken down.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from drumline.agents.follow import Follower
from drumline.agents.jail import Jail
from drumline.agents.program import Launch, Program, Reader, Setting
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.processes import Ended, Job, Processes

LOOK = 0.1
"""Seconds between two looks at what the program has printed."""
STREAM_LIMIT = 64 << 20
HARMLESS = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "XDG_*",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
    "*_PROXY",
    "*_proxy",
)
"""Variables that every agent may see; all others are secrets until its adapter names them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CliAgent:
    """Runs one program per assignment. `jail` is None where writes outside can only be detected."""

    program: Program
    executable: Path
    processes: Processes
    jail: Jail | None = None
    tiers: Sequence[tuple[str, str]] = ()

    async def work(self, assignment: Assignment) -> Outcome:
        """Do the assignment in its workspace. No process of it is left when this returns or is cancelled."""
        scratch = assignment.log.with_name(assignment.log.name + ".tmp").absolute()
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            setting = Setting(executable=self.executable, model=self.choose_model(assignment), scratch=scratch)
            launch = self.program.build(assignment, setting)
            return await self._run(assignment, self._write_job(assignment, launch, scratch))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def choose_model(self, assignment: Assignment) -> str:
        """The model asked for, else that of the tier: the configured one, or the adapter's."""
        return assignment.model or dict(self.tiers).get(assignment.tier) or self.program.tiers.get(assignment.tier, "")

    def _write_job(self, assignment: Assignment, launch: Launch, scratch: Path) -> Job:
        temp = scratch / "tmp"
        temp.mkdir(exist_ok=True)
        argv: Sequence[str] = launch.argv
        if self.jail is not None:
            own = [] if assignment.read_only else [assignment.workspace]
            writable = [*own, scratch, *self._homes(), *assignment.writable]
            argv = self.jail.wrap(argv, cwd=assignment.workspace, writable=writable)
        return Job(
            argv=argv,
            cwd=assignment.workspace,
            log=assignment.log,
            stdin=launch.stdin,
            env={"TMPDIR": str(temp), "TERM": "dumb", "NO_COLOR": "1", **launch.env},
            keep=(*HARMLESS, *self.program.keep),
            timeout=assignment.timeout,
            printed=scratch / "stream.jsonl",
            printed_limit=STREAM_LIMIT,
        )

    def _homes(self) -> list[Path]:
        """The folders the program keeps its own things in, as far as they are there."""
        found = [Path(os.path.expandvars(home)).expanduser() for home in self.program.homes]
        return [path for path in found if path.is_absolute() and path.exists()]

    async def _run(self, assignment: Assignment, job: Job) -> Outcome:
        watch = _Watch(assignment, job, self.program.open_reader(assignment))
        ended: Ended | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.follow, tasks.cancel_scope)
            ended = await self.processes.run(job)
            watch.over = True
            tasks.cancel_scope.cancel()
        if ended is None:
            return watch.describe_silence()
        await watch.catch_up(final=True)
        return watch.judge(ended)


class _Watch:
    """Looks on while a program works: hands on what happens, and ends it when it has been silent for too long."""

    def __init__(self, assignment: Assignment, job: Job, reader: Reader) -> None:
        self.over = False
        self._assignment = assignment
        self._job = job
        self._reader = reader
        self._follower = Follower(job.printed or job.log)
        self._size = -1
        self._heard = anyio.current_time()
        self._last = ""
        self._session = ""

    async def follow(self, scope: anyio.CancelScope) -> None:
        """Read on until the program has ended; cancel `scope` if nothing was heard for too long."""
        idle = self._assignment.idle
        while not self.over:
            await anyio.sleep(LOOK)
            if self._has_grown():
                self._heard = anyio.current_time()
                await self.catch_up()
            elif idle is not None and anyio.current_time() - self._heard > idle:
                scope.cancel()

    async def catch_up(self, *, final: bool = False) -> None:
        """Hand on what is new."""
        for event in self._follower.read_events(final=final):
            for happening in self._reader.read(event):
                if happening.kind in ("tool", "command", "edit"):
                    self._last = f"{happening.kind} {happening.text}"
                if happening.kind == "session":
                    self._session = happening.text
                await self._assignment.report(happening)

    def judge(self, ended: Ended) -> Outcome:
        """What the program's end means."""
        if ended.timed_out:
            message = f"timed out after {self._assignment.timeout:g} s{self._doing()}"
            return Outcome(failure=Failure.VALIDATION.value, message=message, session=self._session)
        if ended.exit_code is None:
            return Outcome(failure=Failure.PERMANENT.value, message=f"could not be started: {ended.message}")
        outcome = self._reader.conclude(ended)
        return outcome if outcome.session else replace(outcome, session=self._session)

    def describe_silence(self) -> Outcome:
        """The outcome of a program that was ended for its silence."""
        message = f"said nothing for {self._assignment.idle:g} s and was stopped{self._doing()}"
        return Outcome(failure=Failure.CRASH.value, message=message, session=self._session)

    def _doing(self) -> str:
        return f"; the last thing it did: {self._last[:500]}" if self._last else "; it had done nothing yet"

    def _has_grown(self) -> bool:
        size = _size(self._job.log) + _size(self._job.printed)
        grown, self._size = size != self._size, size
        return grown


def _size(path: Path | None) -> int:
    try:
        return path.stat().st_size if path else 0
    except OSError:
        return 0


def find_executable(program: Program) -> Path:
    """Where the program is; InvalidInput if it is not installed."""
    found = program.find() if program.find else None
    for name in program.executables if found is None else ():
        place = shutil.which(name)
        if place:
            return Path(place)
    if found is None:
        raise InvalidInput(
            f"the agent {program.name!r} is not installed: there is no {' or '.join(program.executables)} on PATH",
            hint="drumline agents",
        )
    return found
