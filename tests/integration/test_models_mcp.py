"""MCP servers as tools: a real server over standard streams, only if it is named, and gone when the answer is there."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import psutil
import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.supervision import supervise

from drumline.core.ids import RunId
from drumline.models import McpServer
from drumline.models.providers import PydanticModels
from drumline.ports.models import Answer, Question

SERVER = """
import os, pathlib, sys
from mcp.server.mcpserver import MCPServer

pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
server = MCPServer("words")


@server.tool()
def shout(text: str) -> str:
    "Say it loud."
    return text.upper() + os.environ.get("MARK", "") + os.environ.get("OPENAI_API_KEY", "")


@server.tool()
def fail() -> str:
    "Never works."
    raise ValueError("out of order")


server.run("stdio")
"""

PLAIN = """
import json, os, pathlib, sys

pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
FAIL = {"name": "fail", "description": "Never works.", "inputSchema": {"type": "object"}}


def answer(method, params):
    if method == "initialize":
        about = {"name": "words", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [FAIL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "out of order"}], "isError": True}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        found = answer(asked["method"], asked.get("params", {}))
        told = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"""
"""A server without its library, which takes a second to import: where it matters only that there is one."""

SILENT = """
import os, pathlib, sys, time

pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(60)
"""

STUBBORN = """
import signal, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    {server}
finally:
    time.sleep(600)
"""
DRIVER = """
import sys
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from drumline.core.ids import DriverId
from drumline.models.servers import start_servers
from drumline.processes.supervised import SupervisedProcesses
from drumline.profiles import McpServer


async def serve(folder: Path) -> None:
    server = McpServer(name="stubborn", command=(sys.executable, str(folder / "server.py"), str(folder / "pid")))
    processes = SupervisedProcesses(folder / "driver", DriverId(uuid.uuid4().hex))
    async with AsyncExitStack() as stack:
        await start_servers([server], stack, processes=processes, cwd=folder, log=folder / "ask.log")
        (folder / "up").touch()
        await anyio.sleep_forever()


anyio.run(serve, Path(sys.argv[1]))
"""


@pytest.fixture
def server(tmp_path: Path) -> McpServer:
    (tmp_path / "server.py").write_text(PLAIN)
    command = (sys.executable, str(tmp_path / "server.py"), str(tmp_path / "pid"))
    return McpServer(name="my words", command=command, env={"MARK": "!"})


def ask(
    folder: Path, server: McpServer, *calls: ToolCallPart, tools: tuple[str, ...] = (), servers: tuple[str, ...] = ()
) -> tuple[Answer, list[str]]:
    """Let a model call tools, then repeat what they said; the names of all tools it saw are returned as well."""
    seen: list[str] = []

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen[:] = [tool.name for tool in info.function_tools]
        said = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if calls and not said:
            return ModelResponse(parts=list(calls))
        return ModelResponse(parts=[TextPart(" ".join(["heard:", *(str(part.content) for part in said)]))])

    (folder / "work").mkdir(exist_ok=True)
    question = Question(
        run=RunId("r1"),
        node="ask",
        prompt="go",
        model="test:x",
        workspace=folder / "work",
        log=folder / "ask.log",
        tools=tools,
        mcp_servers=servers,
    )
    models = PydanticModels(
        processes=supervise(folder), servers=(server,), find_model=lambda _name: FunctionModel(play)
    )

    async def ask_and_look() -> Answer:
        answer = await models.ask(question)
        assert not is_running(folder)
        return answer

    return anyio.run(ask_and_look), seen


def is_running(folder: Path) -> bool:
    """Whether the server that was started there still is, to be asked while the event loop is."""
    pid = folder / "pid"
    return pid.exists() and psutil.pid_exists(int(pid.read_text()))


def test_a_named_server_gives_its_tools_and_is_gone_afterwards(
    tmp_path: Path, server: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    (tmp_path / "server.py").write_text(SERVER)

    answer, seen = ask(
        tmp_path, server, ToolCallPart("my_words_shout", {"text": "hey"}), tools=("mcp:my words", "fs_ls")
    )

    assert (answer.text, answer.failure) == ("heard: HEY!", "")
    assert sorted(seen) == ["fs_ls", "my_words_fail", "my_words_shout"]
    assert (tmp_path / "pid").exists()


def test_a_server_that_is_not_named_is_not_started(tmp_path: Path, server: McpServer) -> None:
    answer, seen = ask(tmp_path, server)

    assert answer.text == "heard:"
    assert seen == []
    assert not (tmp_path / "pid").exists()


def test_a_tool_that_fails_is_told_to_the_model(tmp_path: Path, server: McpServer) -> None:
    answer, _ = ask(tmp_path, server, ToolCallPart("my_words_fail", {}), servers=("my words",))

    assert answer.failure == ""
    assert "out of order" in answer.text


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("no-such-program",), "no-such-program"),
        ((sys.executable, "-c", "raise SystemExit(3)"), "it ended with exit code 3"),
        ((sys.executable, "-c", "raise SystemExit('no token')"), "no token"),
    ],
)
def test_a_server_that_does_not_start_is_named_and_says_why(tmp_path: Path, command: tuple[str, ...], why: str) -> None:
    answer, _ = ask(tmp_path, McpServer(name="broken", command=command), servers=("broken",))

    assert answer.failure == "permanent"
    assert answer.message.startswith("MCP server 'broken' did not start: ")
    assert why in answer.message


@pytest.mark.parametrize("program", ["answers", "never says hello"])
def test_a_server_is_gone_when_the_question_is_cancelled(tmp_path: Path, server: McpServer, program: str) -> None:
    if program == "never says hello":
        (tmp_path / "server.py").write_text(SILENT)

    asked = anyio.Event()

    async def hang(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        asked.set()
        await anyio.sleep_forever()
        return ModelResponse(parts=[])

    question = Question(
        run=RunId("r1"),
        node="ask",
        prompt="go",
        model="test:x",
        workspace=tmp_path,
        log=tmp_path / "ask.log",
        mcp_servers=("my words",),
    )
    models = PydanticModels(
        processes=supervise(tmp_path), servers=(server,), find_model=lambda _name: FunctionModel(hang)
    )

    async def cancel_once_started() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(models.ask, question)
            await anyio.to_thread.run_sync(wait_for, tmp_path / "pid")
            if program == "answers":
                await asked.wait()
            assert is_running(tmp_path)
            tasks.cancel_scope.cancel()
        assert not is_running(tmp_path)

    anyio.run(cancel_once_started)


def wait_for(path: Path) -> None:
    """Wait until something is written there."""
    while not path.exists() or not path.read_text():
        time.sleep(0.02)


def test_a_killed_driver_leaves_no_server_behind_not_even_one_that_will_not_go(tmp_path: Path) -> None:
    inner = PLAIN.strip().replace("\n", "\n    ")
    (tmp_path / "server.py").write_text(STUBBORN.format(server=inner))
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path)])
    wait_until((tmp_path / "up").exists)
    assert is_running(tmp_path)

    driver.kill()
    driver.wait()

    wait_until(lambda: not is_running(tmp_path))


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for something that has to come true, for a long but bounded time."""
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError(true)
