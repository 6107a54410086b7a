"""Any shell command as an agent: the prompt on stdin, the exit code and the output as the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.processes import Ended, Job, Processes

CANNOT_RUN = frozenset({126, 127})
TRY_AGAIN = 75
"""EX_TEMPFAIL of sysexits.h: the way a command says that trying again may help."""
TAIL = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandAgent:
    """Runs one command per assignment, in the assignment's workspace."""

    command: str
    processes: Processes

    async def work(self, assignment: Assignment) -> Outcome:
        """Run the command to its end and judge how it ended."""
        job = Job(
            argv=("bash", "-c", self.command),
            cwd=assignment.workspace,
            log=assignment.log,
            stdin=assignment.prompt,
            env=describe(assignment),
            timeout=assignment.timeout,
        )
        return judge(await self.processes.run(job), timeout=assignment.timeout)


def open_command(argument: str, *, processes: Processes, base: Path) -> Agent:
    """The agent that runs `argument` with bash; `base` does not matter, the workspace is where it runs."""
    if "\0" in argument:
        raise InvalidInput(f"{argument!r} holds a NUL character and cannot be a command", hint="drumline run --help")
    return CommandAgent(command=argument, processes=processes)


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


def judge(ended: Ended, *, timeout: float | None = None) -> Outcome:
    """The outcome of a command: done, or a failure class with the end of its output."""
    said = ended.output.strip()[-TAIL:]
    if ended.timed_out:
        limit = "" if timeout is None else f" after {timeout:g} s"
        return Outcome(failure=Failure.VALIDATION.value, message=_join(f"timed out{limit}", said))
    if ended.exit_code is None:
        return Outcome(failure=Failure.PERMANENT.value, message=f"could not be started: {ended.message}")
    if ended.exit_code == 0:
        return Outcome(message=said)
    return Outcome(failure=classify(ended.exit_code).value, message=_join(f"exit code {ended.exit_code}", said))


def classify(exit_code: int) -> Failure:
    """The failure class of an exit code that is not zero."""
    if exit_code in CANNOT_RUN:
        return Failure.PERMANENT
    return Failure.TRANSIENT if exit_code == TRY_AGAIN else Failure.VALIDATION


def _join(first: str, rest: str) -> str:
    return f"{first}\n{rest}" if rest else first
