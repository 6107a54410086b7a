"""Codex on its command line, one program per assignment.

The rule: a turn that is not said to be completed has failed. Its exit code says less, and its tokens are those of the
whole session.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from drumline.agents.edited import describe_edit
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.reading import read_list, read_map, read_number, read_text, unwrap_error
from drumline.agents.strictness import fits_strict_mode
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.core.flow.model import Json
from drumline.isolation.homes import Home
from drumline.isolation.privatehome import find_files
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.record import replace

START = 60
"""Seconds that an MCP server has to start; it would wait for ten by itself, too few on a busy machine."""
EFFORTS = {"fast": "low", "standard": "medium", "strong": "high"}
NATIVE = ("node_modules/@openai/codex-*/vendor/*/bin/codex", "vendor/*/bin/codex", "vendor/*/codex/codex")
"""Where a package has the program itself, below the folder of the wrapper that npm puts on PATH."""
BESIDE = "../codex-*/vendor/*/bin/codex"


HOME = Home(
    places=("$CODEX_HOME/", "~/.codex/"),
    inside="codex",
    variable="CODEX_HOME",
    tokens=("auth.json", ".credentials.json"),
    sessions=("sessions",),
    keyring=True,
    returned=("sessions/*/*/*/rollout-*.jsonl",),
    omitted=(
        *("*.sqlite", "*.sqlite-shm", "*.sqlite-wal", "archived_sessions", "cache", "history.jsonl", "log", "logs"),
        *("session_index.jsonl", "shell_snapshots", "thread-writer-locks", "tmp", ".tmp"),
    ),
)


def find_native() -> Path | None:
    """The program itself: killing the wrapper that npm installs would leave it running."""
    wrapper = shutil.which("codex")
    if wrapper is None:
        return None
    place = Path(wrapper).resolve()
    with place.open("rb") as file:
        if file.read(2) != b"#!":
            return place
    package = place.parent.parent
    found = [path for pattern in (*NATIVE, BESIDE) for path in sorted(package.glob(pattern))]
    return next((path.resolve() for path in found if os.access(path, os.X_OK)), Path(wrapper))


def build_launch(assignment: Assignment, setting: Setting) -> Launch:
    """The command for an assignment. Instructions go in before the prompt on stdin: as options all could read them."""
    argv = [str(setting.executable), "exec", "--json", "--skip-git-repo-check", *_choose_model(assignment, setting)]
    argv += _permit(assignment, setting)
    for server in setting.servers:
        argv += _name_server(server.name, server.command, url=server.url, variables=list(server.env))
    if assignment.output_schema is not None and fits_strict_mode(assignment.output_schema):
        schema = setting.scratch / "schema.json"
        schema.write_text(json.dumps(assignment.output_schema))
        argv += ["--output-schema", str(schema)]
    argv += ["resume", assignment.session, "-"] if assignment.session else ["-"]
    secrets = {name: value for server in setting.servers for name, value in server.env.items()}
    prompt = f"{assignment.instructions}\n\n{assignment.prompt}" if assignment.instructions else assignment.prompt
    return Launch(argv=tuple(argv), stdin=prompt, env={**_find_keys(), **secrets})


def _choose_model(assignment: Assignment, setting: Setting) -> list[str]:
    """The model asked for; without one the program chooses, and the tier says how hard it thinks."""
    if setting.model:
        return ["-m", setting.model]
    effort = EFFORTS.get(assignment.tier)
    return _set("model_reasoning_effort", effort) if effort else []


def _permit(assignment: Assignment, setting: Setting) -> Iterator[str]:
    """What its commands may do: anything in our jail, else what its own sandbox lets through."""
    # Its commands need none of its keys.
    yield from _set("shell_environment_policy.ignore_default_excludes", False)
    if setting.jailed:
        yield "--dangerously-bypass-approvals-and-sandbox"
        return
    yield from _set("approval_policy", "never")
    if assignment.read_only:
        yield from _set("sandbox_mode", "read-only")
        return
    yield from _set("sandbox_mode", "workspace-write")
    # The folder for temporary files is this assignment's own, so only the shared one is closed.
    yield from _set("sandbox_workspace_write.exclude_slash_tmp", True)
    if assignment.writable:
        yield from _set("sandbox_workspace_write.writable_roots", [str(folder) for folder in assignment.writable])


def _name_server(name: str, command: tuple[str, ...], *, url: str, variables: list[str]) -> Iterator[str]:
    """An MCP server; its variables are handed on by name, as their values are secret."""
    place = f"mcp_servers.{name}"
    # Otherwise it begins before the server is there, or does without one that does not start.
    yield from _set(f"{place}.required", True)
    yield from _set(f"{place}.startup_timeout_sec", START)
    # The assignment names it, so its tools may be used; nobody is there to be asked.
    yield from _set(f"{place}.default_tools_approval_mode", "approve")
    if url:
        yield from _set(f"{place}.url", url)
        return
    yield from _set(f"{place}.command", command[0])
    yield from _set(f"{place}.args", list(command[1:]))
    if variables:
        yield from _set(f"{place}.env_vars", list(variables))


def _set(key: str, value: Json) -> list[str]:
    # What JSON writes for texts, lists of them and truth values is TOML, too.
    return ["-c", f"{key}={json.dumps(value, ensure_ascii=False)}"]


def _find_home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def _read_config() -> Mapping[str, Json]:
    try:
        return tomllib.loads((_find_home() / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _find_keys() -> dict[str, str]:
    """The variables in which the providers of its configuration look for their keys, as far as they are set."""
    providers = [read_map(provider) for provider in read_map(_read_config().get("model_providers")).values()]
    names = [read_text(provider.get("env_key")) for provider in providers]
    names += [read_text(name) for p in providers for name in read_map(p.get("env_http_headers")).values()]
    return {name: os.environ[name] for name in names if name in os.environ}


class CodexReader:
    """Understands the stream of one run. `before` is what its session had used already."""

    def __init__(self, assignment: Assignment) -> None:
        self._log = assignment.log
        self._before = _read_spent(assignment.session, self._log) if assignment.session else {}
        self._known = self._before is not None
        self._wants_value = assignment.output_schema is not None
        self._session = ""
        self._text = ""
        self._usage: Mapping[str, float] | None = None
        self._error = ""
        self._notices: list[str] = []

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event means."""
        match event.get("type"):
            case "thread.started":
                self._session = read_text(event.get("thread_id"))
                yield Happening(kind="session", text=self._session)
            case "item.started":
                yield from _read_begun(read_map(event.get("item")))
            case "item.completed":
                yield from self._read_done(read_map(event.get("item")))
            case "turn.completed":
                self._usage = self._count(read_map(event.get("usage")))
                yield Happening(kind="usage", usage=self._usage)
            case "turn.failed":
                self._error = read_text(read_map(event.get("error")).get("message")) or "the turn failed"
            case "error":
                yield Happening(kind="notice", text=unwrap_error(read_text(event.get("message"))))

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome by the end of the turn; without one it has broken down."""
        if self._error:
            outcome = explain_failure(self._error)
        elif self._usage is None:
            outcome = explain_end(ended, "the end of its turn")
        else:
            outcome = Outcome(message=self._text, structured=self._read_value())
        source = "codex" if self._known else "codex, with what the session had used before"
        return replace(
            outcome,
            usage=self._find_usage(),
            source=source,
            model=_read_model(self._session, self._log),
            session=self._session,
            notices=tuple(self._notices),
        )

    def _find_usage(self) -> Mapping[str, float]:
        """What was used; of a turn that failed only the record of its session tells."""
        if self._usage is not None:
            return self._usage
        spent = _read_spent(self._session, self._log)
        return self._count(spent) if spent else {}

    def _read_done(self, item: Mapping[str, Json]) -> Iterator[Happening]:
        call = read_text(item.get("id"))
        match item.get("type"):
            case "agent_message":
                self._text = read_text(item.get("text"))
                yield Happening(kind="text", text=self._text)
            case "file_change" if item.get("status") == "completed":
                for change in read_list(item.get("changes")):
                    path = read_text(read_map(change).get("path"))
                    yield Happening(kind="edit", text=path, call=call, detail=self._find_lines(path))
            case "file_change":
                self._notices.append("a patch of it was refused")
                yield Happening(kind="notice", text=self._notices[-1])
            case "mcp_tool_call" if item.get("error"):
                why = read_text(read_map(item.get("error")).get("message"))
                self._notices.append(f"the tool {read_text(item.get('tool'))} failed: {why[:300]}")
                yield Happening(kind="notice", text=self._notices[-1])
            case "command_execution":
                failed, said = item.get("exit_code") != 0, read_text(item.get("aggregated_output"))
                yield Happening(kind="result", call=call, failed=failed, detail=said)
            case "mcp_tool_call" | "web_search":
                yield Happening(kind="result", call=call)
            case "error":
                self._notices.append(read_text(item.get("message")))
                yield Happening(kind="notice", text=self._notices[-1])

    def _find_lines(self, path: str) -> str:
        """The lines that its last patch of a file changes, from the record of its session: its events name files only.

        It writes a patch down before it applies it.
        """
        patches = [read_text(call.get("input")) for call in _read_record(self._session, self._log, "custom_tool_call")]
        told = (describe_edit(patch, path) for patch in reversed(patches))
        return next(filter(None, told), "")

    def _read_value(self) -> Json:
        """The answer as a value, if one was wanted; nobody has looked yet whether it fits."""
        try:
            value: Json = json.loads(self._text) if self._wants_value else None
        except (ValueError, RecursionError):
            return None
        return value

    def _count(self, usage: Mapping[str, Json]) -> Mapping[str, float]:
        names = {"input": "input_tokens", "output": "output_tokens", "cached": "cached_input_tokens"}
        before = self._before or {}
        return {name: max(0.0, read_number(usage.get(key)) - before.get(key, 0.0)) for name, key in names.items()}


def _read_begun(item: Mapping[str, Json]) -> Iterator[Happening]:
    call = read_text(item.get("id"))
    match item.get("type"):
        case "command_execution":
            yield Happening(kind="command", text=_unwrap(read_text(item.get("command"))), call=call)
        case "file_change":
            paths = (read_text(read_map(change).get("path")) for change in read_list(item.get("changes")))
            yield Happening(kind="tool", text=f"patch {', '.join(paths)}", call=call)
        case "mcp_tool_call":
            tool = f"{read_text(item.get('server'))} {read_text(item.get('tool'))}"
            yield Happening(kind="tool", text=tool, call=call)
        case "web_search":
            yield Happening(kind="tool", text=f"search {read_text(item.get('query'))}", call=call)


def _unwrap(command: str) -> str:
    """The command that a shell was given: that it is a shell which runs it says nothing."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc")
    return words[2] if is_shell else command


def _read_spent(session: str, log: Path) -> Mapping[str, float] | None:
    """What a session has used so far, from the record that the program keeps of it; None if that says nothing."""
    spent: Mapping[str, float] | None = None
    for payload in _read_record(session, log, "token_count"):
        total = read_map(read_map(payload.get("info")).get("total_token_usage"))
        spent = {name: read_number(count) for name, count in total.items()} or spent
    return spent


def _read_model(session: str, log: Path) -> str:
    """The model of the session's last turn, from the same record; its events name none. Else the configured one."""
    named = [read_text(payload.get("model")) for payload in _read_record(session, log, "turn_context")]
    return named[-1] if named else read_text(_read_config().get("model"))


def _read_record(session: str, log: Path, kind: str) -> Iterator[Mapping[str, Json]]:
    """What the program has written down of a session, of one kind, in order."""
    for record in find_files(HOME, log, f"sessions/*/*/*/rollout-*-{session}.jsonl") if session else ():
        with record.open(encoding="utf-8", errors="replace") as lines:
            yield from (_read_payload(line) for line in lines if f'"{kind}"' in line)


def _read_payload(line: str) -> Mapping[str, Json]:
    try:
        return read_map(read_map(json.loads(line)).get("payload"))
    except ValueError:
        return {}


PROGRAM = Program(
    name="codex",
    executables=("codex",),
    build=build_launch,
    open_reader=CodexReader,
    abilities=Abilities(resumes=True, reads_only=True, takes_servers=True, counts_tokens=True),
    keep=(
        "CODEX_HOME",
        "CODEX_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORGANIZATION",
        "OPENAI_PROJECT",
        "AZURE_OPENAI_*",
    ),
    homes=(HOME,),
    tiers={"fast": "", "standard": "", "strong": ""},
    efforts=EFFORTS,
    find=find_native,
    gone=("no rollout found",),
    offline=("waiting for network",),
    install="npm install -g @openai/codex",
    login="codex login",
)
