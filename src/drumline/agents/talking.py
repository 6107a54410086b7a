"""A program that asks while it works, run like one that does not: what it prints is in the same files.

The rule: it is answered in the order in which it asks, and told to end as soon as it has nothing more to ask.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from drumline.agents.follow import Follower
from drumline.agents.program import Talk
from drumline.ports.processes import Conversation, Ended, Job, Processes
from drumline.record import replace

TRANSCRIPT_LIMIT = 4 << 20


async def run_talking(processes: Processes, job: Job, talk: Talk) -> Ended:
    """Run a job to its end: its `stdin` opens the talk, its stdout is in `printed`, all but stderr in its log.

    Once the files are full, nothing more is answered.
    """
    printed = job.printed or job.log.with_name(job.log.name + ".printed")
    for path in (job.log, printed):
        path.parent.mkdir(parents=True, exist_ok=True)
        # What a killed attempt had printed is none of this one's.
        path.write_bytes(b"")
    aside = replace(job, log=job.log.with_name(job.log.name + ".stderr"))
    try:
        async with processes.open(aside) as conversation:
            talked = _Talked(conversation, talk, _Limited(printed, job.printed_limit), _Limited(job.log))
            await talked.hold(job.stdin)
            ended = await conversation.wait()
    except OSError as error:
        return Ended(exit_code=None, seconds=0.0, message=f"it cannot be talked with: {error}")
    return replace(ended, cut=talked.printed.full)


class _Limited:
    """A file that takes so many bytes and no more."""

    def __init__(self, path: Path, limit: int = TRANSCRIPT_LIMIT) -> None:
        self.path = path
        self.full = False
        self._room = limit

    def add(self, data: bytes) -> None:
        self.full = self.full or len(data) > self._room
        kept = data[: self._room]
        self._room -= len(kept)
        with self.path.open("ab") as file:
            file.write(kept)


class _Talked:
    """One talk: reads what comes, and answers it."""

    def __init__(self, conversation: Conversation, talk: Talk, printed: _Limited, log: _Limited) -> None:
        self.printed = printed
        self._conversation = conversation
        self._talk = talk
        self._log = log
        self._follower = Follower(printed.path)

    async def hold(self, opening: str) -> None:
        """Until stdout is closed."""
        await self._send(opening)
        while piece := await self._conversation.receive():
            self.printed.add(piece)
            self._log.add(piece)
            await self._catch_up()
            if self.printed.full:
                # What it asks from here on is not seen, so that it would wait for ever.
                self._conversation.hang_up()

    async def _catch_up(self) -> None:
        for event in self._follower.read_events():
            if answer := await self._talk.answer(event):
                self._log.add(answer.encode())
                await self._send(answer)
            if self._talk.ends_with(event):
                self._conversation.hang_up()

    async def _send(self, text: str) -> None:
        # One that does not listen any more says why, or its end does.
        with suppress(BrokenPipeError):
            await self._conversation.send(text.encode())
