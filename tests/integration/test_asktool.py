"""The server of the tool that asks a person, spoken to by the protocol's own library and by lines of text."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from drumline.agents.asking import SERVER
from drumline.agents.asktool import ANSWER, VERSIONS, serve
from drumline.core.flow.model import Json


def say(file: Path, *lines: str) -> list[dict[str, Json]]:
    """What the server replies to these lines."""
    replies = io.StringIO()
    serve(file, io.StringIO("".join(f"{line}\n" for line in lines)), replies)
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def request(method: str, **params: Json) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})


def test_the_protocol_s_own_library_finds_the_tool_and_uses_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = StdioServerParameters(command=sys.executable, args=["-P", "-m", SERVER, str(notes)])

    async def ask() -> tuple[list[str], str, bool, bool]:
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            good = await client.call_tool(tools[0], {"question": "Which – a or b?", "options": ["a", "b"]})
            bad = await client.call_tool(tools[0], {"question": ""})
            return tools, getattr(good.content[0], "text", ""), good.is_error, bad.is_error

    assert anyio.run(ask) == (["ask_person"], ANSWER, False, True)
    assert json.loads(notes.read_text(encoding="utf-8")) == {"blocked": "Which – a or b?", "options": ["a", "b"]}


@pytest.mark.parametrize("wanted", [*VERSIONS, "1999-01-01", None])
def test_it_speaks_the_version_that_was_asked_for_or_the_newest_it_knows(wanted: str | None, tmp_path: Path) -> None:
    (reply,) = say(tmp_path / "notes", request("initialize", protocolVersion=wanted, capabilities={}))

    assert isinstance(reply["result"], dict)
    assert reply["result"]["protocolVersion"] == (wanted if wanted in VERSIONS else VERSIONS[0])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ('{"id": 7, "method": 7}', -32600),
        ('{"id": 7}', -32601),
        (request("server/discover"), -32601),
        (request("tools/call", name="rm"), -32602),
        (request("tools/call"), -32602),
    ],
)
def test_what_is_no_request_gets_an_error_and_the_next_line_is_read(line: str, code: int, tmp_path: Path) -> None:
    refused, pong = say(tmp_path / "notes", line, request("ping"))

    assert isinstance(refused["error"], dict)
    assert refused["error"]["code"] == code
    assert pong == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_a_notification_gets_no_reply(tmp_path: Path) -> None:
    assert say(tmp_path / "notes", '{"jsonrpc": "2.0", "method": "notifications/initialized"}') == []


@pytest.mark.parametrize("arguments", [{}, {"question": 7}, {"question": "a?", "options": "b"}, [], None])
def test_a_question_of_another_shape_is_refused_in_the_tool_s_own_words(arguments: Json, tmp_path: Path) -> None:
    (reply,) = say(tmp_path / "notes", request("tools/call", name="ask_person", arguments=arguments))

    assert isinstance(reply["result"], dict)
    assert reply["result"]["isError"] is True
    assert not (tmp_path / "notes").exists()
