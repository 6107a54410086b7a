"""Google's generateContent and streamGenerateContent; the model and whether to stream stand in the path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tests.modelserver.conversation import (
    Ask,
    Entry,
    Reply,
    Tool,
    as_list,
    as_map,
    as_text,
    read_tool,
    slices,
    told,
)

from drumline.core.flow.model import Json

STATES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}


class Gemini:
    """The dialect of Gemini CLI."""

    name = "gemini"

    def read(self, path: str, body: Mapping[str, Json]) -> Ask:
        """The question in a body of `POST /v1beta/models/MODEL:generateContent`."""
        model, _, verb = path.rpartition("/")[2].partition(":")
        tools = [tool for group in as_list(body.get("tools")) for tool in _read_tools(as_map(group))]
        return Ask(
            model=model,
            streamed=verb == "streamGenerateContent",
            system=as_text(as_map(body.get("systemInstruction")).get("parts")),
            entries=tuple(entry for content in as_list(body.get("contents")) for entry in _entries(as_map(content))),
            tools={tool.name: tool for tool in tools},
        )

    def write(self, reply: Reply, ask: Ask) -> Json:
        """The whole answer at once."""
        return _answer(reply, ask, _parts(reply, [reply.text] if reply.text else []))

    def stream(self, reply: Reply, ask: Ask) -> Iterator[str]:
        """The answer in frames: text in pieces, then the calls with the end and the count of tokens."""
        pieces = slices(reply.text)
        for piece in pieces[:-1]:
            part = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": piece}]}}]}
            yield f"data: {json.dumps(part)}\r\n\r\n"
        yield f"data: {json.dumps(_answer(reply, ask, _parts(reply, pieces[-1:])))}\r\n\r\n"

    def refuse(self, status: int, message: str) -> Json:
        """The body of an answer that is an error."""
        return {"error": {"code": status, "message": message, "status": STATES.get(status, "INTERNAL")}}


def _read_tools(group: Mapping[str, Json]) -> Iterator[Tool]:
    for declared in as_list(group.get("functionDeclarations")):
        tool = as_map(declared)
        yield read_tool(tool.get("name"), tool.get("parametersJsonSchema") or tool.get("parameters"))


def _entries(content: Mapping[str, Json]) -> Iterator[Entry]:
    parts = [as_map(part) for part in as_list(content.get("parts"))]
    if content.get("role") == "model":
        yield Entry(kind="assistant", text=as_text(parts))
        return
    for part in parts:
        if response := part.get("functionResponse"):
            yield Entry(kind="result", text=json.dumps(as_map(response).get("response")))
        else:
            yield told(as_text(part.get("text")))


def _parts(reply: Reply, texts: list[str]) -> list[Json]:
    said: list[Json] = [{"text": text} for text in texts]
    for call in reply.calls:
        said.append({"functionCall": {"id": call.id, "name": call.tool.name, "args": call.arguments}})
    return said


def _answer(reply: Reply, ask: Ask, parts: list[Json]) -> Json:
    content: Json = {"role": "model", "parts": parts}
    return {
        "responseId": reply.id,
        "modelVersion": ask.model,
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": reply.usage.sent,
            "candidatesTokenCount": reply.usage.received,
            "cachedContentTokenCount": reply.usage.cached,
            "totalTokenCount": reply.usage.sent + reply.usage.received,
        },
    }
