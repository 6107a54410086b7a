"""How long a program has said nothing. The rule: whatever it prints counts, also what no longer fits into its log."""

from __future__ import annotations

from pathlib import Path

import anyio

from drumline.ports.agents import Assignment
from drumline.ports.processes import Ended, Job, Processes

LOOK = 0.1
"""Seconds between two looks at what the program has printed."""


class Silence:
    """Looks at the files that a program prints to; `longest` is how many seconds may pass without a word."""

    def __init__(self, *files: Path | None, longest: float | None) -> None:
        self._files = [file for file in files if file]
        self._longest = longest
        self._seen: list[tuple[int, int]] = []
        self._heard = anyio.current_time()

    def is_broken(self) -> bool:
        """Whether something was printed since this was asked last."""
        seen = [_mark(file) for file in self._files]
        if seen == self._seen:
            return False
        self._seen = seen
        self._heard = anyio.current_time()
        return True

    def is_too_long(self) -> bool:
        """Whether it has lasted for longer than it may."""
        return self._longest is not None and anyio.current_time() - self._heard > self._longest


async def run_heard(processes: Processes, job: Job, *, idle: float | None) -> Ended | None:
    """Run a job to its end; None if it said nothing for `idle` seconds and was stopped."""
    silence = Silence(job.log, job.printed, longest=idle)
    ended: list[Ended] = []

    async def watch(scope: anyio.CancelScope) -> None:
        while not scope.cancel_called:
            await anyio.sleep(LOOK)
            if not silence.is_broken() and silence.is_too_long():
                scope.cancel()

    async with anyio.create_task_group() as tasks:
        if idle is not None:
            tasks.start_soon(watch, tasks.cancel_scope)
        ended.append(await processes.run(job))
        tasks.cancel_scope.cancel()
    return ended[0] if ended else None


def describe_silence(assignment: Assignment) -> str:
    """Why a program was stopped that had nothing to say."""
    return f"said nothing for {assignment.idle:g} s and was stopped"


def _mark(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
