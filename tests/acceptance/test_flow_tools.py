"""The tools of a model in a flow: its commands and MCP servers are held to the workspace, and see what is granted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user, write_files
from tests.acceptance.cli_user import Ran, User
from tests.modelserver import ModelServer, Scenario, Turn, Use

from drumline.agents.jail import find_jail

JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
FLOW = flow_text(
    "think",
    {
        "think": {
            "type": "llm",
            "prompt": "Think.",
            "model": "openai-chat:scripted",
            "tools": ["exec", "mcp:tracker"],
            "state_updates": {"said": "{{output}}"},
            "next": "end",
        },
        "end": {"type": "end", "output": "{{said}}"},
    },
    global_tools=["exec"],
    mcp_servers=["tracker"],
)
SERVER = """
import os
from mcp.server import MCPServer

server = MCPServer("tracker")


@server.tool()
def note(path: str) -> str:
    "Write down what is seen of the environment."
    with open(path, "w") as file:
        file.write(f"{os.environ.get('OURS_TOKEN')} {os.environ.get('LENT_WORD')}")
    return "noted"


server.run(transport="stdio")
"""
SEEN = 'echo "$OURS_TOKEN|$LENT_WORD|${HOME:+home}" > seen.txt'


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    config = f'[mcp.tracker]\ncommand = ["{sys.executable}", "server.py"]\n[agents.builtin]\nenv = ["LENT_*"]\n'
    with flow_user(tmp_path, {"flow.yaml": FLOW, "server.py": SERVER}) as user:
        write_files(user, {".drumline/config.toml": config})
        yield user


def run_against(user: User, *calls: Use) -> Ran:
    """Walk the flow with a model that uses its tools, and then is done."""
    with ModelServer([Scenario(turns=(Turn(calls=calls), Turn(text="done")))]) as server:
        env = {
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "sk-0123456789",
            "OURS_TOKEN": "none-of-its-business",
            "LENT_WORD": "granted",
        }
        return user.drumline("flow", "run", "flow.yaml", env=env)


@JAILED
def test_what_a_model_starts_writes_to_the_workspace_only_and_sees_what_the_agent_is_granted(
    user: User,
) -> None:
    outside, noted = user.folder / "outside.txt", user.folder / "noted.txt"
    commands = (SEEN, f"echo x > '{outside}'")
    calls = [Use(tool="execute_command", arguments={"command": command}) for command in commands]
    calls += [Use(tool="tracker_note", arguments={"path": path}) for path in ("noted.txt", str(noted))]

    ran = run_against(user, *calls)

    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert (user.repo / "seen.txt").read_text() == "|granted|home\n"
    assert (user.repo / "noted.txt").read_text() == "None granted"
    assert not outside.exists()
    assert not noted.exists()
