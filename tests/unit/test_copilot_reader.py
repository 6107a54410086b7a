"""Copilot CLI without the program: what it was recorded to print against the scripted server, and what it means."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_agent_readers import assign, play
from tests.unit.test_agent_readers_more import SERVER, read_stream

from drumline.agents import copilot
from drumline.agents.program import Setting
from drumline.core.flow.model import Json
from drumline.ports.agents import Happening, Outcome
from drumline.ports.processes import Ended


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for its records."""
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    return tmp_path / "copilot"


def record(home: Path, *tokens: int) -> None:
    """What it writes down of the session `s`: one line for each answer of its model."""
    place = home / "session-state/s/events.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    lines: list[Json] = [{"type": "session.start", "data": {}}]
    for count in tokens:
        usage: Json = {"inputTokens": count, "outputTokens": 1, "cacheReadTokens": 2, "cacheWriteTokens": 0}
        lines.append({"type": "session.usage_record", "data": {"usage": usage}})
    place.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))


def replay(folder: Path, name: str, **fields: Any) -> tuple[Outcome, list[Happening]]:
    """What the reader makes of a recorded stream."""
    return play(copilot.PROGRAM, folder, *read_stream(f"copilot.{name}"), **{"new_session": "s", **fields})


def start(folder: Path, *, jailed: bool = True, **fields: Any) -> list[str]:
    """The command line of an assignment."""
    servers = fields.pop("servers", ())
    setting = Setting(executable=folder / "copilot", model="m", scratch=folder, jailed=jailed, servers=servers)
    return list(copilot.build_launch(assign(folder, **fields), setting).argv)


def test_work_that_was_done_is_told_and_counted(home: Path, tmp_path: Path) -> None:
    record(home, 100, 200)

    outcome, told = replay(tmp_path, "work")

    assert (outcome.failure, outcome.message, outcome.source) == ("", "All done.", "copilot")
    assert (outcome.model, outcome.session) == ("scripted", "s")
    assert outcome.usage == {"input": 300, "output": 2, "cached": 4}
    assert [h.text for h in told if h.kind == "text"] == ["I begin.", "All done."]
    assert [h.text for h in told if h.kind == "edit"] == ["/repo/hello.txt"]
    assert [h.text for h in told if h.kind == "command"] == ["cat hello.txt > copy.txt"]


def test_a_resumed_session_counts_only_what_is_new(home: Path, tmp_path: Path) -> None:
    record(home, 100)
    reader = copilot.PROGRAM.open_reader(assign(tmp_path, session="s"))
    record(home, 100, 50)

    outcome = reader.conclude(Ended(exit_code=0, seconds=1.0))

    assert outcome.usage == {"input": 50, "output": 1, "cached": 2}


def test_without_a_record_nothing_is_counted(tmp_path: Path) -> None:
    fresh, _ = replay(tmp_path, "work")
    resumed, _ = replay(tmp_path, "work", session="s")

    assert fresh.usage == resumed.usage == {}
    assert "before" in resumed.source


@pytest.mark.parametrize(("name", "failure"), [("401", "auth"), ("429", "quota")])
def test_an_error_has_its_class(name: str, failure: str, tmp_path: Path) -> None:
    outcome, _ = replay(tmp_path, name, ended=Ended(exit_code=1, seconds=1.0))

    assert outcome.failure == failure


def test_it_says_when_its_quota_is_there_again(tmp_path: Path) -> None:
    outcome, _ = replay(tmp_path, "429")

    assert outcome.resets_at == pytest.approx(time.time() + 58 * 3600, abs=60)


def test_without_a_result_or_with_one_that_is_none_it_has_broken_down(tmp_path: Path) -> None:
    [*begun, last] = read_stream("copilot.work")
    ended = Ended(exit_code=1, seconds=1.0, errors="Error: No authentication information found.")

    cut, _ = play(copilot.PROGRAM, tmp_path, *begun)
    failed, _ = play(copilot.PROGRAM, tmp_path, *begun, {**last, "exitCode": 1})
    outsider, _ = play(copilot.PROGRAM, tmp_path, ended=ended)

    assert [outcome.failure for outcome in (cut, failed, outsider)] == ["crash", "crash", "auth"]


def test_an_empty_answer_of_the_model_is_no_breakdown_but_nothing_done(tmp_path: Path) -> None:
    told = "No response was returned. Send your message again to retry."
    error: Json = {"errorType": "query", "message": told}

    outcome, _ = play(copilot.PROGRAM, tmp_path, {"type": "session.error", "data": error})

    assert (outcome.failure, outcome.message) == ("", "")


def test_what_it_was_denied_is_a_notice(tmp_path: Path) -> None:
    outcome, told = replay(tmp_path, "denied")

    assert "denied due to the following rules" in outcome.notices[0]
    assert not [h for h in told if h.kind == "edit"]


def test_who_may_only_read_writes_nothing_and_without_a_jail_runs_nothing(tmp_path: Path) -> None:
    jailed, free = (start(tmp_path, read_only=True, jailed=jail, writable=(tmp_path,)) for jail in (True, False))

    assert "--deny-tool=write" in jailed
    assert "--deny-tool=shell" not in jailed
    assert {"--deny-tool=write", "--deny-tool=shell", "--disallow-temp-dir"} <= set(free)
    assert "--allow-all-paths" not in free
    assert "--add-dir" not in [*jailed, *free]


def test_neither_prompts_nor_secrets_are_on_its_command_line(tmp_path: Path) -> None:
    argv = start(tmp_path, prompt="PROMPT", instructions="INSTRUCTIONS", servers=(SERVER,), session="s1")

    assert "--resume=s1" in argv
    for secret in ("PROMPT", "INSTRUCTIONS", "hush"):
        assert secret not in json.dumps(argv)
