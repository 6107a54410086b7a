"""Commands without processes: a Python callable plays each of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio.lowlevel

from drumline.ports.processes import Ended, Job


class FakeProcesses:
    """Answers every job by `script`, which may be async to take its time; `jobs` keeps them in order.

    For a job with `printed` the script writes there what the command would print; the fake keeps the bounds.
    """

    def __init__(self, script: Callable[[Job], Ended | Awaitable[Ended]]) -> None:
        self._script = script
        self.jobs: list[Job] = []

    async def run(self, job: Job) -> Ended:
        """Ask the script; other tasks run meanwhile, and cancellation is heard."""
        self.jobs.append(job)
        await anyio.lowlevel.checkpoint()
        if job.printed is not None:
            job.printed.parent.mkdir(parents=True, exist_ok=True)
            job.printed.write_bytes(b"")
        answer = self._script(job)
        ended = await answer if inspect.isawaitable(answer) else answer
        return ended if job.printed is None else _keep_bounds(ended, job.printed, job.printed_limit)


def _keep_bounds(ended: Ended, printed: Path, limit: int) -> Ended:
    if printed.stat().st_size <= limit:
        return ended
    os.truncate(printed, limit)
    return replace(ended, cut=True)
