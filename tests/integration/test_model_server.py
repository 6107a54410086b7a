"""The scripted model server over real HTTP: one scenario in every dialect, faults, and what is recorded."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.modelserver import (
    Answer,
    Cut,
    Hang,
    ModelServer,
    Read,
    Refuse,
    Run,
    Scenario,
    Turn,
    Usage,
    Use,
    Write,
    read_scenarios,
)

from drumline.errors import InvalidInput

DIALECTS = ("anthropic", "responses", "chat", "gemini")
PATH = {"type": "object", "properties": {"file_path": {}, "content": {}}, "required": ["file_path", "content"]}
COMMAND = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "reason": {"type": "string"}},
    "required": ["command", "reason"],
}
TOOLS = {"write_file": PATH, "shell": COMMAND}


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The data of a stream of events."""
        lines = (line.removeprefix("data: ") for line in self.text.splitlines() if line.startswith("data: {"))
        return [json.loads(line) for line in lines]


def ask(server: ModelServer, path: str, body: object, *, headers: Mapping[str, str] | None = None) -> Heard:
    """Post to a server and read all of its answer."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), dict(headers or {}))
        answer = connection.getresponse()
        return Heard(status=answer.status, headers=dict(answer.getheaders()), text=answer.read().decode())
    finally:
        connection.close()


def request(dialect: str, prompt: str, *, streamed: bool, said: int = 0) -> tuple[str, dict[str, Any]]:
    """Path and body of a question after `said` turns of the model, each with one result of a tool."""
    if dialect == "anthropic":
        asked = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
        turn = [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "shell", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]},
        ]
        tools: list[dict[str, Any]] = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
        return "/v1/messages?beta=true", {"messages": asked + turn * said, "stream": streamed, "tools": tools}
    if dialect == "responses":
        asked = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}]
        turn = [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "…"}]},
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
        ]
        tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in TOOLS.items()]
        return "/v1/responses", {"input": asked + turn * said, "stream": streamed, "tools": tools}
    if dialect == "chat":
        asked = [{"role": "user", "content": prompt}]
        turn = [{"role": "assistant", "content": "…"}, {"role": "tool", "tool_call_id": "c", "content": "ok"}]
        tools = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in TOOLS.items()]
        return "/v1/chat/completions", {"messages": asked + turn * said, "stream": streamed, "tools": tools}
    asked = [{"role": "user", "parts": [{"text": prompt}]}]
    turn = [
        {"role": "model", "parts": [{"functionCall": {"name": "shell", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "ok"}}}]},
    ]
    tools = [{"functionDeclarations": [{"name": n, "parametersJsonSchema": s} for n, s in TOOLS.items()]}]
    verb = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    return f"/v1beta/models/m:{verb}", {"contents": asked + turn * said, "tools": tools}


def texts_in(dialect: str, heard: Heard, *, streamed: bool) -> str:
    """The text the model said."""
    frames = heard.frames if streamed else [json.loads(heard.text)]
    if dialect == "anthropic" and streamed:
        return "".join(f["delta"].get("text", "") for f in frames if f["type"] == "content_block_delta")
    if dialect == "anthropic":
        return "".join(block.get("text", "") for block in frames[0]["content"])
    if dialect == "responses" and streamed:
        return "".join(f["delta"] for f in frames if f["type"] == "response.output_text.delta")
    if dialect == "responses":
        return "".join(part["text"] for item in frames[0]["output"] for part in item.get("content", []))
    if dialect == "chat":
        key = "delta" if streamed else "message"
        return "".join(choice[key].get("content") or "" for frame in frames for choice in frame["choices"])
    parts = [part for frame in frames for part in frame["candidates"][0]["content"]["parts"]]
    return "".join(part.get("text", "") for part in parts)


def calls_in(dialect: str, heard: Heard, *, streamed: bool) -> list[tuple[str, Any]]:
    """The tools the model used, with the arguments."""
    frames = heard.frames if streamed else [json.loads(heard.text)]
    if dialect == "anthropic" and streamed:
        names = [f["content_block"]["name"] for f in frames if f.get("content_block", {}).get("type") == "tool_use"]
        pieces = "".join(f["delta"].get("partial_json", "") for f in frames if f["type"] == "content_block_delta")
        return [(name, json.loads(pieces)) for name in names]
    if dialect == "anthropic":
        return [(block["name"], block["input"]) for block in frames[0]["content"] if block["type"] == "tool_use"]
    if dialect == "responses":
        items = [f["item"] for f in frames if f["type"].endswith(".done")] if streamed else frames[0]["output"]
        return [(i["name"], json.loads(i["arguments"])) for i in items if i["type"] == "function_call"]
    if dialect == "chat":
        key = "delta" if streamed else "message"
        messages = [choice[key] for frame in frames for choice in frame["choices"]]
        used = [call["function"] for message in messages for call in message.get("tool_calls") or []]
        return [(function["name"], json.loads(function["arguments"])) for function in used]
    parts = [part for frame in frames for part in frame["candidates"][0]["content"]["parts"]]
    return [(p["functionCall"]["name"], p["functionCall"]["args"]) for p in parts if "functionCall" in p]


def tokens_in(dialect: str, heard: Heard, *, streamed: bool) -> tuple[int, int, int]:
    """Sent, received and cached tokens, as the answer has them in the end."""
    frames = heard.frames if streamed else [json.loads(heard.text)]
    if dialect == "anthropic":
        first = frames[0]["message"]["usage"] if streamed else frames[0]["usage"]
        last = frames[-2]["usage"] if streamed else first
        cached = first["cache_read_input_tokens"]
        return first["input_tokens"] + cached, last["output_tokens"], cached
    if dialect == "responses":
        usage = frames[-1]["response"]["usage"] if streamed else frames[0]["usage"]
        return usage["input_tokens"], usage["output_tokens"], usage["input_tokens_details"]["cached_tokens"]
    if dialect == "chat":
        usage = frames[-1]["usage"]
        return usage["prompt_tokens"], usage["completion_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
    usage = frames[-1]["usageMetadata"]
    return usage["promptTokenCount"], usage["candidatesTokenCount"], usage["cachedContentTokenCount"]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_turn_is_said_in_the_words_of_the_agent(dialect: str, streamed: bool) -> None:
    turn = Turn(
        text="Now.", calls=(Write(path="a.txt", content="a\n"),), usage=Usage(sent=500, received=40, cached=300)
    )
    path, body = request(dialect, "go", streamed=streamed)

    with ModelServer([Scenario(turns=(turn,))]) as server:
        heard = ask(server, path, body)

    assert heard.status == 200
    assert texts_in(dialect, heard, streamed=streamed) == "Now."
    assert calls_in(dialect, heard, streamed=streamed) == [("write_file", {"file_path": "a.txt", "content": "a\n"})]
    assert tokens_in(dialect, heard, streamed=streamed) == (500, 40, 300)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_turn_follows_from_how_often_the_model_has_spoken(dialect: str) -> None:
    scenario = Scenario(turns=(Turn(text="one"), Turn(text="two"), Turn(text="three")))

    with ModelServer([scenario]) as server:
        heard = [ask(server, *request(dialect, "go", streamed=False, said=said)) for said in (0, 1, 2, 3)]

    assert [texts_in(dialect, answer, streamed=False) for answer in heard] == ["one", "two", "three", "three"]


def test_the_newest_prompt_with_a_mark_chooses_the_scenario() -> None:
    scenarios = [
        Scenario(name="first", when="STEP-1", turns=(Turn(text="1a"), Turn(text="1b"))),
        Scenario(name="second", when="STEP-2", turns=(Turn(text="2a"),)),
        Scenario(name="rest", turns=(Turn(text="any"),)),
    ]
    path, body = request("chat", "do STEP-1", streamed=False, said=1)
    later = {**body, "messages": [*body["messages"], {"role": "user", "content": "now STEP-2"}]}

    with ModelServer(scenarios) as server:
        answers = [
            texts_in("chat", ask(server, path, asked), streamed=False)
            for asked in (body, later, request("chat", "else", streamed=False)[1])
        ]

    assert answers == ["1b", "2a", "any"]
    assert [(r.scenario, r.turn) for r in server.turns] == [("first", 1), ("second", 0), ("rest", 0)]


def test_what_a_program_adds_in_a_tag_is_no_new_prompt() -> None:
    path, body = request("anthropic", "go", streamed=False, said=1)
    body["messages"][-1]["content"].append({"type": "text", "text": "<system-reminder>be brief</system-reminder>"})

    with ModelServer([Scenario(turns=(Turn(text="one"), Turn(text="two")))]) as server:
        heard = ask(server, path, body)

    assert texts_in("anthropic", heard, streamed=False) == "two"


def test_arguments_a_tool_insists_on_are_filled_in() -> None:
    with ModelServer([Scenario(turns=(Turn(calls=(Run(command="ls"), Read(path="a b"))),))]) as server:
        heard = ask(server, *request("chat", "go", streamed=False))

    assert calls_in("chat", heard, streamed=False) == [
        ("shell", {"command": "ls", "reason": "as asked"}),
        ("shell", {"command": "cat 'a b'", "reason": "as asked"}),
    ]


def test_a_patch_tool_gets_a_patch_as_plain_text() -> None:
    path, body = request("responses", "go", streamed=False)
    body["tools"] = [{"type": "custom", "name": "apply_patch", "format": {}}]

    with ModelServer([Scenario(turns=(Turn(calls=(Write(path="a.txt", content="x\ny\n"),)),))]) as server:
        [item] = json.loads(ask(server, path, body).text)["output"]

    assert (item["type"], item["name"]) == ("custom_tool_call", "apply_patch")
    assert item["input"] == "*** Begin Patch\n*** Add File: a.txt\n+x\n+y\n*** End Patch\n"


def test_a_path_is_told_from_the_root_where_the_agent_says_where_it_works() -> None:
    path, body = request("chat", "go", streamed=False)
    body["messages"].insert(0, {"role": "system", "content": "Working directory: /srv/my repo\nBe kind."})

    with ModelServer([Scenario(turns=(Turn(calls=(Write(path="a.txt", content=""),)),))]) as server:
        [(_, arguments)] = calls_in("chat", ask(server, path, body), streamed=False)

    assert arguments["file_path"] == "/srv/my repo/a.txt"


@pytest.mark.parametrize("offered", [True, False], ids=["by its tool", "as text"])
def test_a_structured_answer_goes_where_the_agent_wants_it(offered: bool) -> None:
    path, body = request("chat", "go", streamed=False)
    if offered:
        body["tools"].append({"type": "function", "function": {"name": "StructuredOutput", "parameters": {}}})

    with ModelServer([Scenario(turns=(Turn(answer=Answer(value={"verdict": "ok"})),))]) as server:
        heard = ask(server, path, body)

    if offered:
        assert calls_in("chat", heard, streamed=False) == [("StructuredOutput", {"verdict": "ok"})]
    else:
        assert json.loads(texts_in("chat", heard, streamed=False)) == {"verdict": "ok"}


def test_a_tool_of_a_server_is_found_by_the_end_of_its_name() -> None:
    path, body = request("chat", "go", streamed=False)
    body["tools"] = [{"type": "function", "function": {"name": "mcp__tracker__close", "parameters": {}}}]

    with ModelServer([Scenario(turns=(Turn(calls=(Use(tool="close", arguments={"id": 7}),)),))]) as server:
        heard = ask(server, path, body)

    assert calls_in("chat", heard, streamed=False) == [("mcp__tracker__close", {"id": 7})]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refusal_has_a_status_a_reason_and_the_time_to_wait(dialect: str) -> None:
    fault = Refuse(status=429, message="slow down", retry_after=2, times=1)
    asked = request(dialect, "go", streamed=True)

    with ModelServer([Scenario(turns=(Turn(text="done", fault=fault),))]) as server:
        first, second = ask(server, *asked), ask(server, *asked)

    assert (first.status, first.headers["retry-after"]) == (429, "2")
    assert json.loads(first.text)["error"]["message"] == "slow down"
    assert (second.status, texts_in(dialect, second, streamed=True)) == (200, "done")
    assert [r.played for r in server.turns] == ["refuse", "turn"]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cut_answer_breaks_off_in_the_middle(dialect: str, streamed: bool) -> None:
    asked = request(dialect, "go", streamed=streamed)

    with ModelServer([Scenario(turns=(Turn(text="in the end", fault=Cut(times=1)),))]) as server:
        with pytest.raises(http.client.IncompleteRead) as caught:
            ask(server, *asked)
        whole = ask(server, *asked).text

    assert 0 < len(caught.value.partial) < len(whole)


def test_a_hanging_answer_ends_with_the_server() -> None:
    errors: list[Exception] = []

    def wait(server: ModelServer) -> None:
        try:
            ask(server, *request("chat", "go", streamed=True))
        except http.client.RemoteDisconnected as error:
            errors.append(error)

    with ModelServer([Scenario(turns=(Turn(fault=Hang()),))]) as server:
        waiting = Thread(target=wait, args=(server,))
        waiting.start()
        came = server.wait_for(lambda request: request.played == "hang", seconds=30)
        was_waiting = waiting.is_alive()
    waiting.join(30)

    assert came is not None
    assert was_waiting
    assert len(errors) == 1


def test_a_huge_text_arrives_in_many_pieces() -> None:
    with ModelServer([Scenario(turns=(Turn(text="x" * 1_000_000),))]) as server:
        heard = ask(server, *request("anthropic", "go", streamed=True))

    assert len(heard.frames) > 200
    assert texts_in("anthropic", heard, streamed=True) == "x" * 1_000_000


@pytest.mark.parametrize("asked", ["You are a title generator. Only a title.", "Generate a short title for this."])
def test_a_title_is_given_without_playing_the_scenario(asked: str) -> None:
    path, body = request("chat", "go", streamed=False)
    body["messages"].insert(0, {"role": "system", "content": asked})

    with ModelServer([Scenario(turns=(Turn(text="one"),))]) as server:
        heard = ask(server, path, body)

    assert texts_in("chat", heard, streamed=False) != "one"
    assert [request.played for request in server.requests] == ["aside"]
    assert server.turns == ()


def test_a_turn_that_cannot_be_played_says_why() -> None:
    path, body = request("chat", "go", streamed=False)
    del body["tools"]

    with ModelServer([Scenario(turns=(Turn(calls=(Run(command="ls"),)),))]) as server:
        heard = ask(server, path, body)

    assert heard.status == 400
    assert "the agent offers nothing" in heard.text
    assert server.requests[0].played.startswith("impossible: ")


def test_secrets_are_not_recorded() -> None:
    path, body = request("gemini", "go", streamed=False)
    secrets = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "X-Goog-Api-Key": "s3cret", "User-Agent": "me"}

    with ModelServer([Scenario(turns=(Turn(text="ok"),))]) as server:
        ask(server, f"{path}?key=s3cret", body, headers=secrets)

    [recorded] = server.requests
    assert "s3cret" not in repr(recorded)
    assert recorded.headers["user-agent"] == "me"
    assert recorded.headers["authorization"] == "redacted"


@pytest.mark.parametrize(
    ("path", "key"), [("/v1/messages/count_tokens", "input_tokens"), ("/v1beta/models/m:countTokens", "totalTokens")]
)
def test_tokens_are_counted(path: str, key: str) -> None:
    with ModelServer([]) as server:
        heard = ask(server, path, {"messages": ["x" * 400]})

    assert json.loads(heard.text)[key] > 100


def test_models_are_listed() -> None:
    with ModelServer([]) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read())
        connection.close()

    assert "scripted" in [model["id"] for model in listed["data"]]


def test_scenarios_are_read_from_yaml() -> None:
    text = """
- name: hello
  when: HELLO
  turns:
    - text: Now.
      filler: 3
      calls: [{write: {path: a, content: b}}, {run: ls}, {read: a}, {use: {tool: close, arguments: {id: 7}}}]
      usage: {sent: 1, received: 2, cached: 0}
    - refuse: {status: 429, retry_after: 1, times: 2}
      pause: 0.5
    - answer: [1]
"""

    [scenario] = read_scenarios(text)

    calls = (Write(path="a", content="b"), Run(command="ls"), Read(path="a"), Use(tool="close", arguments={"id": 7}))
    assert scenario == Scenario(
        name="hello",
        when="HELLO",
        turns=(
            Turn(text="Now.xxx", calls=calls, usage=Usage(sent=1, received=2)),
            Turn(fault=Refuse(status=429, retry_after=1, times=2), pause=0.5),
            Turn(answer=Answer(value=[1])),
        ),
    )


def test_every_problem_of_scenarios_is_told_at_once() -> None:
    text = "- turns: [{txt: a, pause: soon, calls: [{fly: up}, {write: {path: a}}]}]\n- {name: empty}\n"

    with pytest.raises(InvalidInput) as caught:
        read_scenarios(text)

    told = str(caught.value)
    for words in ("txt", "pause is a number", "fly", "'content'", "scenario 2: it has no turns"):
        assert words in told
