"""Agents with a tool to ask a person. The rule: whoever was offered to ask gets it, and what it noted makes it blocked.

It is one more program to start, and some agents then leave out the user's own servers: hence it is given by a setting.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from drumline.agents import load
from drumline.core.blocked import find_question
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.isolation.scratch import open_scratch
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.profiles import McpServer
from drumline.record import Record, replace

SERVER = "drumline.agents.asktool"
NAME = "person"
SERVED = frozenset({"acp", "builtin"})
"""Agents that take MCP servers and are not programs."""
MOST = 64 << 10
"""Characters of notes that are read."""

Servers = Mapping[str, McpServer]


class OpenWith(Protocol):
    """Opens one agent with the MCP servers that there are."""

    def __call__(self, *, servers: Servers) -> Agent:
        """The agent, or InvalidInput."""
        ...


class ConnectedAgent(Record):
    """Opens the agent anew for each assignment, with a server of its own, which notes what this one asks."""

    open: OpenWith
    servers: Servers

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work, with the tool if its prompt offers to ask. No process of it is left when this returns."""
        try:
            if assignment.may_ask:
                return await self._work_connected(assignment)
            return await self.open(servers=self.servers).work(assignment)
        except InvalidInput as error:
            return Outcome(failure=Failure.MISSING.value, message=str(error))

    async def _work_connected(self, assignment: Assignment) -> Outcome:
        name = _choose_name(self.servers)
        with _keep_notes(assignment.log) as notes:
            server = McpServer(name=name, command=(sys.executable, "-P", "-m", SERVER, str(notes)))
            connected = replace(
                assignment,
                mcp_servers=(*assignment.mcp_servers, name),
                writable=(*assignment.writable, notes.parent),
            )
            outcome = await self.open(servers={**self.servers, name: server}).work(connected)
            asked = outcome.question or read_notes(notes)
            # A failure stays one: who tries again may ask again.
            return outcome if outcome.failure else replace(outcome, question=asked)


def connect(spec: str, *, open_with: OpenWith, servers: Servers, tool: bool) -> Agent:
    """The agent of a spec; with the `tool`, if that is wanted and it takes servers. InvalidInput if there is none."""
    agent = open_with(servers=servers)
    return ConnectedAgent(open=open_with, servers=servers) if tool and takes_servers(spec) else agent


def takes_servers(spec: str) -> bool:
    """Whether the agent of a spec can be given MCP servers by us."""
    from drumline.agents.program import Program

    name = spec.partition(":")[0]
    found = load(name)
    return name in SERVED or (isinstance(found, Program) and found.abilities.takes_servers)


def read_notes(notes: Path) -> str:
    """All that was asked, in order; empty if nothing was. The agent could write here, too: only files are read."""
    if not notes.is_file():
        return ""
    with notes.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(MOST).split("\n")
    return "\n\n".join(dict.fromkeys(asked for line in lines if (asked := find_question(line))))


@contextmanager
def _keep_notes(log: Path) -> Iterator[Path]:
    """A file in a folder of its own beside the transcript, which a jail can open for the agent alone."""
    with open_scratch(log.with_name(f"{log.name}.asked").absolute()) as folder:
        yield folder / "questions.jsonl"


def _choose_name(servers: Servers) -> str:
    """A name for ours that no configured server has."""
    name = NAME
    while name in servers:
        name += "_"
    return name
