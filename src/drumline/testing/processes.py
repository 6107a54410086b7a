"""Commands without processes: a Python callable plays each of them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

import anyio.lowlevel

from drumline.ports.processes import Ended, Job


class FakeProcesses:
    """Answers every job by `script`, which may be async to take its time; `jobs` keeps them in order."""

    def __init__(self, script: Callable[[Job], Ended | Awaitable[Ended]]) -> None:
        self._script = script
        self.jobs: list[Job] = []

    async def run(self, job: Job) -> Ended:
        """Ask the script; other tasks run meanwhile, and cancellation is heard."""
        self.jobs.append(job)
        await anyio.lowlevel.checkpoint()
        ended = self._script(job)
        return await ended if inspect.isawaitable(ended) else ended
