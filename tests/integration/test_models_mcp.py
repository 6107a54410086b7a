"""MCP servers as tools: a real server over standard streams, only if it is named, and gone when the answer is there."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio
import psutil
import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from drumline.core.ids import RunId
from drumline.models import McpServer
from drumline.models.providers import PydanticModels
from drumline.ports.models import Answer, Question
from drumline.ports.processes import Ended, Job
from drumline.testing.processes import FakeProcesses

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


SILENT = """
import os, pathlib, sys, time

pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(60)
"""


@pytest.fixture
def server(tmp_path: Path) -> McpServer:
    (tmp_path / "server.py").write_text(SERVER)
    command = (sys.executable, str(tmp_path / "server.py"), str(tmp_path / "pid"))
    return McpServer(name="my words", command=command, env={"MARK": "!"})


def no_command(job: Job) -> Ended:
    raise AssertionError(job)


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
        processes=FakeProcesses(no_command), servers=(server,), find_model=lambda _name: FunctionModel(play)
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
    assert "fail" in answer.text


@pytest.mark.parametrize("command", [("no-such-program",), (sys.executable, "-c", "raise SystemExit(3)")])
def test_a_server_that_does_not_start_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    answer, _ = ask(tmp_path, McpServer(name="broken", command=command), servers=("broken",))

    assert answer.failure == "permanent"
    assert answer.message.startswith("MCP server 'broken' did not start: ")


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
        processes=FakeProcesses(no_command), servers=(server,), find_model=lambda _name: FunctionModel(hang)
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
