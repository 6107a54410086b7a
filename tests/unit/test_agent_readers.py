"""How agent programs are started and what their words mean, without the programs: recorded events in, outcomes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from drumline.agents import claude, codex
from drumline.agents.program import Program, Setting
from drumline.agents.strictness import fits_strict_mode
from drumline.agents.verdicts import classify
from drumline.core.flow.model import Json
from drumline.core.ids import RunId, StepId
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.profiles import McpServer

ENDED = Ended(exit_code=0, seconds=1.0)


def assign(folder: Path, **fields: Any) -> Assignment:
    """An assignment that is never done."""
    given: dict[str, Any] = {
        "run": RunId("r1"),
        "step": StepId("s1"),
        "node": "implement",
        "attempt": 1,
        "prompt": "do it",
        "prompt_file": folder / "prompt.md",
        "workspace": folder,
        "log": folder / "log",
    }
    return Assignment(**{**given, **fields})


def play(
    program: Program, folder: Path, *events: Mapping[str, Json], ended: Ended = ENDED, **fields: Any
) -> tuple[Outcome, list[Happening]]:
    """What a program's reader makes of events."""
    reader = program.open_reader(assign(folder, **fields))
    told = [happening for event in events for happening in reader.read(event)]
    return reader.conclude(ended), told


def launch(program: Program, folder: Path, *, jailed: bool = True, model: str = "", **fields: Any) -> list[str]:
    """The command line of an assignment."""
    servers = fields.pop("servers", ())
    setting = Setting(executable=folder / "program", model=model, scratch=folder, jailed=jailed, servers=servers)
    return list(program.build(assign(folder, **fields), setting).argv)


def result(**fields: Json) -> Mapping[str, Json]:
    """The last line of Claude Code."""
    sound: dict[str, Json] = {
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "result": "Done.",
        "session_id": "s",
    }
    return {"type": "result", **sound, **fields}


@pytest.mark.parametrize(
    ("message", "status", "failure"),
    [
        ("Invalid API key · Please run /login", None, Failure.AUTH),
        ("unexpected status 401 Unauthorized: no", None, Failure.AUTH),
        ("nonsense", 403, Failure.AUTH),
        ("Your credit balance is too low to access the API", 400, Failure.BILLING),
        ("insufficient_quota: check your plan and billing details", 429, Failure.BILLING),
        ("You've hit your usage limit. Purchase more credits or try again at 3:00 PM.", None, Failure.QUOTA),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, Failure.QUOTA),
        ("API Error: 529 Overloaded", None, Failure.TRANSIENT),
        ("stream disconnected before completion", None, Failure.TRANSIENT),
        ("Connection to the API was lost (ECONNRESET)", None, Failure.TRANSIENT),
        ("We’re currently experiencing high demand", None, Failure.TRANSIENT),
        ('{"error": {"message": "no", "code": "400"}}', None, Failure.PERMANENT),
        ("prompt is too long", 413, Failure.PERMANENT),
        ("something else entirely", None, Failure.CRASH),
    ],
)
def test_an_error_has_the_class_of_its_status_or_its_words(message: str, status: int | None, failure: Failure) -> None:
    assert classify(message, status=status) is failure


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ({}, ""),
        ({"is_error": True, "terminal_reason": "api_error", "api_error_status": 401}, "auth"),
        ({"is_error": True, "terminal_reason": "api_error", "result": "Not logged in · Please run /login"}, "auth"),
        ({"is_error": True, "result": "API Error: 529 Overloaded"}, "transient"),
        ({"terminal_reason": "aborted_tools"}, "crash"),
        ({"subtype": "error_during_execution"}, "crash"),
        ({"is_error": True, "subtype": "error_max_budget_usd", "errors": ["Reached maximum budget"]}, "quota"),
        ({"is_error": True, "subtype": "error_max_structured_output_retries"}, "validation"),
    ],
)
def test_claude_is_believed_only_if_nothing_says_error(fields: dict[str, Json], failure: str, tmp_path: Path) -> None:
    outcome, _ = play(claude.PROGRAM, tmp_path, result(**fields))

    assert outcome.failure == failure


@pytest.mark.parametrize("program", [claude.PROGRAM, codex.PROGRAM], ids=lambda program: program.name)
@pytest.mark.parametrize("code", [0, 1, 139])
def test_a_program_that_ends_without_its_last_event_has_broken_down(
    program: Program, code: int, tmp_path: Path
) -> None:
    ended = Ended(exit_code=code, seconds=1.0, errors="panicked at 'x'")

    outcome, _ = play(program, tmp_path, {"type": "system", "subtype": "init"}, ended=ended)

    assert outcome.failure == "crash"
    assert "panicked" in outcome.message
    assert f"exit code {code}" in outcome.message


def test_claude_names_the_time_of_a_limit_that_it_ran_into(tmp_path: Path) -> None:
    resets = datetime.now(tz=UTC) + timedelta(hours=2)
    limit: Json = {"status": "rejected", "resetsAt": int(resets.timestamp()), "rateLimitType": "five_hour"}
    failed = result(is_error=True, terminal_reason="api_error", api_error_status=429, result="You've hit your limit")

    outcome, _ = play(claude.PROGRAM, tmp_path, {"type": "rate_limit_event", "rate_limit_info": limit}, failed)

    assert (outcome.failure, outcome.resets_at) == ("quota", int(resets.timestamp()))


def test_what_claude_was_denied_is_a_notice(tmp_path: Path) -> None:
    denied: Mapping[str, Json] = {
        "type": "system",
        "subtype": "permission_denied",
        "tool_name": "Write",
        "message": "not there",
    }

    outcome, told = play(claude.PROGRAM, tmp_path, denied, result())

    assert outcome.notices == ("it was not allowed to use Write: not there",)
    assert told[0] == Happening(kind="notice", text=outcome.notices[0])


def test_a_version_of_claude_that_counts_per_process_is_believed_in_a_resumed_session(tmp_path: Path) -> None:
    begun: dict[str, Json] = {"type": "system", "subtype": "init", "session_id": "s", "model": "sonnet"}
    usage: Json = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 3}
    own: Json = {"sonnet": {"inputTokens": 5, "cacheReadInputTokens": 7, "outputTokens": 3, "costUSD": 0.4}}
    whole: Json = {"sonnet": {"inputTokens": 15, "cacheReadInputTokens": 7, "outputTokens": 3, "costUSD": 0.8}}

    per_process = result(total_cost_usd=0.5, usage=usage, modelUsage=own)
    per_session = result(total_cost_usd=0.9, usage=usage, modelUsage=whole)
    first, _ = play(claude.PROGRAM, tmp_path, begun, per_process, session="s")
    second, _ = play(claude.PROGRAM, tmp_path, begun, per_session, session="s")

    assert first.usage == {"input": 12, "output": 3, "cached": 7, "cost_usd": 0.5}
    assert second.usage == {"input": 12, "output": 3, "cached": 7}


def test_the_cost_of_a_resumed_session_of_claude_is_unknown_if_only_its_total_is_told(tmp_path: Path) -> None:
    usage: Json = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 3}

    fresh, _ = play(claude.PROGRAM, tmp_path, result(total_cost_usd=0.5, usage=usage))
    resumed, _ = play(claude.PROGRAM, tmp_path, result(total_cost_usd=0.5, usage=usage), session="s")

    assert fresh.usage == {"input": 12, "output": 3, "cached": 7, "cost_usd": 0.5}
    assert resumed.usage == {"input": 12, "output": 3, "cached": 7}


def test_an_error_of_the_api_is_nothing_that_claude_said(tmp_path: Path) -> None:
    said: Json = {"content": [{"type": "text", "text": "API Error: 500"}]}

    _, told = play(claude.PROGRAM, tmp_path, {"type": "assistant", "message": said, "is_api_error_message": True})

    assert told == []


def test_claude_asks_without_a_jail_for_all_that_does_more_than_read(tmp_path: Path) -> None:
    jailed = launch(claude.PROGRAM, tmp_path)
    free = launch(claude.PROGRAM, tmp_path, jailed=False)
    reading = launch(claude.PROGRAM, tmp_path, jailed=False, read_only=True)

    assert "--dangerously-skip-permissions" in jailed
    assert "--dangerously-skip-permissions" not in [*free, *reading]
    for argv in (free, reading):
        assert argv[argv.index("--permission-mode") + 1] == "default"
        assert argv[argv.index("--permission-prompt-tool") + 1] == "stdio"
        assert "--allowedTools" not in argv
    assert "Write" in reading[reading.index("--disallowedTools") + 1]


@pytest.mark.parametrize("program", [claude.PROGRAM, codex.PROGRAM], ids=lambda program: program.name)
def test_neither_prompts_nor_secrets_are_on_a_command_line(program: Program, tmp_path: Path) -> None:
    server = McpServer(name="tracker", command=("serve", "--now"), env={"TOKEN": "hush"})

    argv = launch(program, tmp_path, prompt="PROMPT", instructions="INSTRUCTIONS", servers=(server,), session="s1")

    assert "s1" in argv
    for secret in ("PROMPT", "INSTRUCTIONS", "hush"):
        assert secret not in json.dumps(argv)


def test_codex_counts_only_what_came_after_a_resumed_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    total = {"input_tokens": 300, "cached_input_tokens": 100, "output_tokens": 60}
    record = tmp_path / "sessions/2026/11/16/rollout-2026-11-16T00-00-00-abc.jsonl"
    record.parent.mkdir(parents=True)
    counted = {"payload": {"type": "token_count", "info": {"total_token_usage": total}}}
    record.write_text(f'{json.dumps(counted)}\n{{"payload": {{"type": "token_count", "info": null}}}}\n')
    usage: Json = {"input_tokens": 400, "cached_input_tokens": 150, "output_tokens": 80}
    completed: Mapping[str, Json] = {"type": "turn.completed", "usage": usage}

    known, _ = play(codex.PROGRAM, tmp_path, completed, session="abc")
    unknown, _ = play(codex.PROGRAM, tmp_path, completed, session="other")

    assert (known.usage, known.source) == ({"input": 100, "cached": 50, "output": 20}, "codex")
    assert unknown.usage["input"] == 400
    assert "before" in unknown.source


def record_codex(home: Path, session: str, *payloads: Mapping[str, Json]) -> None:
    """What Codex writes down of a session."""
    record = home / f"sessions/2026/11/16/rollout-2026-11-16T00-00-00-{session}.jsonl"
    record.parent.mkdir(parents=True)
    kinds = {"model": "turn_context"}
    lines = [{"type": next((kinds[key] for key in kinds if key in p), "event_msg"), "payload": p} for p in payloads]
    record.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "no json\n")


def test_the_model_of_codex_is_that_of_its_last_turn_else_the_configured_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    begun: Mapping[str, Json] = {"type": "thread.started", "thread_id": "abc"}
    completed: Mapping[str, Json] = {"type": "turn.completed", "usage": {}}

    nothing, _ = play(codex.PROGRAM, tmp_path, begun, completed)
    (tmp_path / "config.toml").write_text('model = "configured"\n')
    configured, _ = play(codex.PROGRAM, tmp_path, begun, completed)
    record_codex(tmp_path, "abc", {"model": "first"}, {"model": "last"})
    recorded, _ = play(codex.PROGRAM, tmp_path, begun, completed)

    assert [outcome.model for outcome in (nothing, configured, recorded)] == ["", "configured", "last"]


def test_what_a_failed_turn_of_codex_used_is_counted_from_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    total: Json = {"input_tokens": 300, "cached_input_tokens": 100, "output_tokens": 60}
    record_codex(tmp_path, "abc", {"type": "token_count", "info": {"total_token_usage": total}})
    begun: Mapping[str, Json] = {"type": "thread.started", "thread_id": "abc"}
    failed: Mapping[str, Json] = {"type": "turn.failed", "error": {"message": "unexpected status 500"}}

    fresh, _ = play(codex.PROGRAM, tmp_path, begun, failed)
    resumed, _ = play(codex.PROGRAM, tmp_path, begun, failed, session="abc")

    assert fresh.usage == {"input": 300, "output": 60, "cached": 100}
    assert resumed.usage == {"input": 0, "output": 0, "cached": 0}


def test_a_failed_turn_of_codex_is_a_failure_whatever_it_said_before(tmp_path: Path) -> None:
    said: Mapping[str, Json] = {"type": "item.completed", "item": {"type": "agent_message", "text": "All done."}}
    failed: Mapping[str, Json] = {"type": "turn.failed", "error": {"message": "unexpected status 500"}}

    outcome, _ = play(codex.PROGRAM, tmp_path, said, failed)

    assert (outcome.failure, outcome.message) == ("transient", "unexpected status 500")


def test_an_error_that_codex_quotes_as_json_is_told_by_its_sentence(tmp_path: Path) -> None:
    quoted = json.dumps({"error": {"message": "context window exceeded", "type": "error_400", "code": "400"}})
    noticed: Mapping[str, Json] = {"type": "error", "message": quoted}
    failed: Mapping[str, Json] = {"type": "turn.failed", "error": {"message": quoted}}

    outcome, happened = play(codex.PROGRAM, tmp_path, noticed, failed)

    assert (outcome.failure, outcome.message) == ("permanent", "context window exceeded")
    assert [one.text for one in happened] == ["context window exceeded"]


def test_a_schema_goes_to_codex_only_if_its_api_takes_it(tmp_path: Path) -> None:
    loose: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "string"}}}
    strict: dict[str, Json] = {**loose, "required": ["a"], "additionalProperties": False}

    assert "--output-schema" in launch(codex.PROGRAM, tmp_path, output_schema=strict)
    assert "--output-schema" not in launch(codex.PROGRAM, tmp_path, output_schema=loose)
    assert not fits_strict_mode({**strict, "properties": {"a": loose}})
    assert not fits_strict_mode({**strict, "properties": {"a": {"type": "string", "pattern": "x"}}})


def test_codex_gets_the_keys_that_its_configuration_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    monkeypatch.setenv("OTHER_KEY", "k")
    (tmp_path / "config.toml").write_text('[model_providers.other]\nenv_key = "OTHER_KEY"\n')
    setting = Setting(executable=tmp_path / "codex", model="", scratch=tmp_path)

    env = codex.build_launch(assign(tmp_path), setting).env

    assert env == {"OTHER_KEY": "k"}


@pytest.mark.parametrize(
    "place",
    [
        "lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x/bin/codex",
        "lib/node_modules/@openai/codex-linux-x64/vendor/x/bin/codex",
        "lib/node_modules/@openai/codex/vendor/x/codex/codex",
    ],
)
def test_codex_itself_is_found_behind_its_wrapper(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = tmp_path / "lib/node_modules/@openai/codex/bin/codex.js"
    native = tmp_path / place
    for path, text in ((wrapper, "#!/usr/bin/env node\n"), (native, "\x7fELF")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(wrapper)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert codex.find_native() == native
