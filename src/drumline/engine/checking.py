"""Runs one check and says whose failure it is: the same way for a step of a plan and for a node of a flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from drumline.core.checkfailure import Cause, FailedCheck, classify
from drumline.ports.processes import Job, Processes
from drumline.record import Record, replace

MOST_OUTPUT = 8_000
TIMED_OUT = 124
"""The exit code of a check that took too long, as the program `timeout` has it."""


class Checked(Record):
    """How a check ended; `cause` is None if it passed, `left` names processes of it that could not be ended."""

    exit_code: int | None
    output: str
    seconds: float
    cause: Cause | None
    left: str = ""


async def run_check(
    command: str,
    processes: Processes,
    *,
    folder: Path,
    log: Path,
    timeout: float | None,
    files: Sequence[str] = (),
    env: Mapping[str, str] = MappingProxyType({}),
) -> Checked:
    """Run the command in the folder. `files` are those that the work is about, `env` is added to our environment."""
    job = Job(argv=["bash", "-c", command], cwd=folder, log=log, timeout=timeout, env=env)
    ended = await processes.run(job)
    output = ended.output or ended.message
    if ended.timed_out:
        output += f"\n(stopped after {timeout:g} s)"
    exit_code = TIMED_OUT if ended.timed_out else ended.exit_code
    names = tuple(dict.fromkeys(PurePosixPath(file).name for file in files))
    failed = FailedCheck(command=command, exit_code=exit_code, output=output, folder=str(folder), names=names)
    failed = replace(failed, killed=ended.killed)
    return Checked(
        exit_code=exit_code,
        output=output[-MOST_OUTPUT:],
        seconds=ended.seconds,
        cause=None if exit_code == 0 else classify(failed),
        left=ended.left,
    )
