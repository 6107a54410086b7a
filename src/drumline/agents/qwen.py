"""Qwen Code, one program per assignment.

The rule: its result is believed only if it is a success and no error. Errors also look like something said.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from drumline.agents.edited import describe_edit
from drumline.agents.handover import describe_servers, join_prompt, name_session, write_private
from drumline.agents.lineups import line_up, read_settings
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.reading import read_list, read_map, read_number, read_text
from drumline.agents.resultstream import (
    Ends,
    describe_use,
    explain_limit,
    find_target,
    finish,
    read_blocks,
    read_results,
)
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.core.flow.model import Json
from drumline.core.taxonomy import Failure
from drumline.isolation.homes import Home
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.record import replace

KINDS = {"input": "input_tokens", "output": "output_tokens", "cached": "cache_read_input_tokens"}
READERS = ("read_file", "list_directory", "glob", "grep_search", "web_fetch")
WRITERS = ("write_file", "edit", "notebook_edit")
FAILED = re.compile(r"^Exit Code: (?!0$)\S+$", re.MULTILINE)
"""How a command that fails is told: its tool has worked."""
SHELL = "run_shell_command"
STATUS = re.compile(r"\[API Error:\s*(\d{3})\b")
ERROR = "[API Error"
EMPTY = "empty response"
CUT = re.compile(rf"terminated|invalid eof|premature|{EMPTY}", re.IGNORECASE)
HOSTS: Mapping[str, re.Pattern[str]] = {
    "dashscope": re.compile(r"dashscope(?:-[a-z]+)?\.aliyuncs\.com"),
    "openai": re.compile(r"api\.openai\.com"),
}
ENDS: Ends = {
    "error_max_turns": (Failure.TURNS, "it took more turns than it may"),
}


HOME = Home(
    places=("$QWEN_HOME/", "~/.qwen/"),
    inside="qwen",
    variable="QWEN_HOME",
    tokens=("oauth_creds.json", "mcp-oauth-tokens.json"),
    sessions=("projects",),
    returned=("projects/{slug}/chats/*.jsonl",),
    omitted=("debug", "history", "tmp", "todos", "usage", "usage_record.jsonl", ".openai-logs-cleanup-*"),
)


def build_launch(assignment: Assignment, setting: Setting) -> Launch:
    """The command for an assignment. Instructions go in before the prompt on stdin: as options all could read them."""
    argv = [str(setting.executable), "--output-format", "stream-json", "--approval-mode", "yolo"]
    argv += ["--model", setting.model] if setting.model else []
    argv += ["--resume", assignment.session] if assignment.session else ["--session-id", name_session(assignment)]
    if assignment.output_schema is not None:
        schema = write_private(setting.scratch / "schema.json", json.dumps(assignment.output_schema))
        argv += ["--json-schema", f"@{schema}"]
    if setting.servers:
        servers = {"mcpServers": describe_servers(setting.servers, address="httpUrl")}
        argv += ["--mcp-config", write_private(setting.scratch / "servers.json", json.dumps(servers))]
    if (tools := _choose_tools(assignment, setting)) is not None:
        argv += ["--core-tools", ",".join(tools)]
        # Its helpers may be other programs, which know nothing of this.
        argv += ["--exclude-tools", "agent,skill"]
    for folder in () if assignment.read_only else assignment.writable:
        argv += ["--include-directories", str(folder)]
    defaults = write_private(setting.scratch / "defaults.json", json.dumps(DEFAULTS))
    env = {
        "QWEN_CODE_SYSTEM_DEFAULTS_PATH": defaults,
        "QWEN_CODE_NO_RELAUNCH": "true",
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
    }
    return Launch(argv=tuple(argv), stdin=join_prompt(assignment), env=env)


# These hold where the user's own settings say nothing else. What it remembers of a session costs tokens at its end,
# and it would wait for minutes: that is up to the engine, which tells people.
DEFAULTS: Mapping[str, Json] = {
    "model": {"generationConfig": {"maxRetries": 1, "retryInitialDelayMs": 2000, "retryMaxDelayMs": 10000}},
    "general": {"enableAutoUpdate": False},
    "tools": {"toolSearch": {"enabled": False}},
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
}


def _choose_tools(assignment: Assignment, setting: Setting) -> tuple[str, ...] | None:
    """All it may use, or None for everything. In a jail commands may run while it only reads: the kernel holds them."""
    if not assignment.read_only:
        return assignment.tools
    harmless = (*READERS, SHELL) if setting.jailed else READERS
    return harmless if assignment.tools is None else tuple(tool for tool in assignment.tools if tool in harmless)


def suggest_models(folder: Path) -> Mapping[str, str]:
    """Models for the tiers, where it talks with a provider of known models; its plans for coders have their own."""
    home = Path(os.environ.get("QWEN_HOME") or Path.home() / ".qwen")
    settings = read_settings(home / "settings.json")
    if settings is None:
        return {}
    auth = read_map(read_map(settings.get("security")).get("auth"))
    address = os.environ.get("OPENAI_BASE_URL") or read_text(auth.get("baseUrl"))
    named = os.environ.get("OPENAI_MODEL") or os.environ.get("QWEN_MODEL")
    own = bool(named or read_map(settings.get("model")).get("name"))
    host = urlsplit(address).hostname or ""
    return line_up(next((name for name, theirs in HOSTS.items() if theirs.fullmatch(host)), ""), own=own)


class QwenReader:
    """Understands the stream of one run."""

    def __init__(self, assignment: Assignment) -> None:
        self._result: Mapping[str, Json] | None = None
        self._resumed = bool(assignment.session)
        self._counted = dict.fromkeys(KINDS, 0.0)
        self._acted = False
        self._model = ""
        self._wait: float | None = None
        self._commands: set[str] = set()
        self._edits: dict[str, tuple[str, str]] = {}

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event means; those of its own helpers count, but for what they say."""
        match event.get("type"):
            case "system" if event.get("subtype") == "init":
                self._model = read_text(event.get("model"))
                yield Happening(kind="session", text=read_text(event.get("session_id")))
            case "system" if event.get("subtype") == "retry":
                self._wait = read_number(read_map(event.get("data")).get("delayMs")) / 1000
                yield Happening(kind="notice", text=f"the API failed; it asks again in {self._wait:g} s")
            case "assistant":
                self._add(read_map(read_map(event.get("message")).get("usage")))
                yield from self._read_blocks(event)
            case "user":
                yield from self._read_done(event)
            case "result":
                self._result = event
                yield Happening(kind="usage", usage=self._count(event))

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome by the result; without one it has broken down."""
        result = self._result
        if result is None:
            return replace(explain_end(ended, "a result"), usage=self._count_messages(), model=self._model)
        denied = [read_text(read_map(item).get("tool_name")) for item in read_list(result.get("permission_denials"))]
        notices = tuple(f"it was not allowed to use {tool}" for tool in denied)
        outcome = replace(self._judge(result), usage=self._count(result), notices=notices)
        return finish(outcome, result, source="qwen", model=self._model)

    def _judge(self, result: Mapping[str, Json]) -> Outcome:
        text, subtype = read_text(result.get("result")), read_text(result.get("subtype"))
        if not result.get("is_error") and subtype == "success":
            return Outcome(message=text, structured=result.get("structured_result"))
        told = read_text(read_map(result.get("error")).get("message")) or text
        if known := explain_limit(ENDS, subtype, told):
            return known
        if EMPTY in told and not self._acted:
            return Outcome()
        code = STATUS.search(told)
        # A stream that was cut off has no status; the next one may well be whole.
        status = int(code[1]) if code else 503 if CUT.search(told) else None
        return explain_failure(told or f"it ended as {subtype!r}", status=status, wait=self._wait)

    def _add(self, usage: Mapping[str, Json]) -> None:
        for kind, count in _read_tokens(usage).items():
            self._counted[kind] += count

    def _count(self, result: Mapping[str, Json]) -> Mapping[str, float]:
        """What was used; its result counts the whole session, so a resumed one is counted by its messages."""
        return dict(self._counted) if self._resumed else _read_tokens(read_map(result.get("usage")))

    def _count_messages(self) -> Mapping[str, float]:
        """What its messages used, as far as there were any."""
        return dict(self._counted) if any(self._counted.values()) else {}

    def _read_blocks(self, event: Mapping[str, Json]) -> Iterator[Happening]:
        own = event.get("parent_tool_use_id") is None
        for block in read_blocks(event):
            text = read_text(block.get("text"))
            if block.get("type") == "tool_use":
                yield self._read_use(block)
            elif block.get("type") == "text" and own and not text.startswith(ERROR):
                yield Happening(kind="text", text=text)

    def _read_use(self, block: Mapping[str, Json]) -> Happening:
        self._acted = True
        if block.get("name") in WRITERS:
            given = read_map(block.get("input"))
            path = find_target(block) or read_text(given.get("notebook_path"))
            self._edits[read_text(block.get("id"))] = path, describe_edit(given)
        if block.get("name") == SHELL:
            self._commands.add(read_text(block.get("id")))
        return describe_use(block, runner=SHELL)

    def _read_done(self, event: Mapping[str, Json]) -> Iterator[Happening]:
        for block in read_blocks(event):
            call = read_text(block.get("tool_use_id"))
            path, lines = self._edits.pop(call, ("", ""))
            if path and not block.get("is_error"):
                yield Happening(kind="edit", text=path, call=call, detail=lines)
        for result in read_results(event):
            broke = result.call in self._commands and FAILED.search(result.detail) is not None
            yield replace(result, failed=result.failed or broke)


def _read_tokens(usage: Mapping[str, Json]) -> Mapping[str, float]:
    return {kind: read_number(usage.get(theirs)) for kind, theirs in KINDS.items()}


PROGRAM = Program(
    name="qwen",
    executables=("qwen",),
    build=build_launch,
    open_reader=QwenReader,
    abilities=Abilities(
        resumes=True,
        names_session=True,
        validates_schema=True,
        reads_only=True,
        takes_servers=True,
        counts_tokens=True,
    ),
    keep=("OPENAI_*", "QWEN_*", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
    homes=(HOME,),
    suggest=suggest_models,
    gone=("No saved session found", "is already in use"),
    install="npm install -g @qwen-code/qwen-code",
    login="qwen",
)
