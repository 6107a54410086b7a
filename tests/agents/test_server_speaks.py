"""Real agent programs understand the scripted model server: each does in its own way what one scenario means."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.programs import LAUNCHES, SECRET, open_fixture, run_program
from tests.modelserver import Answer, Cut, ModelServer, Read, Refuse, Run, Scenario, Turn, Write

WORK = Scenario(
    name="work",
    turns=(
        Turn(text="I begin.", calls=(Write(path="hello.txt", content="hello\n"),)),
        Turn(calls=(Run(command="cat hello.txt > copy.txt"),)),
        Turn(text="All done."),
    ),
)
# What they have to say to the server is said by others in the same dialect; what they do is in the conformance suite.
REPEATS = ("opencode", "qwen")
ONCE = [pytest.param(name, marks=pytest.mark.long) if name in REPEATS else name for name in LAUNCHES]
SCHEMA = '{"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}'


@pytest.mark.parametrize("name", ONCE)
def test_a_program_writes_a_file_runs_a_command_and_says_what_it_took(name: str, tmp_path: Path) -> None:
    with ModelServer([WORK]) as server:
        agent_home = open_fixture(tmp_path, server.url)
        ended = run_program(name, agent_home, "Please do the work.")

    assert (ended.code, ended.failed, ended.text) == (0, False, "All done."), ended.err
    assert (agent_home.work / "hello.txt").read_text() == "hello\n"
    assert (agent_home.work / "copy.txt").read_text() == "hello\n"
    assert [request.turn for request in server.turns] == [0, 1, 2]
    assert (ended.sent, ended.received) == (300, 60)
    assert SECRET not in repr(server.requests)


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_program_overwrites_a_file_that_it_has_read(name: str, tmp_path: Path) -> None:
    turns = (Turn(calls=(Read(path="a.txt"),)), Turn(calls=(Write(path="a.txt", content="new\n"),)), Turn(text="ok"))
    with ModelServer([Scenario(turns=turns)]) as server:
        agent_home = open_fixture(tmp_path, server.url)
        (agent_home.work / "a.txt").write_text("old\n")

        ended = run_program(name, agent_home, "Please renew the file.")

    assert ended.code == 0, ended.err
    assert (agent_home.work / "a.txt").read_text() == "new\n"


@pytest.mark.parametrize("name", ONCE)
def test_a_program_that_is_not_let_in_fails(name: str, tmp_path: Path) -> None:
    with ModelServer([Scenario(turns=(Turn(fault=Refuse(status=401)),))]) as server:
        ended = run_program(name, open_fixture(tmp_path, server.url), "Please do the work.")

    assert ended.code != 0
    assert ended.failed
    assert "401" in repr(ended.events)


@pytest.mark.parametrize("name", ONCE)
def test_a_program_asks_again_when_it_was_told_to_wait(name: str, tmp_path: Path) -> None:
    busy = Refuse(status=429, retry_after=1, times=1)
    with ModelServer([Scenario(turns=(Turn(text="At last.", fault=busy),))]) as server:
        ended = run_program(name, open_fixture(tmp_path, server.url), "Please do the work.")

    assert (ended.failed, ended.text) == (False, "At last.")
    assert [request.played for request in server.turns] == ["refuse", "turn"]


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_program_asks_again_after_a_cut_answer(name: str, tmp_path: Path) -> None:
    with ModelServer([Scenario(turns=(Turn(text="At last.", fault=Cut(times=1)),))]) as server:
        ended = run_program(name, open_fixture(tmp_path, server.url), "Please do the work.")

    assert (ended.failed, ended.text) == (False, "At last.")
    assert [request.played for request in server.turns] == ["cut", "turn"]


# OpenCode continues with a session in the conformance suite.
RESUMES = {"claude": ("--resume",), "codex": ("resume",), "gemini": ("--resume",)}


@pytest.mark.parametrize("name", RESUMES)
def test_a_resumed_session_plays_the_scenario_of_its_newest_prompt(name: str, tmp_path: Path) -> None:
    second = Scenario(name="second", when="SECOND", turns=(Turn(text="And more."),))
    with ModelServer([second, WORK]) as server:
        agent_home = open_fixture(tmp_path, server.url)
        first = run_program(name, agent_home, "Please do the work.")

        ended = run_program(name, agent_home, "Do the SECOND thing.", words=(*RESUMES[name], first.session))

    assert (ended.failed, ended.text, ended.session) == (False, "And more.", first.session), ended.err
    assert [(request.scenario, request.turn) for request in server.turns][3:] == [("second", 0)]
    assert "Please do the work." in repr(server.turns[-1].body)


@pytest.mark.parametrize("name", ["claude", "qwen"])
def test_a_structured_answer_goes_through_the_tool_of_the_program(name: str, tmp_path: Path) -> None:
    turns = (Turn(answer=Answer(value={"nothing": 1})), Turn(answer=Answer(value={"verdict": "ok"})), Turn(text="Bye."))
    with ModelServer([Scenario(turns=turns)]) as server:
        ended = run_program(name, open_fixture(tmp_path, server.url), "Judge.", words=("--json-schema", SCHEMA))

    key = {"claude": "structured_output", "qwen": "structured_result"}[name]
    assert ended.events[-1][key] == {"verdict": "ok"}
    assert [request.turn for request in server.turns][:2] == [0, 1]
