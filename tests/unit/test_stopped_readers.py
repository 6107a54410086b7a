"""What a program had used when it was stopped: each reader tells it without the last event, and nothing twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.test_agent_readers import assign, play, record_codex
from tests.unit.test_agent_readers_more import read_stream

from drumline.agents import claude, codex, copilot, gemini, goose, opencode, qwen
from drumline.agents.cli import STOPPED
from drumline.agents.program import Program
from drumline.agents.verdicts import classify, discard_overlong
from drumline.core.flow.model import Json
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Outcome

SESSION = "0b0e3a5c-1111-4222-8333-444455556666"


def say(number: int, *, sent: int, received: int = 1) -> Mapping[str, Json]:
    """A piece of a message of Claude Code."""
    usage: Json = {"input_tokens": sent, "cache_read_input_tokens": 5, "output_tokens": received}
    return {"type": "assistant", "message": {"id": f"m{number}", "usage": usage, "content": []}}


def answer(name: str, *, sent: int) -> Mapping[str, Json]:
    """What Gemini CLI writes down of an answer."""
    return {"id": name, "type": "gemini", "tokens": {"input": sent, "output": 20, "cached": 3, "thoughts": 4}}


def write_lines(path: Path, *lines: Mapping[str, Json]) -> None:
    """A record of a program, with a line that was cut off at its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines) + '{"usage": "tokens"')


def test_claude_is_counted_by_its_messages_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "none"))
    begun: Mapping[str, Json] = {"type": "system", "subtype": "init", "model": "m", "session_id": SESSION}

    outcome, _ = play(claude.PROGRAM, tmp_path, begun, say(1, sent=100), say(1, sent=100), say(2, sent=150))

    assert outcome.usage == {"input": 260, "output": 2, "cached": 10}
    assert (outcome.model, outcome.session, outcome.failure) == ("m", SESSION, "crash")


def test_the_record_of_claude_knows_how_long_its_messages_became(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    earlier, now = say(1, sent=1000, received=500), say(2, sent=100, received=20)
    write_lines(tmp_path / f"projects/here/{SESSION}.jsonl", earlier, now, now)
    begun: Mapping[str, Json] = {"type": "system", "subtype": "init", "model": "m", "session_id": SESSION}

    outcome, _ = play(claude.PROGRAM, tmp_path, begun, say(2, sent=100), session=SESSION)

    assert outcome.usage == {"input": 105, "output": 20, "cached": 5}


def test_codex_is_counted_by_the_record_of_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    total: Json = {"input_tokens": 300, "cached_input_tokens": 100, "output_tokens": 60}
    record_codex(tmp_path, "abc", {"type": "token_count", "info": {"total_token_usage": total}})

    outcome, _ = play(codex.PROGRAM, tmp_path, {"type": "thread.started", "thread_id": "abc"}, ended=STOPPED)

    assert outcome.usage == {"input": 300, "output": 60, "cached": 100}


def test_gemini_is_counted_by_the_new_messages_of_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    record = tmp_path / f".gemini/tmp/one/chats/session-2026-11-16T00-00-{SESSION[:8]}.jsonl"
    head: Mapping[str, Json] = {"sessionId": SESSION}
    old, new = answer("old", sent=1000), answer("new", sent=100)
    write_lines(record, head, old)
    reader = gemini.PROGRAM.open_reader(assign(tmp_path, session=SESSION))
    write_lines(record, head, old, new, {**new, "toolCalls": []})

    list(reader.read({"type": "init", "session_id": SESSION, "model": "flash"}))
    outcome = reader.conclude(STOPPED)

    assert outcome.usage == {"input": 100, "output": 24, "cached": 3}
    assert (outcome.model, outcome.session) == ("flash", SESSION)


def test_records_of_other_sessions_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    record = tmp_path / f".gemini/tmp/one/chats/session-2026-11-16T00-00-{SESSION[:8]}.jsonl"
    other = SESSION.replace("6666", "7777")
    write_lines(record, {"sessionId": other}, {"id": "x", "tokens": {"input": 1}})

    outcome, _ = play(gemini.PROGRAM, tmp_path, {"type": "init", "session_id": SESSION}, ended=STOPPED)

    assert outcome.usage == {}


@pytest.mark.parametrize("resumed", ["", "s"])
@pytest.mark.parametrize("program", [qwen.PROGRAM, opencode.PROGRAM], ids=lambda program: program.name)
def test_without_its_last_event_it_is_counted_by_its_messages(program: Program, resumed: str, tmp_path: Path) -> None:
    events = [event for event in read_stream(f"{program.name}.work") if event.get("type") != "result"]

    outcome, _ = play(program, tmp_path, *events, ended=STOPPED, session=resumed)

    assert outcome.usage == {"input": 300, "output": 60, "cached": 0}


def test_goose_is_counted_by_the_record_of_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOSE_PATH_ROOT", str(tmp_path))
    place = tmp_path / "data/sessions/sessions.db"
    place.parent.mkdir(parents=True)
    columns = ", ".join(f"accumulated_{name}_tokens" for name in ("input", "output", "cache_read"))
    with closing(sqlite3.connect(place)) as base, base:
        base.execute(f"CREATE TABLE sessions (name, updated_at, {columns})")
        base.execute("INSERT INTO sessions VALUES ('s', '2026-11-16', 100, 20, 0)")
    fresh = goose.PROGRAM.open_reader(assign(tmp_path, new_session="s"))
    resumed = goose.PROGRAM.open_reader(assign(tmp_path, session="s"))
    with closing(sqlite3.connect(place)) as base, base:
        base.execute("UPDATE sessions SET accumulated_input_tokens = 150")

    usages = [reader.conclude(STOPPED).usage for reader in (fresh, resumed)]

    assert usages == [{"input": 150, "output": 20, "cached": 0}, {"input": 50, "output": 0, "cached": 0}]


def test_copilot_is_counted_by_the_record_of_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path))
    usage: Json = {"inputTokens": 100, "outputTokens": 20, "cacheReadTokens": 5}
    record = tmp_path / "session-state/s/events.jsonl"
    write_lines(record, {"type": "session.usage_record", "data": {"usage": usage}})

    outcome, _ = play(copilot.PROGRAM, tmp_path, ended=STOPPED, new_session="s")

    assert outcome.usage == {"input": 100, "output": 20, "cached": 5}


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Prompt is too long", None),
        ("API Error: 400 prompt is too long: 210000 tokens > 200000 maximum", 400),
        ("context_length_exceeded: Your input exceeds the context window of this model.", None),
        ("This model's maximum context length is 128000 tokens", 400),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 400),
        ("ContextOverflowError: Context limit reached", None),
    ],
)
def test_a_session_that_is_too_long_is_discarded_as_after_a_crash(message: str, status: int | None) -> None:
    found = Outcome(failure=classify(message, status=status).value, message=message, session="s")

    resumed, fresh = (discard_overlong(found, session=session) for session in ("s", ""))

    assert (resumed.failure, resumed.session) == ("crash", "")
    assert message in resumed.message
    assert fresh == found
    assert fresh.failure == "permanent"


@pytest.mark.parametrize(
    ("message", "status", "failure"),
    [
        ("Request too large on tokens per minute: context window", 429, Failure.QUOTA),
        ("the context window service is unavailable", 503, Failure.TRANSIENT),
        ("You've hit your usage limit", None, Failure.QUOTA),
    ],
)
def test_what_only_sounds_like_it_keeps_its_class(message: str, status: int | None, failure: Failure) -> None:
    assert classify(message, status=status) is failure
