"""Claude Code on its command line, one program per assignment.

The rule: its result is believed only if it says that no error ended it. An error of the API is a "success" to it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath

from drumline.agents.claude_permissions import PermissionAnswers, write_opening
from drumline.agents.handover import describe_servers, name_session, write_private
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.reading import read_list, read_map, read_number, read_text, read_value
from drumline.agents.resultstream import Ends, Messages, describe_use, explain_limit, finish, read_blocks, read_results
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.core.flow.model import Json
from drumline.core.spending import add_up
from drumline.core.taxonomy import Failure
from drumline.isolation.homes import Home
from drumline.isolation.privatehome import find_files
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.record import replace

WRITERS = "Edit,Write,NotebookEdit"
ASKING = ("--input-format", "stream-json", "--permission-prompt-tool", "stdio")
"""By these it asks on stdout for leave to use a tool, and waits for the answer on stdin."""
RETRIES = "3"
"""It would ask ten times by itself, for minutes; waiting is up to the engine, which tells people."""
LEAST_BUDGET = 0.000001
"""Dollars: it refuses to work for nothing, and less would be rounded to that."""
INPUTS = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
ENDS: Ends = {
    "error_max_budget_usd": (Failure.QUOTA, "the budget of this assignment is used up"),
    "error_max_turns": (Failure.TURNS, "it took more turns than it may"),
    "error_max_structured_output_retries": (Failure.VALIDATION, "no answer of it fitted the schema"),
}


HOME = Home(
    places=("$CLAUDE_CONFIG_DIR/", "~/.claude/"),
    inside="claude",
    variable="CLAUDE_CONFIG_DIR",
    tokens=(".credentials.json",),
    sessions=("projects",),
    returned=("projects/{slug}/*.jsonl",),
    omitted=(
        *("backups", "cache", "debug", "downloads", "file-history", "history.jsonl", "ide", "image-cache", "jobs"),
        *("paste-cache", "session-env", "sessions", "shell-snapshots", "statsig", "stats-cache.json", "tasks"),
        *("teams", "telemetry", "todos", "transcripts", "usage-data"),
    ),
    beside=((".claude.json", "~/.claude.json"),),
)


def build_launch(assignment: Assignment, setting: Setting) -> Launch:
    """The command for an assignment. The prompt goes in on stdin; instructions and servers are files."""
    argv = [str(setting.executable), "-p", "--output-format", "stream-json", "--verbose"]
    argv += ["--model", setting.model] if setting.model else []
    argv += ["--resume", assignment.session] if assignment.session else ["--session-id", name_session(assignment)]
    if assignment.instructions:
        instructions = write_private(setting.scratch / "instructions.md", assignment.instructions)
        argv += ["--append-system-prompt-file", instructions]
    if assignment.output_schema is not None:
        argv += ["--json-schema", json.dumps(assignment.output_schema)]
    if setting.servers:
        argv += ["--strict-mcp-config", "--mcp-config", _write_servers(setting)]
    if assignment.budget is not None:
        argv += ["--max-budget-usd", f"{max(assignment.budget, LEAST_BUDGET):f}"]
    argv += ["--max-turns", str(assignment.turns)] if assignment.turns is not None else []
    argv += _permit(assignment, setting)
    env = _set_up(setting)
    if setting.jailed:
        return Launch(argv=(*argv, "--input-format", "text"), stdin=assignment.prompt, env=env)
    talk = PermissionAnswers(assignment, setting)
    return Launch(argv=(*argv, *ASKING), stdin=write_opening(assignment.prompt), env=env, talk=talk)


def _permit(assignment: Assignment, setting: Setting) -> Iterator[str]:
    """What it may do unasked. In a jail that is everything, as the kernel holds it; else what only reads."""
    if assignment.tools is not None:
        yield from ("--tools", ",".join(assignment.tools))
    if assignment.read_only:
        yield from ("--disallowedTools", WRITERS)
    if setting.jailed:
        yield "--dangerously-skip-permissions"
        return
    # Of commands it knows itself which only read. Said in any case: the user's own settings may have another mode.
    yield from ("--permission-mode", "default")
    if setting.servers:
        yield from ("--allowedTools", ",".join(f"mcp__{server.name}" for server in setting.servers))
    for folder in () if assignment.read_only else assignment.writable:
        yield from ("--add-dir", str(folder))


def _set_up(setting: Setting) -> dict[str, str]:
    env = {"DISABLE_AUTOUPDATER": "1"}
    if "CLAUDE_CODE_MAX_RETRIES" not in os.environ:
        env["CLAUDE_CODE_MAX_RETRIES"] = RETRIES
    if setting.servers:
        env["ENABLE_TOOL_SEARCH"] = "false"  # otherwise the tools of servers are hidden until it looks for them
    if setting.jailed:
        env["IS_SANDBOX"] = "1"  # without it, root may not skip its questions
    return env


def _write_servers(setting: Setting) -> str:
    described = describe_servers(setting.servers, address="url")
    # An address without a kind would be taken for a program.
    kinds = {server.name: {"type": "http" if server.url else "stdio"} for server in setting.servers}
    servers = {name: {**kinds[name], **read_map(table)} for name, table in described.items()}
    return write_private(setting.scratch / "servers.json", json.dumps({"mcpServers": servers}))


class ClaudeReader:
    """Understands the stream of one run."""

    def __init__(self, assignment: Assignment) -> None:
        self._resumed = bool(assignment.session)
        self._log = assignment.log
        self._result: Mapping[str, Json] | None = None
        self._model = ""
        self._session = ""
        self._messages = Messages()
        self._notices: list[str] = []
        self._wait: float | None = None
        self._resets_at: float | None = None

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event means; those of its own helpers count, but for what they say."""
        match event.get("type"):
            case "system":
                yield from self._read_system(event)
            case "assistant":
                self._messages.add(event)
                yield from _read_blocks(event)
            case "user":
                result = read_map(event.get("tool_use_result"))
                answers = list(read_results(event))
                if "structuredPatch" in result:
                    call, path = answers[0].call if answers else "", read_text(result.get("filePath"))
                    yield Happening(kind="edit", text=path, call=call, detail=_read_patch(result))
                yield from answers
            case "rate_limit_event":
                self._read_limit(read_map(event.get("rate_limit_info")))
            case "result":
                self._result = event
                yield Happening(kind="usage", usage=self._count(event))

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome by the result; without one it has broken down."""
        result = self._result
        if result is None:
            outcome = replace(explain_end(ended, "a result"), notices=tuple(self._notices))
            return replace(outcome, usage=self._count_messages(), model=self._model, session=self._session)
        outcome = self._judge(result)
        told = replace(outcome, usage=self._count(result), notices=(*self._notices, *outcome.notices))
        return finish(told, result, source="claude", model=self._model)

    def _judge(self, result: Mapping[str, Json]) -> Outcome:
        text = read_text(result.get("result"))
        reason = result.get("terminal_reason", "completed")
        if not result.get("is_error") and reason == "completed" and result.get("subtype") == "success":
            return Outcome(message=text, structured=result.get("structured_output"))
        told = "; ".join(read_text(error) for error in read_list(result.get("errors"))) or text
        if known := explain_limit(ENDS, read_text(result.get("subtype")), told):
            return known
        status = int(read_number(result.get("api_error_status"))) or None
        outcome = explain_failure(told or f"it ended as {reason!r}", status=status, wait=self._wait)
        if outcome.failure == Failure.QUOTA.value and self._resets_at is not None:
            return replace(outcome, resets_at=self._resets_at)
        return outcome

    def _read_system(self, event: Mapping[str, Json]) -> Iterator[Happening]:
        match event.get("subtype"):
            case "init":
                self._model, self._session = read_text(event.get("model")), read_text(event.get("session_id"))
                yield Happening(kind="session", text=self._session)
            case "permission_denied":
                tool, why = read_text(event.get("tool_name")), read_text(event.get("message"))
                self._notices.append(f"it was not allowed to use {tool}: {why[:300]}")
                yield Happening(kind="notice", text=self._notices[-1])
            case "api_retry":
                self._wait = read_number(event.get("retry_delay_ms")) / 1000
                why = f"{event.get('error')} ({event.get('error_status') or 'no answer'})"
                yield Happening(kind="notice", text=f"the API failed: {why}; it asks again in {self._wait:g} s")

    def _read_limit(self, info: Mapping[str, Json]) -> None:
        resets_at = read_number(info.get("resetsAt"))
        if info.get("status") == "rejected" and resets_at > time.time():
            self._resets_at = resets_at

    def _count_model(self, result: Mapping[str, Json]) -> Mapping[str, float]:
        """What the total of the result has of the model at work."""
        used = read_map(read_map(result.get("modelUsage")).get(self._model))
        return {
            "input": sum(read_number(used.get(name)) for name in INPUTS),
            "output": read_number(used.get("outputTokens")),
        }

    def _count_messages(self) -> Mapping[str, float]:
        """Tokens of the messages so far. They are told when they begin; only the record knows how long they became."""
        self._messages.correct(_read_record(self._session, self._log))
        return add_up(_count_tokens(usage) for usage in self._messages.list_usages())

    def _count(self, result: Mapping[str, Json]) -> Mapping[str, float]:
        """Tokens and dollars of this run alone.

        2.1.197 counts per process, 2.1.325 the whole of a resumed session, and says apart what is new. A total that has
        more of the model's tokens than this run, or does not say what it has, is that of a session.
        """
        models = [read_map(used) for used in read_map(result.get("model_usage_since_last_result")).values()]
        if not models:
            usage = _count_tokens(read_map(result.get("usage")))
            whole = sum(self._count_model(result).get(kind, 0.0) for kind in ("input", "output"))
            if self._resumed and not 0 < whole <= usage["input"] + usage["output"]:
                return usage
            return usage | {"cost_usd": read_number(result.get("total_cost_usd"))}
        cached = sum(read_number(model.get("cacheReadInputTokens")) for model in models)
        return {
            "input": sum(read_number(model.get(name)) for model in models for name in INPUTS),
            "output": sum(read_number(model.get("outputTokens")) for model in models),
            "cached": cached,
            "cost_usd": sum(read_number(model.get("costUSD")) for model in models),
        }


def _count_tokens(usage: Mapping[str, Json]) -> dict[str, float]:
    cached = read_number(usage.get("cache_read_input_tokens"))
    fresh = read_number(usage.get("input_tokens")) + read_number(usage.get("cache_creation_input_tokens"))
    return {"input": fresh + cached, "output": read_number(usage.get("output_tokens")), "cached": cached}


def _read_record(session: str, log: Path) -> Iterator[Mapping[str, Json]]:
    """What the program has written down of its messages in a session."""
    for record in find_files(HOME, log, f"projects/*/{PurePath(session).name}.jsonl") if session else ():
        with record.open(encoding="utf-8", errors="replace") as lines:
            yield from (read_map(read_value(line)) for line in lines if '"usage"' in line)


def _read_patch(result: Mapping[str, Json]) -> str:
    """The lines that an edit changed; all of a file that it wrote anew."""
    hunks = [read_map(hunk) for hunk in read_list(result.get("structuredPatch"))]
    lines = [read_text(line) for hunk in hunks for line in read_list(hunk.get("lines"))]
    return "\n".join(lines or (f"+{line}" for line in read_text(result.get("content")).splitlines()))


def _read_blocks(event: Mapping[str, Json]) -> Iterator[Happening]:
    """What it says and does in one message; an error of the API also looks like something said."""
    own = event.get("parent_tool_use_id") is None and not event.get("is_api_error_message")
    for block in read_blocks(event):
        if block.get("type") == "text" and own:
            yield Happening(kind="text", text=read_text(block.get("text")))
        elif block.get("type") == "tool_use":
            yield describe_use(block, runner="Bash")


PROGRAM = Program(
    name="claude",
    executables=("claude",),
    build=build_launch,
    open_reader=ClaudeReader,
    abilities=Abilities(
        resumes=True,
        names_session=True,
        validates_schema=True,
        reads_only=True,
        takes_budget=True,
        takes_servers=True,
        counts_tokens=True,
        prices=True,
    ),
    # Named one by one: the marks of a session that Drumline itself was started in must not get through.
    keep=(
        "ANTHROPIC_*",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_*",
        "CLAUDE_CODE_SKIP_*",
        "CLAUDE_CODE_MAX_*",
        "CLAUDE_CODE_DISABLE_*",
        "DISABLE_*",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_REGION",
        "AWS_PROFILE",
        "CLOUD_ML_REGION",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ),
    homes=(HOME,),
    tiers={"fast": "haiku", "standard": "sonnet", "strong": "opus"},
    gone=("No conversation found with session ID", "is already in use"),
    install="npm install -g @anthropic-ai/claude-code",
    login="claude auth login",
)
