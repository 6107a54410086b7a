"""The Model Context Protocol over the pipes of a command: one JSON object a line.

The rule: whoever opened the conversation ends the server; closing the session only tells it that it may go.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Unpack

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports import ClientTransport
from fastmcp.client.transports.base import SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from drumline.ports.processes import Conversation

GRACE = 2.0
"""Seconds that a server has to end by itself once its stdin is closed."""
LONGEST_LINE = 16 << 20
TOLD = 500
Incoming = SessionMessage | Exception
Sender = MemoryObjectSendStream[Incoming]
Receiver = MemoryObjectReceiveStream[SessionMessage]


class ConversationTransport(ClientTransport):
    """Speaks with a server that is running already; good for one session."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession, None]:
        """A session over the pipes; the server is told to go when it is left."""
        options = transport_options or TransportOptions()
        to_session, incoming = anyio.create_memory_object_stream[Incoming](0)
        outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        with to_session, incoming, outgoing, from_session:
            async with (
                self._carry(to_session, from_session),
                options.session_class(incoming, outgoing, **session_kwargs) as session,
            ):
                yield session

    async def explain_end(self) -> str:
        """Why the server has ended, as it or the machine tells it; empty while it has not."""
        with anyio.move_on_after(GRACE):
            ended = await self._conversation.wait()
            return ended.message or ended.errors.strip()[-TOLD:] or f"it ended with exit code {ended.exit_code}"
        return ""

    @asynccontextmanager
    async def _carry(self, to_session: Sender, from_session: Receiver) -> AsyncGenerator[None, None]:
        """Carry messages both ways for a while; then the server is told to go, and has a moment for it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, to_session)
            tasks.start_soon(self._speak, from_session, to_session)
            try:
                yield
            finally:
                self._conversation.hang_up()
                with anyio.move_on_after(GRACE, shield=True):
                    await self._conversation.wait()
                tasks.cancel_scope.cancel()

    async def _listen(self, to_session: Sender) -> None:
        """Hand on every message; the session sees the end when the server has closed its stdout."""
        rest = b""
        with to_session:
            while piece := await self._conversation.receive():
                *lines, rest = (rest + piece).split(b"\n")
                if len(rest) > LONGEST_LINE:
                    return
                for line in lines:
                    await _deliver(line, to_session)

    async def _speak(self, from_session: Receiver, to_session: Sender) -> None:
        async for sent in from_session:
            line = sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                await self._conversation.send(line)
            except OSError:
                # It may still be alive, but it will never hear the question that somebody waits for.
                to_session.close()
                return


async def _deliver(line: bytes, to_session: Sender) -> None:
    if not line.strip():
        return
    try:
        message: Incoming = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        message = error
    try:
        await to_session.send(message)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return
