"""Commands run for a step, contained: whatever they start ends with them, and with us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One command: an argv (never a shell line built from plan text), where it runs, and where its output goes."""

    argv: Sequence[str]
    cwd: Path
    log: Path
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    printed: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How it ended: `exit_code` as a shell would say it (128+n for a signal), None if it could not be started."""

    exit_code: int | None
    seconds: float
    timed_out: bool = False
    output: str = ""
    message: str = ""


class Processes(Protocol):
    """Runs commands under a supervisor."""

    async def run(self, job: Job) -> Ended:
        """Run to the end. When this returns, is cancelled, or our process dies, no process of the job is left.

        Output (stdout and stderr together) is written to `job.log`, bounded; `output` is its tail.
        """
        ...
