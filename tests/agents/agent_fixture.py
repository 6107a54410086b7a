"""Places for agents to work in tests: a checkout, a worktree of it, an isolated home, a model server to talk to."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from tests.agents.programs import LAUNCHES, SECRET, AgentFixture, find_entry, launch_copilot
from tests.modelserver import ModelServer
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.acp import AcpAgent
from drumline.agents.cli import CliAgent
from drumline.agents.program import Abilities
from drumline.core.blocked import OFFER
from drumline.core.ids import RunId, StepId
from drumline.engine.agent_call import AgentCall
from drumline.engine.services import know_no_price
from drumline.models.builtin import BuiltinAgent
from drumline.ports.agents import Assignment, Outcome
from drumline.record import replace

Held = CliAgent | AcpAgent | BuiltinAgent
"""Agents that work in a jail, and take MCP servers."""
SPECS: Mapping[str, str] = {
    "acp": "acp:gemini --acp -m gemini-2.5-flash --skip-trust",
    "builtin": "builtin:openai-chat:scripted",
}
"""Agents that are not called like a program."""
BEHIND: Mapping[str, str | None] = {"acp": "gemini", "builtin": None}
"""The programs behind these; our own agent needs none."""
FIXTURES = {**LAUNCHES, "copilot": launch_copilot}
"""How each program is pointed at a server; Copilot CLI does not overwrite files, so that it plays not all scenarios."""
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid")


@dataclass(frozen=True, kw_only=True, slots=True)
class Office:
    """An agent and where it works."""

    agent: Held
    checkout: Path
    workspace: Path
    log: Path
    workspaces: list[Path] = field(default_factory=list)

    @property
    def executable(self) -> str:
        """The program that works, as the list of processes shows it; empty for an agent that is none."""
        match self.agent:
            case CliAgent(executable=executable):
                return str(executable)
            case AcpAgent(argv=argv):
                return argv[0]
        return ""

    @property
    def abilities(self) -> Abilities:
        """What the agent says that it can do; where it says nothing, what it is known for."""
        match self.agent:
            case CliAgent(program=program):
                return program.abilities
            case BuiltinAgent():
                return Abilities(names_session=True)
        return Abilities()

    def work(self, prompt: str = "Please do the work.", **fields: Any) -> Outcome:
        """Let the agent do an assignment."""
        return anyio.run(self.agent.work, assign(self.workspace, self.log, prompt=prompt, **fields))

    def call(self, prompt: str = "Please do the work.", **fields: Any) -> Outcome:
        """Let the agent do an assignment as the engine does, with what that adds."""

        async def keep(usage: Mapping[str, float], seconds: float) -> None:
            """Nobody wants to know."""

        call = AgentCall(agent=self.agent, model="", price=know_no_price, now=time.monotonic, keep=keep)
        return anyio.run(call.make, assign(self.workspace, self.log, prompt=prompt, **fields))

    def make_workspaces(self, count: int) -> list[Path]:
        """Further worktrees of the checkout."""
        for number in range(count):
            folder = self.workspace.with_name(f"more-{number}")
            run_git(self.checkout, "worktree", "add", "--quiet", "--detach", str(folder))
            self.workspaces.append(folder)
        return self.workspaces


def open_office(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    server: ModelServer,
    *,
    jailed: bool = True,
    again: bool = False,
) -> Office:
    """Open an agent in a worktree; our environment has a secret that is none of its business.

    With `jailed` it is in a jail where one works here, else never. `again` is for a place that is already there.
    """
    checkout, workspace = folder / "checkout", folder / "trees" / "one"
    if not again:
        make_checkout(checkout, workspace)
    isolate(folder, monkeypatch, name, server)
    agent = open_agent(SPECS.get(name, name), processes=supervise(folder), base=folder)
    assert isinstance(agent, Held)
    agent = agent if jailed else replace(agent, jail=None)
    return Office(agent=agent, checkout=checkout, workspace=workspace, log=folder / "logs" / "work.log")


def isolate(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, server: ModelServer) -> None:
    """An environment in which the agent finds the server and nothing of the user's."""
    program = BEHIND.get(name, name)
    agent_home = AgentFixture(home=folder / "home", work=folder, temp=folder, url=server.url)
    agent_home.home.mkdir(exist_ok=True)
    env = {
        "PATH": _find_path(program),
        "HOME": str(agent_home.home),
        "DATABASE_PASSWORD": "our-own-secret",
        **(FIXTURES[program](agent_home).env if program else _point_builtin(server)),
    }
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)


def _find_path(program: str | None) -> str:
    if program is None:
        return os.defpath
    entry = _find_entry(program)
    assert entry is not None, f"{program} is not installed"
    return f"{entry.parent}{os.pathsep}{os.defpath}"


def _point_builtin(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": SECRET}


# Where they are depends on the home, which is another one afterwards.
_find_entry = lru_cache(find_entry)


def make_checkout(checkout: Path, workspace: Path) -> None:
    """A repository with one commit, and a worktree of it."""
    checkout.mkdir()
    run_git(checkout, "init", "--quiet")
    run_git(checkout, "commit", "--quiet", "--allow-empty", "-m", "base")
    run_git(checkout, "worktree", "add", "--quiet", "--detach", str(workspace))


def run_git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    subprocess.run([*GIT, *words], cwd=folder, check=True)


def assign(workspace: Path, log: Path, *, prompt: str = "Please do the work.", **fields: Any) -> Assignment:
    """An assignment with long but bounded time."""
    log.parent.mkdir(parents=True, exist_ok=True)
    return Assignment(
        run=RunId("r1"),
        step=StepId("s1"),
        node="implement",
        attempt=1,
        prompt=prompt,
        prompt_file=log.with_suffix(".md"),
        workspace=workspace,
        log=log,
        **{"timeout": 200.0, "may_ask": OFFER in prompt, **fields},
    )


def make_nap() -> str:
    """A command that sleeps for hours, unlike any other on this machine, also where the tests run twice at once."""
    return f"sleep 7200.{uuid.uuid4().int % 10**12:012d}"


def read_command_lines() -> list[str]:
    """The command line of every process there is."""
    return [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]


def count_processes(*words: str) -> int:
    """How many processes have all these words on their command line."""
    return sum(all(word in line for word in words) for line in read_command_lines())


async def wait_for_processes(word: str, count: int) -> int:
    """How many there are once there are `count`, or after a long while."""
    for _ in range(600):
        if count_processes(word) >= count:
            break
        await anyio.sleep(0.1)
    return count_processes(word)
