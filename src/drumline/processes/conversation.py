"""Pipes to a command that runs under a supervisor. The rule: each end of a pipe is closed once, by whoever has it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import anyio

from drumline.ports.processes import Ended

PIECE = 1 << 16


class Pipes:
    """Two pipes: our ends talk, the other ends become the stdin and stdout of a command."""

    def __init__(self) -> None:
        self._stdin_out, self._stdin_in = os.pipe()
        self._stdout_out, self._stdout_in = os.pipe()
        self._open = {self._stdin_out, self._stdin_in, self._stdout_out, self._stdout_in}
        os.set_blocking(self._stdin_in, False)
        os.set_blocking(self._stdout_out, False)

    @property
    def theirs(self) -> tuple[int, int]:
        """The ends for the command: its stdin, then its stdout."""
        return self._stdin_out, self._stdout_in

    def hand_over(self) -> None:
        """Close the command's ends here, so that those of the command are the last ones."""
        self._close(*self.theirs)

    def hang_up(self) -> None:
        """Close the command's stdin."""
        self._close(self._stdin_in)

    def close(self) -> None:
        """Close whatever is still open."""
        self._close(*self._open)

    async def send(self, data: bytes) -> None:
        """Write all of it; BrokenPipeError if nobody listens."""
        left = memoryview(data)
        while left:
            if self._stdin_in not in self._open:
                raise BrokenPipeError("the command's stdin is closed")
            try:
                left = left[os.write(self._stdin_in, left[:PIECE]) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stdin_in)

    async def receive(self) -> bytes:
        """The next piece; nothing at the end."""
        while self._stdout_out in self._open:
            try:
                return os.read(self._stdout_out, PIECE)
            except BlockingIOError:
                await anyio.wait_readable(self._stdout_out)
        return b""

    def _close(self, *ends: int) -> None:
        for end in ends:
            if end in self._open:
                self._open.remove(end)
                os.close(end)


class SupervisedConversation:
    """Talks through pipes with a command; `listen` waits for what its supervisor reports."""

    def __init__(self, pipes: Pipes, listen: Callable[[], Awaitable[Ended]]) -> None:
        self.left = ""
        self._pipes = pipes
        self._listen = listen
        self._ended: Ended | None = None

    async def send(self, data: bytes) -> None:
        """Write to its stdin; BrokenPipeError if it does not listen any more."""
        await self._pipes.send(data)

    async def receive(self) -> bytes:
        """What came next from its stdout, waiting for it; nothing once stdout is closed."""
        return await self._pipes.receive()

    def hang_up(self) -> None:
        """Close its stdin, by which most programs understand that they are to end."""
        self._pipes.hang_up()

    async def wait(self) -> Ended:
        """How it ended, waiting for that. `errors` is the tail of its stderr."""
        if self._ended is None:
            self._ended = await self._listen()
        return self._ended
