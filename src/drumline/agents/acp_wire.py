"""Messages of the Agent Client Protocol over the pipes of a command: one JSON object a line.

The rule: what the agent tells while it works is read in its order, and nothing that is not understood is an error.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from drumline.agents.reading import read_map
from drumline.core.flow.model import Json
from drumline.ports.processes import Conversation

LONGEST_LINE = 16 << 20
WHOLE = 4 << 20
CUT = "[the transcript ends here: it is full]\n"
PRIVATE = ("session/new", "session/load")
"""Requests that carry the secrets of MCP servers: of these the transcript has no more than the name."""

Update = Callable[[Mapping[str, Json]], Awaitable[None]]


class Wire:
    """Carries messages for the protocol's library; updates go to `update` instead, everything to the transcript.

    `hear` is called for each message that comes.
    """

    def __init__(self, conversation: Conversation, log: Path, *, hear: Callable[[], None], update: Update) -> None:
        self._conversation = conversation
        self._hear = hear
        self._update = update
        self._transcript = _Transcript(log)
        self._sending = anyio.Lock()
        self._rest = b""
        self._lines: list[bytes] = []

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message; ConnectionError if the agent does not listen any more."""
        self._transcript.add(_hide(message))
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        async with self._sending:
            await self._conversation.send(line)

    async def receive(self) -> dict[str, Any] | None:
        """The next request or response; None once the agent has closed its stdout."""
        while (message := await self._receive()) is not None:
            if "method" not in message or "id" in message:
                return message
            # The library would treat updates as tasks of their own, in any order, and complain of what is new to it.
            if message["method"] == "session/update":
                await self._update(read_map(read_map(message.get("params")).get("update")))
        return None

    async def close(self) -> None:
        """Tell the agent that nothing more will come."""
        self._conversation.hang_up()

    async def _receive(self) -> dict[str, Any] | None:
        while (line := await self._receive_line()) is not None:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                self._hear()
                self._transcript.add(message)
                return message
        return None

    async def _receive_line(self) -> bytes | None:
        while not self._lines:
            piece = await self._conversation.receive()
            if not piece:
                return None
            *self._lines, self._rest = (self._rest + piece).split(b"\n")
            if len(self._rest) > LONGEST_LINE:
                self._rest = b""
        return self._lines.pop(0)


def _hide(message: Mapping[str, Json]) -> Mapping[str, Json]:
    return {**message, "params": None} if message.get("method") in PRIVATE else message


class _Transcript:
    """The messages on disk, at once and up to a bound."""

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        self._room = WHOLE

    def add(self, message: Mapping[str, Json]) -> None:
        if self._room <= 0:
            return
        line = json.dumps(message, ensure_ascii=False) + "\n"
        self._room -= len(line)
        with self._log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line if self._room > 0 else CUT)
