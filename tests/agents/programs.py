"""How each real agent program is pointed at a model server on loopback, and what its last events say.

The rule: a program sees nothing of the user's machine but its own folder; the prompt always goes in on stdin.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.agents.pins import cache_folder, find_program, read_pins

PATIENCE = 180.0
SECRET = "sk-not-for-the-records"  # noqa: S105 - a made-up one, to see that it is not recorded

Events = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentFixture:
    """A folder of its own for one program: a home, a repository, a place for temporary files."""

    home: Path
    work: Path
    temp: Path
    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """The words after the program's name, and what it needs in the environment."""

    words: Sequence[str]
    env: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A program that has ended: its events, and what they say in the end."""

    code: int
    events: Events
    err: str
    text: str
    sent: int
    received: int
    failed: bool
    session: str


def open_fixture(folder: Path, url: str) -> AgentFixture:
    """Make the folders and the repository."""
    agent_home = AgentFixture(home=folder / "home", work=folder / "work", temp=folder / "temp", url=url)
    for place in (agent_home.home, agent_home.work, agent_home.temp):
        place.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(agent_home.work)], check=True)
    return agent_home


def find_entry(name: str) -> Path | None:
    """The installed program, or None."""
    return find_program(read_pins()[name], cache_folder())


def run_program(name: str, agent_home: AgentFixture, prompt: str, *, words: Sequence[str] = ()) -> Ended:
    """Run a program to its end, with further `words` on its command line."""
    entry = find_entry(name)
    assert entry is not None, f"{name} is not installed"
    launch = LAUNCHES[name](agent_home)
    base = {
        "PATH": f"{entry.parent}{os.pathsep}{os.defpath}",
        "HOME": str(agent_home.home),
        "TMPDIR": str(agent_home.temp),
        "TERM": "dumb",
    }
    done = subprocess.run(
        [str(entry), *launch.words, *words],
        input=prompt,
        env={**base, **launch.env},
        cwd=agent_home.work,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Ended(code=done.returncode, events=events, err=done.stderr, **READERS[name](events))


def launch_claude(agent_home: AgentFixture) -> Launch:
    """Claude Code; IS_SANDBOX lets it skip its questions also as root."""
    words = ["-p", "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5"]
    words += ["--strict-mcp-config", "--setting-sources", "", "--dangerously-skip-permissions"]
    return Launch(
        words=words,
        env={
            "CLAUDE_CONFIG_DIR": str(agent_home.home / ".claude"),
            "ANTHROPIC_BASE_URL": agent_home.url,
            "ANTHROPIC_API_KEY": SECRET,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        },
    )


CODEX_CONFIG = """model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_API_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false

[analytics]
enabled = false
"""


def launch_codex(agent_home: AgentFixture) -> Launch:
    """Codex without its sandbox: that does not work with a home below the folder for temporary files."""
    home = agent_home.home / ".codex"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(CODEX_CONFIG.format(url=agent_home.url))
    flags = ["--json", "--skip-git-repo-check", "--disable", "plugins", "--dangerously-bypass-approvals-and-sandbox"]
    return Launch(words=["exec", *flags], env={"CODEX_HOME": str(home), "SCRIPTED_API_KEY": SECRET})


GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "maxAttempts": 2},
}


def launch_gemini(agent_home: AgentFixture) -> Launch:
    """Gemini CLI; a fixed model saves the question which one to take."""
    (agent_home.home / ".gemini").mkdir(exist_ok=True)
    (agent_home.home / ".gemini" / "settings.json").write_text(json.dumps(GEMINI_SETTINGS))
    env = {
        "GEMINI_CLI_HOME": str(agent_home.home),
        "GEMINI_API_KEY": SECRET,
        "GOOGLE_GEMINI_BASE_URL": agent_home.url,
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return Launch(words=["-m", "gemini-2.5-flash", "-o", "stream-json", "--skip-trust", "--yolo"], env=env)


# Without these, and with the list of every model there is, each start takes nearly twice the time.
OPENCODE_SPARES = {"enabled_providers": ["scripted"], "snapshot": False, "lsp": False, "formatter": False}


def launch_opencode(agent_home: AgentFixture) -> Launch:
    """OpenCode with a provider of its own; its many folders and downloads are switched one by one."""
    cost = {"input": 1, "output": 2}
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}, "cost": cost}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{agent_home.url}/v1", "apiKey": SECRET},
        "models": {"scripted": model},
    }
    chosen = "scripted/scripted"
    config = {"model": chosen, "small_model": chosen, "provider": {"scripted": provider}, **OPENCODE_SPARES}
    (agent_home.home / "opencode.json").write_text(json.dumps(config))
    known = agent_home.home / "cache" / "opencode" / "models.json"
    known.parent.mkdir(parents=True, exist_ok=True)
    known.write_text("{}")
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
    places = ("CONFIG", "DATA", "CACHE", "STATE")
    return Launch(
        words=["run", "--format", "json", "--auto"],
        env={
            "OPENCODE_CONFIG": str(agent_home.home / "opencode.json"),
            # On a fresh folder it would fetch its plugin package.
            "npm_config_offline": "true",
            **{f"OPENCODE_DISABLE_{what}": "1" for what in off},
            **{f"XDG_{what}_HOME": str(agent_home.home / what.lower()) for what in places},
        },
    )


QWEN_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
}


def launch_qwen(agent_home: AgentFixture) -> Launch:
    """Qwen Code; what it would ask for its memory at the end counts as the user's tokens."""
    (agent_home.home / ".qwen").mkdir(exist_ok=True)
    (agent_home.home / ".qwen" / "settings.json").write_text(json.dumps(QWEN_SETTINGS))
    env = {
        "OPENAI_API_KEY": SECRET,
        "OPENAI_BASE_URL": f"{agent_home.url}/v1",
        "OPENAI_MODEL": "scripted",
        "QWEN_CODE_NO_RELAUNCH": "true",
    }
    return Launch(words=["--auth-type", "openai", "-o", "stream-json", "--yolo"], env=env)


def launch_goose(agent_home: AgentFixture) -> Launch:
    """Goose with its developer tools only."""
    flags = ["--output-format", "stream-json", "--quiet", "--no-profile", "--with-builtin", "developer", "-i", "-"]
    env = {
        "GOOSE_PATH_ROOT": str(agent_home.home / "goose"),
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
        "OPENAI_HOST": agent_home.url,
        "OPENAI_BASE_PATH": "v1/chat/completions",
        "OPENAI_API_KEY": SECRET,
    }
    return Launch(words=["run", *flags], env=env)


def launch_copilot(agent_home: AgentFixture) -> Launch:
    """Copilot CLI with a provider of one's own, which needs no login."""
    flags = ["--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update"]
    env = {
        "COPILOT_HOME": str(agent_home.home / ".copilot"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{agent_home.url}/v1",
        "COPILOT_PROVIDER_API_KEY": SECRET,
        "COPILOT_MODEL": "scripted",
    }
    return Launch(words=flags, env=env)


def read_claude(events: Events) -> dict[str, Any]:
    """The last line is the result, also for Qwen Code; without one there is none."""
    result = events[-1] if events and events[-1].get("type") == "result" else {}
    usage = result.get("usage", {})
    return {
        "text": result.get("result", ""),
        "sent": usage.get("input_tokens", 0),
        "received": usage.get("output_tokens", 0),
        "failed": result.get("is_error", True),
        "session": result.get("session_id", ""),
    }


def read_codex(events: Events) -> dict[str, Any]:
    """Tokens are in the end of the turn, the text is the last message before it."""
    usage: dict[str, int] = next((e["usage"] for e in events if e["type"] == "turn.completed"), {})
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    texts = [item["text"] for item in items if item["type"] == "agent_message"]
    return {
        "text": (texts or [""])[-1],
        "sent": usage.get("input_tokens", 0),
        "received": usage.get("output_tokens", 0),
        "failed": not usage,
        "session": next((e["thread_id"] for e in events if e["type"] == "thread.started"), ""),
    }


def read_gemini(events: Events) -> dict[str, Any]:
    """Text comes in pieces; what was said before the last use of a tool is not the end."""
    result = next((e for e in events if e["type"] == "result"), {})
    last = max((n for n, event in enumerate(events) if event["type"] == "tool_result"), default=0)
    pieces = (e["content"] for e in events[last:] if e["type"] == "message" and e["role"] == "assistant")
    return {
        "text": "".join(pieces),
        "sent": result.get("stats", {}).get("input_tokens", 0),
        "received": result.get("stats", {}).get("output_tokens", 0),
        "failed": result.get("status") != "success",
        "session": next((e["session_id"] for e in events if e["type"] == "init"), ""),
    }


def read_opencode(events: Events) -> dict[str, Any]:
    """There is no result: the end is a step that finished with `stop`, tokens are told by the step."""
    steps = [event["part"] for event in events if event["type"] == "step_finish"]
    texts = [event["part"]["text"] for event in events if event["type"] == "text"]
    return {
        "text": (texts or [""])[-1],
        "sent": sum(step["tokens"]["input"] for step in steps),
        "received": sum(step["tokens"]["output"] for step in steps),
        "failed": not steps or steps[-1]["reason"] != "stop",
        "session": next((event["sessionID"] for event in events), ""),
    }


def read_goose(events: Events) -> dict[str, Any]:
    """A failure is a text like any other; only that no tokens were used gives it away. The session has no name."""
    end = next((event for event in events if event["type"] == "complete"), {})
    parts = [part for event in events if event["type"] == "message" for part in event["message"]["content"]]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return {
        "text": (texts or [""])[-1],
        "sent": end.get("input_tokens", 0),
        "received": end.get("output_tokens", 0),
        "failed": not end.get("total_tokens"),
        "session": "",
    }


LAUNCHES: Mapping[str, Callable[[AgentFixture], Launch]] = {
    "claude": launch_claude,
    "codex": launch_codex,
    "gemini": launch_gemini,
    "opencode": launch_opencode,
    "qwen": launch_qwen,
    "goose": launch_goose,
}
READERS: Mapping[str, Callable[[Events], dict[str, Any]]] = {
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "opencode": read_opencode,
    "qwen": read_claude,
    "goose": read_goose,
}
