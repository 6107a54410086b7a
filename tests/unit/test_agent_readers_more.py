"""Gemini CLI, OpenCode, Qwen Code and goose without the programs: what they were recorded to print, and what it means.

The streams are of real runs against the scripted model server, without times and ids that nobody reads.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_agent_readers import assign, play

from drumline.agents import gemini, goose, opencode, qwen
from drumline.agents.program import Launch, Program, Setting
from drumline.core.flow.model import Json
from drumline.errors import InvalidInput
from drumline.ports.agents import Happening, Outcome
from drumline.ports.processes import Ended
from drumline.profiles import McpServer

STREAMS = Path(__file__).with_name("streams")
PROGRAMS = {program.name: program for program in (gemini.PROGRAM, opencode.PROGRAM, qwen.PROGRAM, goose.PROGRAM)}
SERVER = McpServer(name="tracker", command=("serve", "it all"), env={"TOKEN": "hush"})


def read_stream(name: str) -> Iterator[Mapping[str, Json]]:
    """The recorded events of a program in a scenario, such as `goose.work`."""
    for line in (STREAMS / f"{name}.jsonl").read_text().splitlines():
        yield json.loads(line)


def replay(
    folder: Path, name: str, *, code: int = 0, errors: str = "", **fields: Any
) -> tuple[Outcome, list[Happening]]:
    """What the reader makes of a recorded stream; the session was called `s`."""
    ended = Ended(exit_code=code, seconds=1.0, errors=errors)
    program = PROGRAMS[name.partition(".")[0]]
    return play(program, folder, *read_stream(name), ended=ended, **{"new_session": "s", **fields})


def start(
    name: str, folder: Path, *, jailed: bool = True, servers: tuple[McpServer, ...] = (), **fields: Any
) -> Launch:
    """How the program is started for an assignment."""
    setting = Setting(executable=folder / "program", model="m", scratch=folder, jailed=jailed, servers=servers)
    return PROGRAMS[name].build(assign(folder, **{"new_session": "s", **fields}), setting)


@pytest.mark.parametrize("name", PROGRAMS)
def test_work_that_was_done_is_told_and_counted(name: str, tmp_path: Path) -> None:
    outcome, told = replay(tmp_path, f"{name}.work")

    assert (outcome.failure, outcome.message, outcome.source) == ("", "All done.", name)
    assert outcome.usage == {"input": 300, "output": 60, "cached": 0}
    assert [h.text for h in told if h.kind == "text"] == ["I begin.", "All done."]
    assert [h.text.removeprefix("/repo/") for h in told if h.kind == "edit"] == ["hello.txt"]
    assert [h.text for h in told if h.kind == "command"] == ["cat hello.txt > copy.txt"]
    assert [h.text for h in told if h.kind == "session"] == [outcome.session] != [""]
    assert [h.usage for h in told if h.kind == "usage"][-1] == outcome.usage


@pytest.mark.parametrize(
    ("stream", "code", "failure"),
    [
        ("gemini.401", 145, "auth"),
        ("gemini.402", 146, "billing"),
        ("gemini.cut", 1, "transient"),
        ("gemini.late401", 145, "auth"),
        ("qwen.401", 1, "auth"),
        ("qwen.402", 1, "billing"),
        ("qwen.cut", 1, "transient"),
        ("qwen.late401", 1, "auth"),
        ("opencode.401", 1, "auth"),
        ("opencode.402", 1, "billing"),
        ("opencode.429", 1, "quota"),
        ("opencode.late401", 1, "auth"),
        ("goose.400", 0, "permanent"),
        ("goose.401", 1, "auth"),
        ("goose.402", 0, "billing"),
        ("goose.429", 0, "quota"),
        ("goose.500", 0, "transient"),
        ("goose.cut", 0, "transient"),
        ("goose.late401", 1, "auth"),
    ],
)
def test_an_error_of_the_api_is_recognised_whatever_the_exit_code(
    stream: str, code: int, failure: str, tmp_path: Path
) -> None:
    for exit_code in (code, 0):
        outcome, _ = replay(tmp_path, stream, code=exit_code)

        assert outcome.failure == failure, outcome.message
        assert outcome.message


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stream_that_breaks_off_is_a_breakdown_even_with_exit_code_0(name: str, tmp_path: Path) -> None:
    events = list(read_stream(f"{name}.work"))[:-1]

    outcome, _ = play(PROGRAMS[name], tmp_path, *events, new_session="s")

    assert outcome.failure == "crash"
    assert "without" in outcome.message


@pytest.mark.parametrize("stream", ["gemini.hang-term", "qwen.hang-term"])
def test_a_program_that_a_signal_ended_has_no_result(stream: str, tmp_path: Path) -> None:
    outcome, _ = replay(tmp_path, stream)

    assert (outcome.failure, outcome.message) == ("crash", "ended with exit code 0 and without a result")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_that_said_nothing_leaves_nothing_to_tell(name: str, tmp_path: Path) -> None:
    outcome, told = replay(tmp_path, f"{name}.empty")

    assert (outcome.failure, outcome.message) == ("", "")
    assert not [h for h in told if h.kind in ("edit", "command", "tool")]


def test_goose_makes_excuses_also_when_tokens_were_used(tmp_path: Path) -> None:
    done = list(read_stream("goose.work"))[:-2]
    excuse = next(read_stream("goose.500"))
    end: Mapping[str, Json] = {"type": "complete", "total_tokens": 240, "input_tokens": 200, "output_tokens": 40}

    outcome, _ = play(goose.PROGRAM, tmp_path, *done, excuse, end, new_session="s")

    assert outcome.failure == "transient"
    assert outcome.usage == {"input": 200, "output": 40, "cached": 0}


def test_goose_is_believed_by_a_provider_that_counts_no_tokens(tmp_path: Path) -> None:
    done = list(read_stream("goose.work"))[:-1]

    outcome, _ = play(goose.PROGRAM, tmp_path, *done, {"type": "complete", "total_tokens": 0}, new_session="s")

    assert (outcome.failure, outcome.message) == ("", "All done.")


def test_goose_counts_what_a_session_used_before_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "data" / "sessions" / "sessions.db"
    record.parent.mkdir(parents=True)
    with closing(sqlite3.connect(record)) as base, base:
        columns = ", ".join(f"accumulated_{name}_tokens" for name in ("input", "output", "cache_read"))
        base.execute(f"CREATE TABLE sessions (name, updated_at, {columns})")
        base.execute("INSERT INTO sessions VALUES ('s', '2026-11-16', 100, 20, 0)")
    monkeypatch.setenv("GOOSE_PATH_ROOT", str(tmp_path))

    known, _ = replay(tmp_path, "goose.work", session="s")
    unknown, _ = replay(tmp_path, "goose.work", session="other")

    assert (known.usage["input"], known.usage["output"], known.source) == (200, 40, "goose")
    assert unknown.usage["input"] == 300
    assert unknown.source != "goose"


def test_qwen_counts_a_resumed_session_by_its_messages(tmp_path: Path) -> None:
    [*events, result] = read_stream("qwen.work")
    total: Mapping[str, Json] = {**result, "usage": {"input_tokens": 900, "output_tokens": 180}}

    outcome, _ = play(qwen.PROGRAM, tmp_path, *events, total, session="s")

    assert outcome.usage == {"input": 300, "output": 60, "cached": 0}


def test_opencode_that_was_cut_off_or_stopped_between_steps_is_not_done(tmp_path: Path) -> None:
    [*steps, last] = read_stream("opencode.work")
    part: Any = last["part"]

    long, _ = play(opencode.PROGRAM, tmp_path, *steps, {**last, "part": {**part, "reason": "length"}})
    between, _ = play(opencode.PROGRAM, tmp_path, *steps, {**last, "part": {**part, "reason": "tool-calls"}})

    assert (long.failure, between.failure) == ("validation", "crash")


def test_opencode_adds_up_its_steps_and_prices_only_what_has_a_price(tmp_path: Path) -> None:
    tokens: Json = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 30, "write": 4}}
    finish: Mapping[str, Json] = {"type": "step_finish", "part": {"reason": "stop", "tokens": tokens, "cost": 0.25}}

    outcome, _ = play(opencode.PROGRAM, tmp_path, finish, finish)

    assert outcome.usage == {"input": 88, "output": 14, "cached": 60, "cost_usd": 0.5}


def test_opencode_says_when_a_quota_is_there_again(tmp_path: Path) -> None:
    outcome, _ = replay(tmp_path, "opencode.429")

    assert outcome.resets_at is not None


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        (
            "gemini",
            {
                "type": "tool_result",
                "tool_id": "t",
                "status": "error",
                "error": {"type": "policy_violation", "message": "Tool execution denied by policy."},
            },
        ),
        (
            "opencode",
            {
                "type": "tool_use",
                "part": {
                    "tool": "write",
                    "state": {
                        "status": "error",
                        "error": "The user rejected permission to use this specific tool call.",
                    },
                },
            },
        ),
    ],
)
def test_a_tool_that_was_refused_is_told(name: str, refused: Mapping[str, Json], tmp_path: Path) -> None:
    outcome, _ = play(PROGRAMS[name], tmp_path, refused, *read_stream(f"{name}.work"))

    assert outcome.failure == ""
    assert any("not allowed to use" in notice for notice in outcome.notices)


def test_qwen_answers_with_a_value_and_says_what_it_may_not(tmp_path: Path) -> None:
    result: Mapping[str, Json] = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "structured_result": {"verdict": "ok"},
        "permission_denials": [{"tool_name": "write_file"}],
    }

    outcome, _ = play(qwen.PROGRAM, tmp_path, result)
    long, _ = play(qwen.PROGRAM, tmp_path, {"type": "result", "subtype": "error_max_turns", "is_error": True})

    assert (outcome.failure, outcome.structured) == ("", {"verdict": "ok"})
    assert outcome.notices == ("it was not allowed to use write_file",)
    assert long.failure == "turns"


@pytest.mark.parametrize("name", ["gemini", "opencode", "goose"])
def test_an_answer_in_words_is_read_as_a_value_where_one_is_wanted(name: str, tmp_path: Path) -> None:
    said = json.dumps(list(read_stream(f"{name}.work"))).replace("All done.", '{\\"verdict\\": \\"ok\\"}')

    wanted, _ = play(PROGRAMS[name], tmp_path, *json.loads(said), output_schema={"type": "object"}, new_session="s")
    not_wanted, _ = play(PROGRAMS[name], tmp_path, *json.loads(said), new_session="s")

    assert wanted.structured == {"verdict": "ok"}
    assert not_wanted.structured is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_prompts_instructions_and_secrets_are_on_no_command_line(name: str, tmp_path: Path) -> None:
    servers = (SERVER,) if PROGRAMS[name].abilities.takes_servers else ()

    launch = start(name, tmp_path, prompt="PROMPT-1", instructions="INSTRUCTIONS-1", servers=servers)

    line = " ".join(launch.argv)
    handed = launch.stdin + "".join(path.read_text() for path in tmp_path.iterdir())
    assert "PROMPT-1" in launch.stdin
    assert "INSTRUCTIONS-1" in handed
    assert not [word for word in ("PROMPT-1", "INSTRUCTIONS-1", "hush") if word in line]
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
    assert not servers or "hush" in handed + repr(launch.env)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gemini", ["--resume", "old"]),
        ("opencode", ["--session", "old"]),
        ("qwen", ["--resume", "old"]),
        ("goose", ["--name", "old", "--resume"]),
    ],
)
def test_a_session_is_gone_on_with(name: str, words: list[str], tmp_path: Path) -> None:
    argv = list(start(name, tmp_path, session="old").argv)

    place = argv.index(words[0])
    assert argv[place : place + len(words)] == words
    assert "--session-id" not in argv


def test_who_may_only_read_without_a_jail_has_no_tool_that_writes(tmp_path: Path) -> None:
    start("gemini", tmp_path, jailed=False, read_only=True)
    rules = (tmp_path / "policy.toml").read_text()
    tools = start("qwen", tmp_path, jailed=False, read_only=True).argv
    config = json.loads(start("opencode", tmp_path, jailed=False, read_only=True).env["OPENCODE_CONFIG_CONTENT"])

    assert all(tool in rules for tool in ('"write_file"', '"replace"', '"run_shell_command"', 'decision = "deny"'))
    assert tools[tools.index("--core-tools") + 1] == "read_file,list_directory,glob,grep_search,web_fetch"
    assert (config["permission"]["edit"], config["permission"]["bash"]) == ("deny", "deny")
    with pytest.raises(InvalidInput, match="bubblewrap"):
        start("goose", tmp_path, jailed=False, read_only=True)


def test_in_a_jail_who_may_only_read_may_still_run_commands(tmp_path: Path) -> None:
    start("gemini", tmp_path, read_only=True)
    tools = start("qwen", tmp_path, read_only=True).argv
    config = json.loads(start("opencode", tmp_path, read_only=True).env["OPENCODE_CONFIG_CONTENT"])

    assert "run_shell_command" not in (tmp_path / "policy.toml").read_text()
    assert "run_shell_command" in tools[tools.index("--core-tools") + 1]
    assert config["permission"] == {"edit": "deny"}


def test_tools_that_are_named_are_all_there_are(tmp_path: Path) -> None:
    start("gemini", tmp_path, tools=("read_file",))
    rules = (tmp_path / "policy.toml").read_text()
    tools = start("qwen", tmp_path, tools=("read_file",)).argv
    config = json.loads(start("opencode", tmp_path, tools=("read",)).env["OPENCODE_CONFIG_CONTENT"])

    assert rules.index('toolName = "*"') < rules.index('toolName = "read_file"')
    assert tools[tools.index("--core-tools") + 1] == "read_file"
    assert config["permission"] == {"*": "deny", "read": "allow"}


def test_servers_are_described_in_each_programs_own_words(tmp_path: Path) -> None:
    remote = McpServer(name="far", url="http://127.0.0.1:9/mcp")

    config = json.loads(start("opencode", tmp_path, servers=(SERVER, remote)).env["OPENCODE_CONFIG_CONTENT"])
    start("qwen", tmp_path, servers=(SERVER, remote))
    described = json.loads((tmp_path / "servers.json").read_text())["mcpServers"]
    argv = start("goose", tmp_path, servers=(SERVER, remote)).argv

    assert config["mcp"]["tracker"]["command"] == ["serve", "it all"]
    assert config["mcp"]["far"]["url"] == described["far"]["httpUrl"] == remote.url
    assert described["tracker"] == {"command": "serve", "args": ["it all"], "env": {"TOKEN": "hush"}}
    assert "tracker:serve 'it all'" in argv


def test_what_a_program_cannot_be_held_to_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="gemini mcp add"):
        start("gemini", tmp_path, servers=(SERVER,))
    with pytest.raises(InvalidInput, match="some of its tools"):
        start("goose", tmp_path, tools=("shell",))
    with pytest.raises(InvalidInput, match="several have TOKEN"):
        start("goose", tmp_path, servers=(SERVER, SERVER))


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_no_program_sees_all_of_our_environment(program: Program) -> None:
    assert "*" not in program.keep
    assert not [name for name in program.keep if name.startswith(("*", "AWS_SECRET", "GITHUB", "SSH"))]
