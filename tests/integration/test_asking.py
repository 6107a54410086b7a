"""The tool by which an agent asks a person: a real server, spoken to by a stand-in for an agent program."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.asking import MOST, NAME, ConnectedAgent, Servers, connect, read_notes, takes_servers
from drumline.agents.asktool import ANSWER, note_question
from drumline.agents.cli import CliAgent
from drumline.agents.jail import find_jail
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.core.blocked import LONGEST, OFFER
from drumline.core.flow.model import Json
from drumline.core.ids import RunId, StepId
from drumline.errors import InvalidInput
from drumline.ports.agents import Agent, Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.profiles import McpServer
from drumline.record import replace

CLIENT = """
import json, subprocess, sys

command, calls = json.loads(sys.argv[1]), json.loads(sys.argv[2])
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    server.stdin.flush()


def ask(number, method, **params):
    send(id=number, method=method, params=params)
    for line in server.stdout:
        if json.loads(line).get("id") == number:
            return json.loads(line)["result"]


ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
send(method="notifications/initialized")
tools = [tool["name"] for tool in ask(2, "tools/list")["tools"]]
said = [ask(3 + n, "tools/call", name=tools[0], arguments=call) for n, call in enumerate(calls)]
server.stdin.close()
server.wait()
print(json.dumps({"tools": tools, "said": [answer["content"][0]["text"] for answer in said]}))
"""


class EndReader:
    """The one event is the end: the tools there were, and what they said."""

    def __init__(self, assignment: Assignment) -> None:
        self._end: Mapping[str, Json] = {}

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        self._end = event
        return ()

    def conclude(self, ended: Ended) -> Outcome:
        failure = "" if self._end else "crash"
        return Outcome(failure=failure, message=json.dumps(self._end) if self._end else ended.errors)


def stand_in(*calls: Mapping[str, Json], fails: bool = False) -> Program:
    """A program that starts the only server it is given, and uses its only tool."""

    def build(assignment: Assignment, setting: Setting) -> Launch:
        assert [server.name for server in setting.servers] == list(assignment.mcp_servers)
        command = json.dumps(setting.servers[0].command) if setting.servers else "[]"
        client = CLIENT.rpartition("print")[0] if fails else CLIENT if setting.servers else "print('{\"said\": []}')"
        return Launch(argv=(sys.executable, "-c", client, command, json.dumps(calls)))

    abilities = Abilities(takes_servers=True)
    return Program(name="plain", executables=("python",), build=build, open_reader=EndReader, abilities=abilities)


def assign(folder: Path, *, prompt: str = f"Greet.\n\n{OFFER}", **fields: Any) -> Assignment:
    """An assignment that lets the agent ask, unless its prompt is another."""
    (folder / "work").mkdir(exist_ok=True)
    return Assignment(
        run=RunId("r1"),
        step=StepId("step-1"),
        node="implement",
        attempt=1,
        prompt=prompt,
        prompt_file=folder / "prompt.md",
        workspace=folder / "work",
        log=folder / "logs" / "attempt-1.log",
        **{"timeout": 240.0, "may_ask": OFFER in prompt, **fields},
    )


def work(folder: Path, program: Program, *, jailed: bool = False, **fields: Any) -> Outcome:
    """Let the program do an assignment, with the tool if the prompt offers to ask."""
    processes = supervise(folder)
    jail = find_jail() if jailed else None
    plain = CliAgent(program=program, executable=Path(sys.executable), processes=processes, jail=jail)

    def open_with(*, servers: Servers) -> Agent:
        return replace(plain, servers=servers)

    agent = ConnectedAgent(open=open_with, servers={})
    return anyio.run(agent.work, assign(folder, **fields))


@pytest.mark.parametrize(
    "jailed", [False, pytest.param(True, marks=pytest.mark.skipif(find_jail() is None, reason="no bubblewrap here"))]
)
def test_a_question_asked_with_the_tool_makes_the_outcome_blocked(jailed: bool, tmp_path: Path) -> None:
    program = stand_in({"question": "Which?", "options": ["a", "b"]}, {"question": "And when?"}, {"question": " "})

    outcome = work(tmp_path, program, jailed=jailed, read_only=True)

    told = json.loads(outcome.message)
    assert (outcome.failure, outcome.question) == ("", "Which?\n(options: a, b)\n\nAnd when?")
    assert (told["tools"], told["said"][:2]) == (["ask_person"], [ANSWER, ANSWER])
    assert str(LONGEST) in told["said"][2]
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["attempt-1.log"]


def test_a_failure_stays_one_whatever_was_asked_before(tmp_path: Path) -> None:
    outcome = work(tmp_path, stand_in({"question": "Which?"}, fails=True))

    assert (outcome.failure, outcome.question) == ("crash", "")


def test_an_agent_that_was_not_offered_to_ask_gets_no_tool(tmp_path: Path) -> None:
    outcome = work(tmp_path, stand_in(), prompt="Review it.")

    assert (outcome.failure, outcome.question, outcome.message) == ("", "", '{"said": []}')


@pytest.mark.parametrize("prompt", ["Review it.", OFFER])
def test_an_agent_that_is_gone_by_now_is_missing(prompt: str, tmp_path: Path) -> None:
    def open_with(*, servers: Servers) -> Agent:
        raise InvalidInput("there is no such program any more")

    outcome = anyio.run(ConnectedAgent(open=open_with, servers={}).work, assign(tmp_path, prompt=prompt))

    assert (outcome.failure, outcome.message) == ("missing", "there is no such program any more")


def test_the_tool_takes_a_name_that_no_server_has(tmp_path: Path) -> None:
    seen: list[Servers] = []

    def open_with(*, servers: Servers) -> Agent:
        seen.append(servers)
        raise InvalidInput("seen enough")

    own = McpServer(name=NAME, command=("true",))
    agent = ConnectedAgent(open=open_with, servers={NAME: own})

    anyio.run(agent.work, assign(tmp_path))

    assert (list(seen[0]), seen[0][NAME]) == ([NAME, f"{NAME}_"], own)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("claude", True),
        ("codex:gpt-5.5", True),
        ("opencode", True),
        ("qwen", True),
        ("goose", True),
        ("acp:some --acp", True),
        ("builtin", True),
        ("gemini", False),
        ("command:cat", False),
        ("scripted:play.yaml", False),
    ],
)
def test_only_agents_that_take_servers_can_have_the_tool(spec: str, expected: bool) -> None:
    assert takes_servers(spec) is expected


@pytest.mark.parametrize(("spec", "tool"), [("builtin:openai:x", False), ("command:cat", True)])
def test_without_the_setting_or_the_ability_an_agent_is_opened_as_it_is(spec: str, tool: bool, tmp_path: Path) -> None:
    processes = supervise(tmp_path)
    open_with = partial(open_agent, spec, processes=processes, base=tmp_path)

    agent = connect(spec, open_with=open_with, servers={}, tool=tool)

    assert not isinstance(agent, ConnectedAgent)


@pytest.mark.parametrize("question", ["", "  \n", "x" * LONGEST, "half \ud800"])
def test_what_nobody_could_answer_is_not_noted(question: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ask one question"):
        note_question(tmp_path / "notes", question)

    assert read_notes(tmp_path / "notes") == ""


def test_notes_that_are_no_file_of_questions_are_no_questions(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "junk").write_bytes(
        b'\xff\n[]\n{"blocked": 7}\n{"blocked": "One?"}\n{"blocked": "One?"}\n' + b"x" * MOST
    )

    assert read_notes(tmp_path / "pipe") == ""
    assert read_notes(tmp_path / "nothing") == ""
    assert read_notes(tmp_path / "junk") == "One?"
