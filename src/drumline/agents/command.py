"""Any shell command as an agent: the prompt on stdin, the exit code and the output as the outcome.

The rule: it is held like every other agent. What else it needs to see or to write to, a person grants it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from drumline.agents.acp_programs import PROVIDERS, find_known
from drumline.agents.confinement import Confinement, make_scratch
from drumline.agents.jail import Jail
from drumline.agents.kills import add_left, describe_kill, was_killed
from drumline.agents.silence import describe_silence, run_heard
from drumline.core.plaintext import strip_controls
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.isolation.outside import look_on
from drumline.isolation.privatehome import open_homes
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.processes import Ended, Job, Processes
from drumline.profiles import NOTHING, Grant, McpServer
from drumline.record import Record, replace

CANNOT_RUN = frozenset({126, 127})
TRY_AGAIN = 75
"""EX_TEMPFAIL of sysexits.h: the way a command says that trying again may help."""
TAIL = 4000


class CommandAgent(Record):
    """Runs one command per assignment, in the assignment's workspace."""

    command: str
    processes: Processes
    jail: Jail | None = None
    grant: Grant = NOTHING

    async def work(self, assignment: Assignment) -> Outcome:
        """Run the command to its end and judge how it ended. None of its processes is left when this returns."""
        work = partial(self._work, assignment)
        return await (work() if self.jail else look_on(assignment, work))

    async def _work(self, assignment: Assignment) -> Outcome:
        keep, homes = find_known(_part(self.command))
        jailed, granted = self.jail is not None, self.grant.folders
        with (
            make_scratch(assignment, self.jail) as scratch,
            open_homes(homes, assignment, jailed=jailed, granted=granted) as private,
        ):
            held = Confinement(
                assignment=assignment,
                scratch=scratch,
                jail=self.jail,
                keep=(*PROVIDERS, *keep, *self.grant.env),
                folders=granted,
                homes=private,
                words=tuple(_part(self.command)),
                anybody=not homes,
            )
            ended = await run_heard(self.processes, self._write_job(held), idle=assignment.idle)
        if ended is None:
            return Outcome(failure=Failure.CRASH.value, message=describe_silence(assignment))
        return judge(ended, timeout=assignment.timeout, jailed=self.jail is not None)

    def _write_job(self, held: Confinement) -> Job:
        assignment = held.assignment
        job = held.write_job(("bash", "-c", self.command), log=assignment.log, env=describe(assignment))
        return replace(job, stdin=assignment.prompt, timeout=assignment.timeout)


def open_command(
    argument: str,
    *,
    processes: Processes,
    base: Path,
    tiers: Mapping[str, str],
    servers: Mapping[str, McpServer],
    jail: Jail | None,
    grant: Grant,
) -> Agent:
    """The agent that runs `argument` with bash.

    `base`, `tiers` and `servers` do not matter: the workspace is where it runs, and what it asks is its own business.
    """
    if "\0" in argument:
        raise InvalidInput(f"{argument!r} holds a NUL character and cannot be a command", hint="drumline run --help")
    return CommandAgent(command=argument, processes=processes, jail=jail, grant=grant)


def describe(assignment: Assignment) -> Mapping[str, str]:
    """The assignment as environment variables."""
    return {
        "DRUMLINE_PROMPT_FILE": str(assignment.prompt_file),
        "DRUMLINE_RUN": assignment.run,
        "DRUMLINE_STEP": assignment.step,
        "DRUMLINE_NODE": assignment.node,
        "DRUMLINE_ATTEMPT": str(assignment.attempt),
        "DRUMLINE_WORKSPACE": str(assignment.workspace),
        "DRUMLINE_TIER": assignment.tier,
    }


def judge(ended: Ended, *, timeout: float | None = None, jailed: bool = False) -> Outcome:
    """The outcome of a command: done, or a failure class with the end of its output."""
    return add_left(_judge(ended, timeout=timeout, jailed=jailed), ended)


def _judge(ended: Ended, *, timeout: float | None, jailed: bool) -> Outcome:
    whole = strip_controls(ended.output).strip()
    said = whole[-TAIL:]
    if ended.timed_out:
        limit = "" if timeout is None else f" after {timeout:g} s"
        return Outcome(failure=Failure.TIMEOUT.value, message=_join(f"timed out{limit}", said))
    if ended.killed or (jailed and was_killed(ended)):
        return Outcome(failure=Failure.KILLED.value, message=_join(describe_kill(ended), said))
    if ended.exit_code is None:
        return Outcome(failure=Failure.PERMANENT.value, message=f"could not be started: {ended.message}")
    if ended.exit_code == 0:
        # Not cut any more: it may end with an object that says what came of the work.
        return Outcome(message=whole)
    return Outcome(failure=classify(ended.exit_code).value, message=_join(f"exit code {ended.exit_code}", said))


def classify(exit_code: int) -> Failure:
    """The failure class of an exit code that is not zero."""
    if exit_code in CANNOT_RUN:
        return Failure.PERMANENT
    return Failure.TRANSIENT if exit_code == TRY_AGAIN else Failure.VALIDATION


def _part(command: str) -> list[str]:
    """The words of a command, as far as they can be told without a shell."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _join(first: str, rest: str) -> str:
    return f"{first}\n{rest}" if rest else first
