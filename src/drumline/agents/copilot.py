"""GitHub Copilot CLI, one program per assignment.

The rule: it is done only if its result says so and no error came before. Its tokens are those of the whole session.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath

from drumline.agents.edited import describe_edit
from drumline.agents.handover import join_prompt, name_session, write_private
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.reading import read_map, read_number, read_text, read_value
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.core.flow.model import Json
from drumline.isolation.homes import Home
from drumline.isolation.privatehome import find_files
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.profiles import McpServer
from drumline.record import replace

SHELLS = ("bash", "powershell")
WRITERS = ("create", "edit", "str_replace_editor", "apply_patch")
KINDS = {"input": "inputTokens", "output": "outputTokens", "cached": "cacheReadTokens"}
EMPTY = "No response was returned"
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
BESIDE = ("../copilot-*/copilot", "node_modules/@github/copilot-*/copilot")
"""Where npm has the program itself, from the folder of the wrapper that it puts on PATH."""


HOME = Home(
    places=("$COPILOT_HOME/", "~/.copilot/"),
    inside="copilot",
    variable="COPILOT_HOME",
    sessions=("session-state",),
    returned=("session-state/*/events.jsonl", "session-state/*/workspace.yaml"),
    omitted=("logs", "history-session-state", "command-history-state.json", "session-store.db*", "*.lock"),
)


def find_native() -> Path | None:
    """The program itself: killing the wrapper that npm installs would leave it running."""
    wrapper = shutil.which("copilot")
    package = Path(wrapper).resolve().parent if wrapper else Path()
    found = [path for pattern in BESIDE for path in sorted(package.glob(pattern))] if wrapper else []
    return next((path.resolve() for path in found if os.access(path, os.X_OK)), None)


def build_launch(assignment: Assignment, setting: Setting) -> Launch:
    """The command for an assignment. Instructions go in before the prompt on stdin: as options all could read them."""
    argv = [str(setting.executable), "--output-format", "json", "--no-auto-update", "--no-color", "--no-ask-user"]
    argv += ["--model", setting.model] if setting.model else []
    argv += [f"--resume={assignment.session}"] if assignment.session else [f"--session-id={name_session(assignment)}"]
    argv += _permit(assignment, setting)
    if setting.servers:
        servers = {"mcpServers": {server.name: _describe(server) for server in setting.servers}}
        argv += ["--additional-mcp-config", f"@{write_private(setting.scratch / 'servers.json', json.dumps(servers))}"]
    # Its remote features have no place in work that nobody watches.
    argv += ["--no-remote", "--no-remote-export"]
    return Launch(argv=tuple(argv), stdin=join_prompt(assignment))


def _permit(assignment: Assignment, setting: Setting) -> Iterator[str]:
    """What it may do unasked; without a jail its own rules keep it in its folder."""
    yield "--allow-all-tools"
    yield from ("--allow-all-paths", "--allow-all-urls") if setting.jailed else ("--disallow-temp-dir",)
    for folder in () if assignment.read_only else assignment.writable:
        yield from ("--add-dir", str(folder))
    if assignment.tools is not None:
        yield f"--available-tools={','.join((*assignment.tools, *(server.name for server in setting.servers)))}"
    if assignment.read_only:
        # In a jail its commands may run, as the kernel keeps them from writing.
        yield from ("--deny-tool=write", *(() if setting.jailed else ("--deny-tool=shell",)))


def _describe(server: McpServer) -> Mapping[str, Json]:
    if server.url:
        return {"type": "http", "url": server.url, "tools": ["*"]}
    command: dict[str, Json] = {"command": server.command[0], "args": list(server.command[1:])}
    return {"type": "local", **command, "env": dict(server.env), "tools": ["*"]}


class CopilotReader:
    """Understands the stream of one run. What the session used stands in the record that the program keeps of it."""

    def __init__(self, assignment: Assignment) -> None:
        self._wants_value = assignment.output_schema is not None
        self._session = assignment.session or assignment.new_session
        self._told_session = self._acted = False
        self._log = assignment.log
        self._before = _count_session(assignment.session, self._log) if assignment.session else {}
        self._result: Mapping[str, Json] | None = None
        self._text = ""
        self._model = ""
        self._error: Mapping[str, Json] | None = None
        self._edits: dict[str, dict[str, str]] = {}
        self._notices: list[str] = []

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event means; those of its own helpers count, but for what they say."""
        if self._session and not self._told_session:
            self._told_session = True
            yield Happening(kind="session", text=self._session)
        data = read_map(event.get("data"))
        match event.get("type"):
            case "assistant.message":
                yield from self._read_message(data)
            case "tool.execution_start":
                self._acted = True
                yield self._read_use(data)
            case "tool.execution_complete":
                yield from self._read_done(data)
            case "session.error":
                self._error = data
            case "session.info" if data.get("infoType") == "model_retry":
                yield Happening(kind="notice", text=read_text(data.get("message")))
            case "result":
                self._result = event
                self._session = read_text(event.get("sessionId")) or self._session
                yield Happening(kind="usage", usage=self._count())

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome by the result, and by an error that nothing came after."""
        source = "copilot" if self._before is not None else "copilot, with what the session had used before"
        return replace(
            self._judge(ended),
            usage=self._count(),
            source=source,
            model=self._model,
            session=self._session,
            notices=tuple(self._notices),
        )

    def _judge(self, ended: Ended) -> Outcome:
        if self._error is not None:
            status = int(read_number(self._error.get("statusCode"))) or None
            told = read_text(self._error.get("message")) or "an error without words"
            if told.startswith(EMPTY) and not self._acted:
                return Outcome()
            return explain_failure(told, status=status)
        if self._result is None or self._result.get("exitCode") != 0:
            return explain_end(ended, "a result that is a success")
        return Outcome(message=self._text, structured=read_value(self._text) if self._wants_value else None)

    def _read_message(self, data: Mapping[str, Json]) -> Iterator[Happening]:
        self._model = read_text(data.get("model")) or self._model
        text = read_text(data.get("content"))
        if not data.get("parentToolCallId"):
            self._error, self._text = None, text
            yield from [Happening(kind="text", text=text)] if text else []

    def _read_use(self, data: Mapping[str, Json]) -> Happening:
        tool, given = read_text(data.get("toolName")), read_map(data.get("arguments"))
        call = read_text(data.get("toolCallId"))
        if tool in SHELLS:
            return Happening(kind="command", text=read_text(given.get("command")), call=call)
        patched = PATCHED.findall(read_text(data.get("arguments")))
        path = read_text(given.get("path"))
        if tool in WRITERS:
            self._edits[call] = {one: describe_edit(data.get("arguments"), one) for one in patched or [path]}
        return Happening(kind="tool", text=f"{tool} {', '.join(patched) or path}".strip(), call=call)

    def _read_done(self, data: Mapping[str, Json]) -> Iterator[Happening]:
        call, done, error = read_text(data.get("toolCallId")), bool(data.get("success")), read_map(data.get("error"))
        edits = self._edits.pop(call, {})
        if done:
            for path, lines in edits.items():
                yield Happening(kind="edit", text=path, call=call, detail=lines)
        yield Happening(kind="result", call=call, failed=not done, detail=read_text(error.get("message")))
        if error.get("code") == "denied":
            self._notices.append(f"it was not allowed to use a tool: {read_text(error.get('message'))[:300]}")
            yield Happening(kind="notice", text=self._notices[-1])

    def _count(self) -> Mapping[str, float]:
        now, before = _count_session(self._session, self._log), self._before or {}
        return {kind: max(0.0, count - before.get(kind, 0.0)) for kind, count in (now or {}).items()}


def _count_session(session: str, log: Path) -> Mapping[str, float] | None:
    """What a session has used so far, from the record that the program keeps of it; None if there is none."""
    records = find_files(HOME, log, f"session-state/{PurePath(session).name}/events.jsonl")
    if not records:
        return None
    try:
        with records[0].open(encoding="utf-8") as lines:
            told = [read_map(read_value(line)) for line in lines if '"session.usage_record"' in line]
    except (OSError, ValueError):
        return None
    used = [read_map(read_map(event.get("data")).get("usage")) for event in told]
    return {kind: sum(read_number(usage.get(theirs)) for usage in used) for kind, theirs in KINDS.items()}


PROGRAM = Program(
    name="copilot",
    executables=("copilot",),
    build=build_launch,
    open_reader=CopilotReader,
    abilities=Abilities(resumes=True, names_session=True, reads_only=True, takes_servers=True, counts_tokens=True),
    # Not GH_TOKEN: that opens more than its models.
    keep=("COPILOT_*",),
    homes=(HOME, Home(places=("$XDG_CACHE_HOME/copilot/", "~/.cache/copilot/"), inside="cache/copilot")),
    find=find_native,
    gone=("No session, task, or name matched",),
    install="npm install -g @github/copilot",
    login="copilot login",
)
