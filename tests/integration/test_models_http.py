"""A provider over real HTTP: a loopback server speaks the chat protocol, and every way to fail has its class."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import pytest

from drumline.core.ids import RunId
from drumline.models import open_models
from drumline.ports.agents import Agent
from drumline.ports.models import Answer, Question
from drumline.ports.processes import Ended, Job
from drumline.testing.processes import FakeProcesses

KEY = "sk-loopback-0123456789"
Reply = tuple[int, dict[str, object]]


class Provider(ThreadingHTTPServer):
    """Answers each request by the next reply; `requests` keeps what was asked, `gate` holds replies back."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, replies: list[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.replies = replies
        self.requests: list[dict[str, object]] = []
        self.asked = threading.Event()
        self.gate = threading.Event()
        self.gate.set()


class Exchange(BaseHTTPRequestHandler):
    """One request to the loopback provider."""

    server: Provider
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append(json.loads(body))
        self.server.asked.set()
        self.server.gate.wait(30)
        replies = self.server.replies
        status, reply = replies.pop(0) if len(replies) > 1 else replies[0]
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on the terminal."""


Serve = Callable[[list[Reply]], Provider]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a provider that the environment leads to."""
    started: list[tuple[Provider, threading.Thread]] = []

    def start(replies: list[Reply]) -> Provider:
        provider = Provider(replies)
        thread = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        started.append((provider, thread))
        lead_to(monkeypatch, provider.server_port)
        return provider

    yield start
    for provider, thread in started:
        provider.gate.set()
        provider.shutdown()
        provider.server_close()
        thread.join()


def lead_to(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def completion(text: str | None, *calls: tuple[str, dict[str, object]]) -> Reply:
    """A chat completion that says something or calls tools."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for n, (name, args) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return 200, {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [choice],
        "usage": usage,
    }


def fault(status: int, said: str, code: str = "") -> Reply:
    return status, {"error": {"message": said, "type": "error", "code": code or None}}


def refuse_agent(spec: str) -> Agent:
    raise AssertionError(spec)


def no_command(job: Job) -> Ended:
    raise AssertionError(job)


def build(folder: Path, **given: object) -> Question:
    workspace = folder / "work"
    workspace.mkdir(exist_ok=True)
    fields: dict[str, object] = {"model": "openai-chat:tiny", "prompt": "what now?", "instructions": "be brief"}
    return Question(
        run=RunId("r1"),
        node="ask",
        workspace=workspace,
        log=folder / "ask.log",
        **(fields | given),  # type: ignore[arg-type]  # a test's own fields
    )


def ask(question: Question) -> Answer:
    models = open_models(open_agent=refuse_agent, processes=FakeProcesses(no_command))
    return anyio.run(models.ask, question)


def test_a_provider_is_asked_with_the_questions_settings(serve: Serve, tmp_path: Path) -> None:
    provider = serve([completion("42")])

    answer = ask(build(tmp_path, temperature=0.5, top_p=0.25))

    asked = provider.requests[0]
    assert (answer.text, answer.failure) == ("42", "")
    assert (answer.usage["input"], answer.usage["output"], answer.usage["requests"]) == (10, 5, 1)
    assert (asked["model"], asked["temperature"], asked["top_p"]) == ("tiny", 0.5, 0.25)
    assert "what now?" in json.dumps(asked["messages"])
    assert "be brief" in json.dumps(asked["messages"])
    assert "tools" not in asked


def test_the_text_is_that_of_the_last_turn_and_tools_see_the_workspace(serve: Serve, tmp_path: Path) -> None:
    provider = serve([completion("let me look", ("fs_cat", {"path": "note.txt"})), completion('{"ok": true}')])
    question = build(tmp_path, tools=("fs_cat.sh",))
    (question.workspace / "note.txt").write_text("the word is drum\n")

    answer = ask(question)

    assert answer.text == '{"ok": true}'
    assert answer.usage["requests"] == 2
    assert [tool["function"]["name"] for tool in provider.requests[0]["tools"]] == ["fs_cat"]  # type: ignore[attr-defined]
    assert "the word is drum" in json.dumps(provider.requests[1]["messages"])
    log = question.log.read_text()
    assert log.index("what now?") < log.index("let me look") < log.index("the word is drum") < log.index('{"ok"')


def test_a_model_that_never_stops_calling_tools_hits_its_limit(serve: Serve, tmp_path: Path) -> None:
    provider = serve([completion(None, ("fs_ls", {}))])

    answer = ask(build(tmp_path, tools=("list",), max_iterations=3))

    assert answer.failure == "permanent"
    assert "hit max_iterations (3)" in answer.message
    assert len(provider.requests) == 3
    assert answer.usage["requests"] == 3


def test_a_tool_that_is_not_named_cannot_be_called(serve: Serve, tmp_path: Path) -> None:
    provider = serve([completion(None, ("execute_command", {"command": "touch hacked"})), completion("sorry")])
    question = build(tmp_path, tools=("read",))

    answer = ask(question)

    assert answer.text == "sorry"
    assert "execute_command" in json.dumps(provider.requests[1]["messages"])
    assert list(question.workspace.iterdir()) == []


@pytest.mark.parametrize(
    ("reply", "failure", "said"),
    [
        (fault(429, "slow down", "rate_limit_exceeded"), "transient", "rate limit"),
        (fault(429, "no credit left", "insufficient_quota"), "quota", "quota"),
        (fault(500, "oops"), "transient", "500"),
        (fault(503, "busy"), "transient", "503"),
        (fault(401, f"bad key {KEY}"), "auth", "401"),
        (fault(403, "not for you"), "auth", "403"),
        (fault(402, "pay first"), "billing", "402"),
        (fault(400, "what?"), "permanent", "400"),
        (fault(404, "no such model"), "permanent", "404"),
    ],
)
def test_what_a_provider_refuses_has_its_class(
    serve: Serve, tmp_path: Path, reply: Reply, failure: str, said: str
) -> None:
    serve([reply])
    question = build(tmp_path)

    answer = ask(question)

    assert (answer.text, answer.failure) == ("", failure)
    assert said in answer.message
    assert said in question.log.read_text()
    assert KEY not in answer.message + question.log.read_text()


def test_a_provider_that_nobody_serves_is_a_refused_connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        lead_to(monkeypatch, closed.getsockname()[1])

        answer = ask(build(tmp_path))

    assert answer.failure == "transient"
    assert "Connection refused" in answer.message


def test_a_provider_that_hangs_is_left_when_the_question_is_cancelled(serve: Serve, tmp_path: Path) -> None:
    provider = serve([completion("too late")])
    provider.gate.clear()

    async def cancel_once_asked() -> bool:
        models = open_models(open_agent=refuse_agent, processes=FakeProcesses(no_command))
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(models.ask, build(tmp_path))
                await anyio.to_thread.run_sync(provider.asked.wait)
                scope.cancel()
        return scope.cancelled_caught

    assert anyio.run(cancel_once_asked)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai:gpt-6-luna", "OPENAI_API_KEY"),
        ("claude:claude-haiku-5-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-4-argon", "GOOGLE_API_KEY"),
        ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY"),
    ],
)
def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str, name: str) -> None:
    for key in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)

    answer = ask(build(tmp_path, model=model))

    assert answer.failure == "auth"
    assert name in answer.message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "nobody:x"}, "nobody:x"),
        ({"tools": ("fs_cat", "fs_eat", "sudo")}, "unknown tool 'fs_eat', 'sudo' (legal: fs_cat, "),
        ({"tools": ("mcp:ghost",)}, "unknown MCP server 'ghost' (configured: none)"),
        ({"reasoning_effort": "huge"}, "'huge' is unknown (legal: none, minimal, low"),
    ],
)
def test_what_cannot_be_asked_fails_for_good(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, object], said: str
) -> None:
    lead_to(monkeypatch, 9)

    answer = ask(build(tmp_path, **given))

    assert answer.failure == "permanent"
    assert said in answer.message


def test_a_secret_is_not_in_the_transcript_even_if_the_model_says_it(serve: Serve, tmp_path: Path) -> None:
    serve([completion(f"your key is {KEY}")])
    question = build(tmp_path, prompt=f"my key is {KEY}")

    answer = ask(question)

    assert "your key is [secret]" in question.log.read_text()
    assert KEY not in question.log.read_text() + answer.text
