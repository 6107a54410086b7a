"""MCP servers that models may use. The rule: only those that a question names are started, each for that question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.errors import InvalidInput
from drumline.models.lifetime import hold, shield
from drumline.profiles import McpServer

if TYPE_CHECKING:
    from fastmcp.client.transports import ClientTransport
    from pydantic_ai.toolsets import AbstractToolset

PREFIX = "mcp:"
START = 30.0
"""Seconds a server has to say hello."""


class ServerDown(Exception):
    """A server could not be started; the message names it."""


def choose_servers(names: Sequence[str], servers: Sequence[McpServer]) -> list[McpServer]:
    """The configured servers of those names; InvalidInput naming every one that is not configured."""
    known = {server.name: server for server in servers}
    if unknown := [name for name in names if name not in known]:
        said = ", ".join(repr(name) for name in unknown)
        legal = ", ".join(known) or "none"
        raise InvalidInput(f"unknown MCP server {said} (configured: {legal})", hint="add it to .drumline/config.toml")
    return [known[name] for name in dict.fromkeys(names)]


async def start_servers(
    servers: Sequence[McpServer], stack: AsyncExitStack, *, cwd: Path, log: Path
) -> list[AbstractToolset[None]]:
    """Start the servers and keep them until the stack is left; ServerDown names the one that does not start."""
    return [await _start(server, stack, cwd=cwd, log=log) for server in servers]


async def _start(server: McpServer, stack: AsyncExitStack, *, cwd: Path, log: Path) -> AbstractToolset[None]:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    transport = _connect(server, cwd=cwd, log=log)
    if isinstance(transport, StdioTransport):
        # Before it is started: a start that is cancelled half-way has a process already.
        stack.push_async_callback(shield, transport.disconnect)
    toolset: MCPToolset[None] = MCPToolset(transport, id=server.name, tool_error_behavior="failed", init_timeout=START)
    try:
        await stack.enter_async_context(hold(toolset))
        await toolset.list_tools()
    except Exception as error:
        # Whatever the client library raises here means one thing to the person who configured the server.
        raise ServerDown(f"MCP server {server.name!r} did not start: {str(error) or type(error).__name__}") from error
    return toolset.prefixed(re.sub(r"[^A-Za-z0-9_-]", "_", server.name))


def _connect(server: McpServer, *, cwd: Path, log: Path) -> ClientTransport | str:
    if not server.command:
        return server.url
    from fastmcp.client.transports import StdioTransport

    program, *args = server.command
    # Not kept alive: nothing that a question started may be left when it is answered.
    return StdioTransport(
        program,
        args,
        env=dict(server.env),
        cwd=str(cwd),
        keep_alive=False,
        log_file=log.with_name(f"{log.name}.mcp"),
    )
