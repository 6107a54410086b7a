"""OpenCode, one program per assignment.

The rule: it has no final event, so it is done only if its last step stopped by itself. On an empty answer of the model
it asks for ever, so that only the limits of the assignment end it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from drumline.agents.edited import describe_edit
from drumline.agents.handover import write_private
from drumline.agents.lineups import first_known, line_up, read_settings
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.reading import read_list, read_map, read_number, read_text, read_value
from drumline.agents.verdicts import explain_end, explain_failure
from drumline.core.flow.model import Json
from drumline.core.taxonomy import Failure
from drumline.isolation.homes import Home
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.profiles import McpServer
from drumline.record import replace

KEYS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "anthropic",
    "OPENAI_API_KEY": "openai",
    "GEMINI_API_KEY": "google",
    "GOOGLE_GENERATIVE_AI_API_KEY": "google",
    "OPENROUTER_API_KEY": "openrouter",
    "OPENCODE_API_KEY": "opencode",
}
SETTINGS = ("opencode.json", "opencode.jsonc")
WRITERS = ("write", "edit", "patch", "apply_patch", "multiedit")
REFUSED = re.compile(r"rejected permission|prevents you from using|denied", re.IGNORECASE)
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


CONFIG = Home(
    places=("$XDG_CONFIG_HOME/opencode/", "~/.config/opencode/"), inside="config/opencode", variable="XDG_CONFIG_HOME"
)
DATA = Home(
    places=("$XDG_DATA_HOME/opencode/", "~/.local/share/opencode/"),
    inside="share/opencode",
    variable="XDG_DATA_HOME",
    tokens=("auth.json", "mcp-auth.json"),
    sessions=("drumline",),
    # Its sessions are all in one database: this one is kept with the run, the user's own is not touched.
    env=(("OPENCODE_DB", "drumline/opencode.db"),),
    apart=True,
    omitted=("*.db", "*.db-shm", "*.db-wal", "log", "project", "repos", "snapshot", "storage", "tool-output"),
)
STATE = Home(
    places=("$XDG_STATE_HOME/opencode/", "~/.local/state/opencode/"),
    inside="state/opencode",
    variable="XDG_STATE_HOME",
    omitted=("prompt-history.jsonl",),
)
CACHE = Home(
    places=("$XDG_CACHE_HOME/opencode/", "~/.cache/opencode/"), inside="cache/opencode", variable="XDG_CACHE_HOME"
)


def build_launch(assignment: Assignment, setting: Setting) -> Launch:
    """The command for an assignment. The prompt goes in on stdin, instructions are a file."""
    argv = [str(setting.executable), "run", "--format", "json", "--auto"]
    argv += ["--model", setting.model] if setting.model else []
    argv += ["--session", assignment.session] if assignment.session else []
    env = {
        # The user's own configuration still counts; this is laid over it.
        "OPENCODE_CONFIG_CONTENT": json.dumps(_write_config(assignment, setting)),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }
    return Launch(argv=tuple(argv), stdin=assignment.prompt, env=env)


def _write_config(assignment: Assignment, setting: Setting) -> Mapping[str, Json]:
    config: dict[str, Json] = {"share": "disabled", "autoupdate": False}
    if rules := _write_rules(assignment, setting):
        config["permission"] = rules
    if assignment.instructions:
        config["instructions"] = [write_private(setting.scratch / "instructions.md", assignment.instructions)]
    if setting.servers:
        config["mcp"] = {server.name: _describe(server) for server in setting.servers}
    return config


def _write_rules(assignment: Assignment, setting: Setting) -> dict[str, Json]:
    """What it may do; what is not refused here it does unasked. Without a jail its own rules keep it in its folder."""
    rules: dict[str, Json] = {}
    if assignment.tools is not None:
        rules |= {"*": "deny", **dict.fromkeys(assignment.tools, "allow")}
        rules |= {f"{server.name}_*": "allow" for server in setting.servers}
    if not setting.jailed:
        own = [] if assignment.read_only else assignment.writable
        rules["external_directory"] = {"*": "deny", **{f"{folder}/*": "allow" for folder in own}}
    if assignment.read_only:
        rules["edit"] = "deny"
    if assignment.read_only and not setting.jailed:
        rules["bash"] = "deny"
    return rules


def _describe(server: McpServer) -> Mapping[str, Json]:
    if server.url:
        return {"type": "remote", "url": server.url, "enabled": True}
    return {"type": "local", "command": list(server.command), "environment": dict(server.env), "enabled": True}


def suggest_models(folder: Path) -> Mapping[str, str]:
    """Models for the tiers: of the provider of the model it would use, else of one whose key is there."""
    configs = [read_settings(place) for place in _find_settings(folder)]
    remembered = read_settings(_find_folder("XDG_STATE_HOME", "~/.local/state") / "model.json") or {}
    if None in configs:
        return {}
    known = [config for config in configs if config]
    recent = [read_map(item) for item in read_list(remembered.get("recent"))]
    models = [read_text(config.get("model")) for config in known]
    models += [f"{name}/" for item in recent[:1] if (name := read_text(item.get("providerID")))]
    model = next((model for model in models if model), "")
    provider = model.partition("/")[0] or _find_provider()
    moved = [read_map(read_map(config.get("provider")).get(provider)) for config in known]
    if any(read_map(own.get("options")).get("baseURL") for own in moved):
        return {}
    return line_up(provider, own=bool(model), prefix=f"{provider}/")


def _find_settings(folder: Path) -> Iterator[Path]:
    """Where it looks for its configuration, what counts more before the rest."""
    places = [folder / ".opencode", folder]
    if own := os.environ.get("OPENCODE_CONFIG_DIR"):
        places.append(Path(own))
    yield from (place / name for place in places for name in SETTINGS)
    if named := os.environ.get("OPENCODE_CONFIG"):
        yield Path(named)
    yield from (_find_folder("XDG_CONFIG_HOME", "~/.config") / name for name in SETTINGS)


def _find_folder(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path(usual).expanduser()) / "opencode"


def _find_provider() -> str:
    """A provider that lets the user in: one of its logins, else one with a key in the environment."""
    logins = read_settings(_find_folder("XDG_DATA_HOME", "~/.local/share") / "auth.json") or {}
    return first_known(logins) or first_known(name for key, name in KEYS.items() if os.environ.get(key))


class OpenCodeReader:
    """Understands the stream of one run, which is a row of steps."""

    def __init__(self, assignment: Assignment) -> None:
        self._wants_value = assignment.output_schema is not None
        self._session = ""
        self._text = ""
        self._reason = ""
        self._error: Mapping[str, Json] | None = None
        self._usage = {"input": 0.0, "output": 0.0, "cached": 0.0}
        self._cost = 0.0
        self._notices: list[str] = []

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event means."""
        if not self._session and (session := read_text(event.get("sessionID"))):
            self._session = session
            yield Happening(kind="session", text=session)
        part = read_map(event.get("part"))
        match event.get("type"):
            case "step_start":
                self._text, self._reason, self._error = "", "", None
            case "text":
                self._text = read_text(part.get("text"))
                yield Happening(kind="text", text=self._text)
            case "tool_use":
                yield from self._read_use(part)
            case "step_finish":
                self._reason = read_text(part.get("reason"))
                self._add(part)
                yield Happening(kind="usage", usage=self._count())
            case "error":
                self._error = read_map(event.get("error"))

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome by how the last step ended."""
        return replace(
            self._judge(ended),
            usage=self._count(),
            source="opencode",
            session=self._session,
            notices=tuple(self._notices),
        )

    def _judge(self, ended: Ended) -> Outcome:
        if self._error is not None:
            return _explain(self._error)
        if self._reason == "stop":
            return Outcome(message=self._text, structured=read_value(self._text) if self._wants_value else None)
        if self._reason in ("length", "content-filter"):
            why = f"the model's answer was cut off ({self._reason}): {self._text}"
            return Outcome(failure=Failure.VALIDATION.value, message=why)
        return explain_end(ended, "a step that stopped by itself")

    def _read_use(self, part: Mapping[str, Json]) -> Iterator[Happening]:
        tool, state = read_text(part.get("tool")), read_map(part.get("state"))
        given = read_map(state.get("input"))
        done = state.get("status") == "completed"
        what = read_text(given.get("filePath")) or read_text(given.get("pattern")) or read_text(given.get("path"))
        call = read_text(part.get("callID"))
        if tool == "bash":
            yield Happening(kind="command", text=read_text(given.get("command")), call=call)
        elif tool in WRITERS and done:
            patched = PATCHED.findall(read_text(given.get("patchText")))
            for path in patched or [what]:
                yield Happening(kind="edit", text=path, call=call, detail=describe_edit(given, path))
        else:
            yield Happening(kind="tool", text=f"{tool} {what}".strip(), call=call)
        said = read_text(state.get("output")) or read_text(state.get("error"))
        failed = not done or bool(read_number(read_map(state.get("metadata")).get("exit")))
        yield Happening(kind="result", call=call, failed=failed, detail=said)
        if not done and REFUSED.search(why := read_text(state.get("error"))):
            self._notices.append(f"it was not allowed to use {tool}: {why[:300]}")
            yield Happening(kind="notice", text=self._notices[-1])

    def _add(self, part: Mapping[str, Json]) -> None:
        tokens = read_map(part.get("tokens"))
        cache = read_map(tokens.get("cache"))
        self._usage["input"] += read_number(tokens.get("input"))
        self._usage["input"] += read_number(cache.get("read")) + read_number(cache.get("write"))
        self._usage["output"] += read_number(tokens.get("output")) + read_number(tokens.get("reasoning"))
        self._usage["cached"] += read_number(cache.get("read"))
        self._cost += read_number(part.get("cost"))

    def _count(self) -> Mapping[str, float]:
        """What all steps took; it says 0 where it knows no price."""
        return {**self._usage, "cost_usd": self._cost} if self._cost else dict(self._usage)


def _explain(error: Mapping[str, Json]) -> Outcome:
    data = read_map(error.get("data"))
    name = read_text(error.get("name"))
    wait = read_text(read_map(data.get("responseHeaders")).get("retry-after"))
    message = ": ".join(part for part in (name, read_text(data.get("message"))) if part)
    return explain_failure(
        message or "an error without words",
        status=int(read_number(data.get("statusCode"))) or None,
        wait=float(wait) if wait.isascii() and wait.isdigit() else None,
    )


PROGRAM = Program(
    name="opencode",
    executables=("opencode",),
    build=build_launch,
    open_reader=OpenCodeReader,
    abilities=Abilities(resumes=True, reads_only=True, takes_servers=True, counts_tokens=True, prices=True),
    # It works with any provider; these are the keys of the most used ones, beside those it keeps itself.
    keep=(
        "OPENCODE_API_KEY",
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_DIR",
        "OPENCODE_DISABLE_*",
        "npm_config_offline",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "OPENROUTER_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "DEEPSEEK_API_KEY",
        "XAI_API_KEY",
    ),
    homes=(CONFIG, DATA, STATE, CACHE),
    suggest=suggest_models,
    gone=("Session not found", "NotFoundError"),
    install="npm install -g opencode-ai",
    login="opencode auth login",
)
