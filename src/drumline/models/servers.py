"""MCP servers that models may use. The rule: only those that a question names are started, each for that question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.errors import InvalidInput
from drumline.extras import require_servers
from drumline.models.lifetime import hold
from drumline.ports.processes import HARMLESS, Job, Processes
from drumline.profiles import McpServer

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from drumline.models.mcpwire import ConversationTransport

PREFIX = "mcp:"
START = 30.0
"""Seconds a server has to say hello."""


class ServerDown(Exception):
    """A server could not be started; the message names it."""


def choose_servers(names: Sequence[str], servers: Sequence[McpServer]) -> list[McpServer]:
    """The configured servers of those names; InvalidInput naming every one that is not configured, or no client."""
    known = {server.name: server for server in servers}
    if unknown := [name for name in names if name not in known]:
        said = ", ".join(repr(name) for name in unknown)
        legal = ", ".join(known) or "none"
        raise InvalidInput(f"unknown MCP server {said} (configured: {legal})", hint="add it to .drumline/config.toml")
    chosen = [known[name] for name in dict.fromkeys(names)]
    if chosen:
        require_servers(chosen[0].name)
    return chosen


async def start_servers(
    servers: Sequence[McpServer], stack: AsyncExitStack, *, processes: Processes, cwd: Path, log: Path
) -> list[AbstractToolset[None]]:
    """Start the servers and keep them until the stack is left; ServerDown names the one that does not start.

    They run under the supervisor that `processes` has: none outlives the question, nor us.
    """
    return [await _start(server, stack, processes=processes, cwd=cwd, log=log) for server in servers]


async def _start(
    server: McpServer, stack: AsyncExitStack, *, processes: Processes, cwd: Path, log: Path
) -> AbstractToolset[None]:
    from pydantic_ai.mcp import MCPToolset

    transport: ConversationTransport | str = server.url
    try:
        if server.command:
            transport = await _connect(server, stack, processes=processes, cwd=cwd, log=log)
        toolset: MCPToolset[None] = MCPToolset(
            transport, id=server.name, tool_error_behavior="failed", init_timeout=START
        )
        await stack.enter_async_context(hold(toolset))
        await toolset.list_tools()
    except Exception as error:
        # Whatever the client library raises here means one thing to the person who configured the server.
        told = "" if isinstance(transport, str) else await transport.explain_end()
        why = told or str(error) or type(error).__name__
        raise ServerDown(f"MCP server {server.name!r} did not start: {why}") from error
    return toolset.prefixed(_spell(server))


async def _connect(
    server: McpServer, stack: AsyncExitStack, *, processes: Processes, cwd: Path, log: Path
) -> ConversationTransport:
    from drumline.models.mcpwire import ConversationTransport

    job = Job(
        argv=server.command,
        cwd=cwd,
        log=log.with_name(f"{log.name}.mcp-{_spell(server)}"),
        env=server.env,
        keep=HARMLESS,
    )
    return ConversationTransport(await stack.enter_async_context(processes.open(job)))


def _spell(server: McpServer) -> str:
    """The name as it may stand before that of a tool."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", server.name)
