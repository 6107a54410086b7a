"""goose, one program per assignment.

The rule: what goose itself says in the place of its model is an error. It ends with exit code 0 all the same.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from drumline.agents.edited import describe_edit
from drumline.agents.handover import join_prompt
from drumline.agents.lineups import line_up
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.reading import read_list, read_map, read_number, read_text, read_value
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.core.flow.model import Json
from drumline.errors import InvalidInput
from drumline.isolation.homes import Home
from drumline.isolation.privatehome import find_files
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.record import replace

KINDS = {"input": "input", "output": "output", "cached": "cache_read_input"}
WRITERS = ("write", "edit", "text_editor")
PROVIDER = re.compile(r"^(?:GOOSE_PROVIDER|active_provider):\s*[\"']?([\w-]+)", re.MULTILINE)
ELSEWHERE = ("OPENAI_HOST", "OPENAI_BASE_URL", "ANTHROPIC_HOST", "GOOGLE_HOST", "OPENROUTER_HOST")
"""Who sets these talks with somebody else than the provider of that name."""
EMPTY = "The model returned an empty response"
STATUS = re.compile(r"\((\d{3})\b")
EXCUSE = re.compile(r"^Ran into this error:|Please (?:resend|retry)\b")


CONFIG = Home(
    places=("$GOOSE_PATH_ROOT/config/", "$XDG_CONFIG_HOME/goose/", "~/.config/goose/"),
    inside="goose/config",
    variable="GOOSE_PATH_ROOT",
    tokens=("*/tokens.json", "*/info.json", "*/oauth/*.json"),
)
DATA = Home(
    places=("$GOOSE_PATH_ROOT/data/", "$XDG_DATA_HOME/goose/", "~/.local/share/goose/"),
    inside="goose/data",
    variable="GOOSE_PATH_ROOT",
    sessions=("sessions",),
    apart=True,
)
STATE = Home(
    places=("$GOOSE_PATH_ROOT/state/", "$XDG_STATE_HOME/goose/", "~/.local/state/goose/"),
    inside="goose/state",
    variable="GOOSE_PATH_ROOT",
    omitted=("logs", "history.txt"),
)


def build_launch(assignment: Assignment, setting: Setting) -> Launch:
    """The command for an assignment. Instructions go in before the prompt on stdin: as options all could read them."""
    _refuse_impossible(assignment, setting)
    argv = [str(setting.executable), "run", "--output-format", "stream-json", "--quiet", "--instructions", "-"]
    # Only its tools for developers: what else a user has switched on is for talking to it.
    argv += ["--no-profile", "--with-builtin", "developer"]
    argv += ["--model", setting.model] if setting.model else []
    argv += ["--name", assignment.session or assignment.new_session]
    argv += ["--resume"] if assignment.session else []
    secrets: dict[str, str] = {}
    for server in setting.servers:
        secrets |= server.env
        if server.url:
            argv += ["--with-streamable-http-extension", server.url]
        else:
            argv += ["--with-extension", f"{server.name}:{shlex.join(server.command)}"]
    # It would ask before each act, and once more for a name of the session.
    env = {"GOOSE_MODE": "auto", "GOOSE_DISABLE_SESSION_NAMING": "true", "GOOSE_TELEMETRY_ENABLED": "false"}
    return Launch(argv=tuple(argv), stdin=join_prompt(assignment), env={**env, **secrets})


def _refuse_impossible(assignment: Assignment, setting: Setting) -> None:
    """Refuse what the program could not be held to."""
    if assignment.read_only and not setting.jailed:
        raise InvalidInput("goose reads with commands, which could also write: without bubblewrap it cannot only read")
    if assignment.tools is not None:
        raise InvalidInput("goose cannot be held to some of its tools; leave them out, or take another agent")
    variables = [name for server in setting.servers for name in server.env]
    if shared := sorted({name for name in variables if variables.count(name) > 1}):
        raise InvalidInput(f"goose gives all MCP servers the same variables, but several have {', '.join(shared)}")


def suggest_models(folder: Path) -> Mapping[str, str]:
    """Models for the fast and the strong tier, of the provider that it is configured for; it always has a model."""
    try:
        config = (_find_root("XDG_CONFIG_HOME", "~/.config", "config") / "config.yaml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        config = ""
    if any(os.environ.get(name) or name in config for name in ELSEWHERE):
        return {}
    told = PROVIDER.search(config)
    provider = os.environ.get("GOOSE_PROVIDER") or (told[1] if told else "")
    return line_up(provider, own=True)


class GooseReader:
    """Understands the stream of one run. Its sessions have the names that they were given, and are never reported."""

    def __init__(self, assignment: Assignment) -> None:
        self._session = assignment.session or assignment.new_session
        # Its tokens are those of the whole session.
        self._log = assignment.log
        self._before = _read_spent(assignment.session, self._log) if assignment.session else {}
        self._told_session = False
        self._wants_value = assignment.output_schema is not None
        self._acted = False
        self._end: Mapping[str, Json] | None = None
        self._message = ""
        self._said = ""
        self._by_model = True
        self._model = ""
        self._error = ""
        self._edits: dict[str, tuple[str, str]] = {}

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event means."""
        if self._session and not self._told_session:
            self._told_session = True
            yield Happening(kind="session", text=self._session)
        match event.get("type"):
            case "message":
                yield from self._read_message(read_map(event.get("message")))
            case "error":
                self._error = read_text(event.get("error")) or "an error without words"
            case "complete":
                self._end = event
                yield Happening(kind="usage", usage=self._count(event))

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome by its last words and whose they are; it has no result to believe."""
        source = "goose" if self._before is not None else "goose, with what the session had used before"
        if self._end is None:
            outcome = self._explain(self._error) if self._error else explain_end(ended, "a completion")
        else:
            outcome = self._judge(self._end)
        return replace(
            outcome,
            usage=self._find_usage(),
            source=source,
            model=self._model,
            session=self._session,
        )

    def _judge(self, end: Mapping[str, Json]) -> Outcome:
        if self._error:
            return self._explain(self._error)
        if self._said.startswith(EMPTY) and not self._acted:
            return Outcome()
        if self._is_excuse(end):
            return self._explain(self._said)
        return Outcome(message=self._said, structured=read_value(self._said) if self._wants_value else None)

    def _explain(self, error: str) -> Outcome:
        status = STATUS.search(error)
        return explain_failure(error or "the model said nothing", status=int(status[1]) if status else None)

    def _find_usage(self) -> Mapping[str, float]:
        """What was used; without a completion only the record of its session tells."""
        if self._end is not None:
            return self._count(self._end)
        return self._leave_out_past(_read_spent(self._session, self._log) or {})

    def _count(self, end: Mapping[str, Json]) -> Mapping[str, float]:
        return self._leave_out_past({kind: read_number(end.get(f"{name}_tokens")) for kind, name in KINDS.items()})

    def _leave_out_past(self, spent: Mapping[str, float]) -> Mapping[str, float]:
        before = self._before or {}
        return {kind: max(0.0, count - before.get(kind, 0.0)) for kind, count in spent.items()}

    def _is_excuse(self, end: Mapping[str, Json]) -> bool:
        """Whether the last words are goose's own: no model is named for them, or it used none at all."""
        if self._said and self._by_model:
            return False
        return bool(self._model) or not read_number(end.get("total_tokens")) or bool(EXCUSE.search(self._said))

    def _read_message(self, message: Mapping[str, Json]) -> Iterator[Happening]:
        own = message.get("role") == "assistant"
        inference = read_map(read_map(message.get("metadata")).get("inference"))
        by_model = bool(inference)
        self._model = read_text(inference.get("requestedModel")) or self._model
        for item in read_list(message.get("content")):
            part = read_map(item)
            match part.get("type"):
                case "text" if own:
                    self._add(read_text(part.get("text")), of=read_text(message.get("id")), by_model=by_model)
                    yield Happening(kind="text", text=read_text(part.get("text")))
                case "toolRequest":
                    yield self._read_use(part)
                case "toolResponse":
                    yield from self._read_done(part)
                case "error":
                    self._error = read_text(part.get("message")) or "an error without words"
                case "systemNotification":
                    yield self._read_notice(part)

    def _add(self, text: str, *, of: str, by_model: bool) -> None:
        """A message may come in pieces, which have the same id."""
        self._said = self._said + text if of and of == self._message else text
        self._message, self._by_model = of, by_model

    def _read_use(self, part: Mapping[str, Json]) -> Happening:
        self._said, self._acted = "", True
        call = read_map(read_map(part.get("toolCall")).get("value"))
        given = read_map(call.get("arguments"))
        name, number = read_text(call.get("name")).rpartition("__")[2], read_text(part.get("id"))
        if name == "shell":
            return Happening(kind="command", text=read_text(given.get("command")), call=number)
        path = read_text(given.get("path"))
        if name in WRITERS:
            self._edits[number] = path, describe_edit(given)
        return Happening(kind="tool", text=f"{name} {path}".strip(), call=number)

    def _read_done(self, part: Mapping[str, Json]) -> Iterator[Happening]:
        call, result = read_text(part.get("id")), read_map(part.get("toolResult"))
        (path, lines), value = self._edits.pop(call, ("", "")), read_map(result.get("value"))
        done = result.get("status") == "success" and not value.get("isError")
        if path and done:
            yield Happening(kind="edit", text=path, call=call, detail=lines)
        said = [read_text(read_map(part).get("text")) for part in read_list(value.get("content"))]
        yield Happening(kind="result", call=call, failed=not done, detail="\n".join(said))

    def _read_notice(self, part: Mapping[str, Json]) -> Happening:
        text = read_text(part.get("msg"))
        if part.get("notificationType") == "creditsExhausted":
            self._error = f"out of credits: {text}"
        return Happening(kind="notice", text=text)


def _read_spent(session: str, log: Path) -> Mapping[str, float] | None:
    """What a session has used so far, from the record that the program keeps of it; None if that says nothing."""
    import sqlite3

    names = [f"accumulated_{name}_tokens" for name in ("input", "output", "cache_read")]
    question = f"SELECT {', '.join(names)} FROM sessions WHERE name = ? ORDER BY updated_at DESC LIMIT 1"  # noqa: S608
    found = find_files(DATA, log, "sessions/sessions.db", session=session)
    try:
        with closing(sqlite3.connect(f"{found[0].as_uri()}?mode=ro", uri=True)) as record:
            spent = record.execute(question, (session,)).fetchone()
    except (sqlite3.Error, IndexError, ValueError):
        return None
    return None if spent is None else {kind: read_number(count) for kind, count in zip(KINDS, spent, strict=True)}


def _find_root(variable: str, usual: str, inside: str) -> Path:
    """A folder of its own: all of them are `inside` one where the user wants that."""
    if root := os.environ.get("GOOSE_PATH_ROOT"):
        return Path(root) / inside
    return Path(os.environ.get(variable) or Path(usual).expanduser()) / "goose"


PROGRAM = Program(
    name="goose",
    executables=("goose",),
    build=build_launch,
    open_reader=GooseReader,
    abilities=Abilities(resumes=True, names_session=True, takes_servers=True, counts_tokens=True),
    # It works with any provider; these are the keys of the most used ones.
    keep=(
        "GOOSE_*",
        "OPENAI_*",
        "ANTHROPIC_*",
        "GOOGLE_API_KEY",
        "OPENROUTER_*",
        "OLLAMA_*",
        "GROQ_API_KEY",
        "XAI_API_KEY",
        "DATABRICKS_*",
        "AZURE_OPENAI_*",
    ),
    homes=(CONFIG, DATA, STATE),
    suggest=suggest_models,
    gone=("No session found", "Session not found"),
    install="npm install -g @aaif/goose-binary-linux-x64",
    login="goose configure",
)
