"""Commands without processes: a Python callable plays each of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from drumline.ports.processes import Conversation, Ended, Job
from drumline.record import replace

Play = Callable[[Job, "FakePartner"], Awaitable[Ended]]


class FakeProcesses:
    """Answers every job by `script`, which may be async to take its time; `jobs` keeps them in order.

    For a job with `printed` the script writes there what the command would print; the fake keeps the bounds. Who
    talks with a command talks with `play`.
    """

    def __init__(self, script: Callable[[Job], Ended | Awaitable[Ended]], play: Play | None = None) -> None:
        self._script = script
        self._play = play
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

    @asynccontextmanager
    async def open(self, job: Job) -> AsyncIterator[Conversation]:
        """Talk with whoever plays the command; leaving ends it."""
        self.jobs.append(job)
        to_play, from_us = _connect()
        to_us, from_play = _connect()
        talk = FakeConversation(to_play, from_play)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._perform, job, FakePartner(to_us, from_us), talk)
            with to_play, from_play:
                yield talk
            tasks.cancel_scope.cancel()

    async def _perform(self, job: Job, partner: FakePartner, talk: FakeConversation) -> None:
        with partner.said, partner.heard:
            if self._play is None:
                talk.end(Ended(exit_code=None, seconds=0.0, message=f"nobody plays {job.argv!r}"))
            else:
                talk.end(await self._play(job, partner))


class FakePartner:
    """The command's side of a conversation."""

    def __init__(self, said: MemoryObjectSendStream[bytes], heard: MemoryObjectReceiveStream[bytes]) -> None:
        self.said = said
        self.heard = heard

    async def read(self) -> bytes:
        """The next of stdin; nothing at its end."""
        try:
            return await self.heard.receive()
        except anyio.EndOfStream:
            return b""

    async def print(self, data: bytes) -> None:
        """Say something on stdout."""
        await self.said.send(data)


class FakeConversation:
    """Our side of it."""

    def __init__(self, said: MemoryObjectSendStream[bytes], heard: MemoryObjectReceiveStream[bytes]) -> None:
        self.left = ""
        self._said = said
        self._heard = heard
        self._over = anyio.Event()
        self._ended = Ended(exit_code=None, seconds=0.0)

    async def send(self, data: bytes) -> None:
        """Hand it to the player."""
        try:
            await self._said.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise BrokenPipeError("nobody listens") from error

    async def receive(self) -> bytes:
        """What the player said next."""
        try:
            return await self._heard.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return b""

    def hang_up(self) -> None:
        """Say nothing more."""
        self._said.close()

    async def wait(self) -> Ended:
        """What the player came to."""
        await self._over.wait()
        return self._ended

    def end(self, ended: Ended) -> None:
        """The player has come to this."""
        self._ended = ended
        self.left = ended.left
        self._over.set()


def _connect() -> tuple[MemoryObjectSendStream[bytes], MemoryObjectReceiveStream[bytes]]:
    return anyio.create_memory_object_stream[bytes](64)


def _keep_bounds(ended: Ended, printed: Path, limit: int) -> Ended:
    if printed.stat().st_size <= limit:
        return ended
    os.truncate(printed, limit)
    return replace(ended, cut=True)
