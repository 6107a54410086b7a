"""Gemini CLI, one program per assignment.

The rule: without a result line it has broken down, even if its exit code is 0: a signal ends it so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from drumline.agents.edited import describe_edit
from drumline.agents.handover import join_prompt, name_session, write_private
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.reading import read_map, read_number, read_text, read_value
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.core.flow.model import Json
from drumline.errors import InvalidInput
from drumline.isolation.homes import Home
from drumline.isolation.privatehome import find_files
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.record import replace

WRITERS = ("write_file", "replace")
SHELL = "run_shell_command"
KINDS = {"input": ("input",), "output": ("output", "thoughts"), "cached": ("cached",)}
"""What its records call the tokens of a message, by our names."""
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CODE = re.compile(r'"code":\s*(\d{3})\b')
EMPTY = "empty response"
CUT = re.compile(rf"incomplete json segment|{EMPTY}", re.IGNORECASE)
REFUSED = re.compile(r"denied|not allowed|policy|user confirmation|rejected", re.IGNORECASE)


HOME = Home(
    places=("$GEMINI_CLI_HOME/.gemini/", "~/.gemini/"),
    inside="gemini/.gemini",
    variable="GEMINI_CLI_HOME",
    tokens=("oauth_creds.json", "mcp-oauth-tokens.json", "a2a-oauth-tokens.json"),
    sessions=("tmp",),
    omitted=("history", "projects.json"),
)


def build_launch(assignment: Assignment, setting: Setting) -> Launch:
    """The command for an assignment. It takes no further instructions, so they go in before the prompt on stdin."""
    if setting.servers:
        raise InvalidInput("Gemini CLI takes MCP servers from its own settings only: add them with `gemini mcp add`")
    argv = [str(setting.executable), "--output-format", "stream-json", "--skip-trust", "--approval-mode", "yolo"]
    argv += ["--model", setting.model] if setting.model else []
    argv += ["--resume", assignment.session] if assignment.session else ["--session-id", name_session(assignment)]
    if rules := _write_rules(assignment, setting):
        argv += ["--policy", write_private(setting.scratch / "policy.toml", rules)]
    for folder in () if assignment.read_only else assignment.writable:
        argv += ["--include-directories", str(folder)]
    # Without it, it would start itself a second time, only to have more memory.
    env = {"GEMINI_CLI_NO_RELAUNCH": "true"}
    return Launch(argv=tuple(argv), stdin=join_prompt(assignment), env=env)


def _write_rules(assignment: Assignment, setting: Setting) -> str:
    """What it may not use. In a jail commands may run while it only reads, as the kernel keeps them from writing."""
    if assignment.tools is not None:
        allowed = _write_rule(list(assignment.tools), "allow", 950)
        return _write_rule(["*"], "deny", 900) + allowed + _deny_writing(assignment, setting)
    return _deny_writing(assignment, setting)


def _deny_writing(assignment: Assignment, setting: Setting) -> str:
    if not assignment.read_only:
        return ""
    return _write_rule([*WRITERS, *(() if setting.jailed else (SHELL,))], "deny", 990)


def _write_rule(tools: list[str], decision: str, priority: int) -> str:
    named = tools[0] if len(tools) == 1 else tools
    return f'[[rule]]\ntoolName = {json.dumps(named)}\ndecision = "{decision}"\npriority = {priority}\n\n'


class GeminiReader:
    """Understands the stream of one run. What it says comes in pieces; a use of a tool ends a saying."""

    def __init__(self, assignment: Assignment) -> None:
        self._wants_value = assignment.output_schema is not None
        self._log = assignment.log
        self._past = frozenset(_read_messages(assignment.session, self._log))
        self._result: Mapping[str, Json] | None = None
        self._said = ""
        self._final = ""
        self._acted = False
        self._edits: dict[str, tuple[str, str]] = {}
        self._session = ""
        self._model = ""
        self._errors: list[str] = []
        self._notices: list[str] = []

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event means."""
        match event.get("type"):
            case "init":
                self._session, self._model = read_text(event.get("session_id")), read_text(event.get("model"))
                yield Happening(kind="session", text=self._session)
            case "message" if event.get("role") == "assistant":
                self._said += read_text(event.get("content"))
            case "tool_use":
                yield from self._end_saying()
                self._final, self._acted = "", True
                yield self._read_use(event)
            case "tool_result":
                yield from self._read_done(event)
            case "error":
                self._errors.append(read_text(event.get("message")))
                yield Happening(kind="notice", text=self._errors[-1])
            case "result":
                yield from self._end_saying()
                self._result = event
                yield Happening(kind="usage", usage=_count(event))

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome by the result; without one it has broken down."""
        if self._result is None:
            return replace(
                explain_end(ended, "a result"),
                usage=self._count_messages(),
                model=self._model,
                session=self._session,
                notices=tuple(self._notices),
            )
        return replace(
            self._judge(self._result),
            usage=_count(self._result),
            source="gemini",
            model=next(iter(_read_models(self._result)), self._model),
            session=self._session,
            notices=tuple(self._notices),
        )

    def _judge(self, result: Mapping[str, Json]) -> Outcome:
        if result.get("status") == "success":
            return Outcome(message=self._final, structured=read_value(self._final) if self._wants_value else None)
        told = read_text(read_map(result.get("error")).get("message")) or "; ".join(self._errors)
        if EMPTY in told and not self._acted:
            return Outcome()
        code = CODE.search(told)
        # A stream that was cut off is an error of its JSON reader; the next one may well be whole.
        status = int(code[1]) if code else 503 if CUT.search(told) else None
        return explain_failure(told or f"it ended as {result.get('status')!r}", status=status)

    def _count_messages(self) -> Mapping[str, float]:
        """What was used, from the record of its session: only a result would say so otherwise."""
        new = [tokens for name, tokens in _read_messages(self._session, self._log).items() if name not in self._past]
        return {kind: sum(read_number(t.get(name)) for t in new for name in KINDS[kind]) for kind in KINDS if new}

    def _end_saying(self) -> Iterator[Happening]:
        if self._said:
            self._final, self._said = self._said, ""
            yield Happening(kind="text", text=self._final)

    def _read_use(self, event: Mapping[str, Json]) -> Happening:
        tool, given = read_text(event.get("tool_name")), read_map(event.get("parameters"))
        call = read_text(event.get("tool_id"))
        if tool == SHELL:
            return Happening(kind="command", text=read_text(given.get("command")), call=call)
        what = read_text(given.get("file_path")) or read_text(given.get("pattern")) or read_text(given.get("dir_path"))
        if tool in WRITERS:
            self._edits[call] = what, describe_edit(given)
        return Happening(kind="tool", text=f"{tool} {what}".strip(), call=call)

    def _read_done(self, event: Mapping[str, Json]) -> Iterator[Happening]:
        call, done = read_text(event.get("tool_id")), event.get("status") == "success"
        path, lines = self._edits.pop(call, ("", ""))
        why = read_text(read_map(event.get("error")).get("message")) or read_text(event.get("output"))
        if path and done:
            yield Happening(kind="edit", text=path, call=call, detail=lines)
        yield Happening(kind="result", call=call, failed=not done, detail=why)
        if done:
            return
        if REFUSED.search(why):
            self._notices.append(f"it was not allowed to use a tool: {why[:300]}")
            yield Happening(kind="notice", text=self._notices[-1])


def _read_messages(session: str, log: Path) -> Mapping[str, Mapping[str, Json]]:
    """What each message of a session used, by id, from the record that the program keeps; it tells some twice."""
    used: dict[str, Mapping[str, Json]] = {}
    pattern = f"tmp/*/chats/session-*-{session[:8]}.jsonl"
    for record in find_files(HOME, log, pattern) if UUID.fullmatch(session) else ():
        with record.open(encoding="utf-8", errors="replace") as lines:
            told = [read_map(read_value(line)) for line in lines if '"tokens"' in line or '"sessionId"' in line]
        if told and told[0].get("sessionId") == session:
            used |= {read_text(one.get("id")): read_map(one.get("tokens")) for one in told if one.get("tokens")}
    return used


def _read_models(result: Mapping[str, Json]) -> list[str]:
    """The models that did the work, the busiest first: what was asked for may have been a name for the current one."""
    models = read_map(read_map(result.get("stats")).get("models"))
    return sorted(models, key=lambda name: -read_number(read_map(models[name]).get("total_tokens")))


def _count(result: Mapping[str, Json]) -> Mapping[str, float]:
    stats = read_map(result.get("stats"))
    names = {"input": "input_tokens", "output": "output_tokens", "cached": "cached"}
    return {name: read_number(stats.get(theirs)) for name, theirs in names.items()}


PROGRAM = Program(
    name="gemini",
    executables=("gemini",),
    build=build_launch,
    open_reader=GeminiReader,
    abilities=Abilities(resumes=True, names_session=True, reads_only=True, counts_tokens=True),
    keep=(
        "GEMINI_API_KEY",
        "GEMINI_CLI_HOME",
        "GOOGLE_API_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_CLOUD_*",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_GENAI_*",
        "GOOGLE_VERTEX_BASE_URL",
    ),
    homes=(HOME,),
    # Names that it turns into its current models by itself.
    tiers={"fast": "flash-lite", "standard": "flash", "strong": "pro"},
    gone=("Invalid session identifier", "No previous sessions found", "already exists"),
    install="npm install -g @google/gemini-cli",
    login="gemini",
)
