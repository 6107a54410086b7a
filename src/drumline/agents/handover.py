"""What an adapter hands its program in files and on stdin. The rule: nothing of it can be read by other users."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

from drumline.core.flow.model import Json
from drumline.ports.agents import Assignment
from drumline.profiles import McpServer


def write_private(path: Path, text: str) -> str:
    """Write a file that only we can read, and return its name: servers have secrets."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return str(path)


def join_prompt(assignment: Assignment) -> str:
    """The instructions before the prompt, for programs that take instructions as an option only: all can read those."""
    return "\n\n".join(part for part in (assignment.instructions, assignment.prompt) if part)


def name_session(assignment: Assignment) -> str:
    """The id wanted for a new session, if it is a UUID, else a new one."""
    try:
        return str(uuid.UUID(assignment.new_session))
    except ValueError:
        return str(uuid.uuid4())


def describe_servers(servers: tuple[McpServer, ...], *, address: str) -> Mapping[str, Json]:
    """MCP servers by name, in the words that most programs share; `address` is their word for a server's URL."""
    return {server.name: _describe(server, address) for server in servers}


def _describe(server: McpServer, address: str) -> Mapping[str, Json]:
    if server.url:
        return {address: server.url}
    return {"command": server.command[0], "args": list(server.command[1:]), "env": dict(server.env)}
