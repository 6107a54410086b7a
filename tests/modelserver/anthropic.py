"""Anthropic's Messages. What a real server would not accept is not checked: the programs under test are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tests.modelserver.conversation import (
    Ask,
    Entry,
    Reply,
    Usage,
    as_list,
    as_map,
    as_text,
    read_tool,
    slices,
    told,
)

from drumline.core.flow.model import Json

REASONS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class Anthropic:
    """The dialect of Claude Code."""

    name = "anthropic"

    def read(self, path: str, body: Mapping[str, Json]) -> Ask:
        """The question in a body of `POST /v1/messages`."""
        tools = (read_tool(as_map(t).get("name"), as_map(t).get("input_schema")) for t in as_list(body.get("tools")))
        return Ask(
            model=as_text(body.get("model")),
            streamed=body.get("stream") is True,
            system=as_text(body.get("system")),
            entries=tuple(entry for m in as_list(body.get("messages")) for entry in _entries(as_map(m))),
            tools={tool.name: tool for tool in tools},
        )

    def write(self, reply: Reply, ask: Ask) -> Json:
        """The whole answer at once."""
        message = {**_head(reply, ask), "content": _blocks(reply), "stop_reason": _reason(reply)}
        return {**message, "usage": _usage(reply.usage)}

    def stream(self, reply: Reply, ask: Ask) -> Iterator[str]:
        """The answer in frames; input is counted in the first, output in the last but one."""
        start = {**_head(reply, ask), "content": [], "stop_reason": None}
        yield _frame("message_start", {"message": {**start, "usage": {**_usage(reply.usage), "output_tokens": 1}}})
        for index, block in enumerate(_blocks(reply)):
            yield from _stream_block(index, block)
        delta: Json = {"stop_reason": _reason(reply), "stop_sequence": None}
        yield _frame("message_delta", {"delta": delta, "usage": {"output_tokens": reply.usage.received}})
        yield _frame("message_stop", {})

    def refuse(self, status: int, message: str) -> Json:
        """The body of an answer that is an error."""
        return {"type": "error", "error": {"type": REASONS.get(status, "api_error"), "message": message}}


def _entries(message: Mapping[str, Json]) -> Iterator[Entry]:
    content = message.get("content")
    if message.get("role") == "assistant":
        yield Entry(kind="assistant", text=as_text(content))
    elif message.get("role") == "system":
        yield Entry(kind="note", text=as_text(content))
    elif isinstance(content, str):
        yield told(content)
    else:
        yield from (_entry(as_map(block)) for block in as_list(content))


def _entry(block: Mapping[str, Json]) -> Entry:
    if block.get("type") == "tool_result":
        return Entry(kind="result", text=as_text(block.get("content")))
    return told(as_text(block.get("text")))


def _head(reply: Reply, ask: Ask) -> dict[str, Json]:
    return {"id": reply.id, "type": "message", "role": "assistant", "model": ask.model, "stop_sequence": None}


def _blocks(reply: Reply) -> list[Mapping[str, Json]]:
    blocks: list[Mapping[str, Json]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for call in reply.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.tool.name, "input": call.arguments})
    return blocks


def _stream_block(index: int, block: Mapping[str, Json]) -> Iterator[str]:
    is_text = block["type"] == "text"
    empty: Mapping[str, Json] = {**block, "text": ""} if is_text else {**block, "input": {}}
    yield _frame("content_block_start", {"index": index, "content_block": empty})
    if is_text:
        deltas = [{"type": "text_delta", "text": piece} for piece in slices(as_text(block["text"]))]
    else:
        text = json.dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in slices(text)]
    for delta in deltas:
        yield _frame("content_block_delta", {"index": index, "delta": delta})
    yield _frame("content_block_stop", {"index": index})


def _reason(reply: Reply) -> str:
    return "tool_use" if reply.calls else "end_turn"


def _usage(usage: Usage) -> dict[str, Json]:
    # Here, unlike in the other dialects, the input does not contain what came from the cache.
    return {
        "input_tokens": usage.sent - usage.cached,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.received,
    }


def _frame(kind: str, fields: Mapping[str, Json]) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"
