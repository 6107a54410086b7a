"""OpenAI's Responses, as Codex speaks them: function tools, freeform tools, everything in one stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tests.modelserver.conversation import (
    Ask,
    Call,
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
from drumline.record import replace

RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})


class Responses:
    """The dialect of Codex."""

    name = "responses"

    def read(self, path: str, body: Mapping[str, Json]) -> Ask:
        """The question in a body of `POST /v1/responses`."""
        asked = body.get("input")
        items = [{"role": "user", "content": asked}] if isinstance(asked, str) else as_list(asked)
        tools = (tool for given in as_list(body.get("tools")) for tool in _read_tools(as_map(given)))
        return Ask(
            model=as_text(body.get("model")),
            streamed=body.get("stream") is True,
            system=as_text(body.get("instructions")),
            entries=tuple(entry for item in items for entry in _entries(as_map(item))),
            tools={tool.name: tool for tool in tools if tool.name},
        )

    def write(self, reply: Reply, ask: Ask) -> Json:
        """The whole answer at once."""
        return _response(reply, ask, status="completed")

    def stream(self, reply: Reply, ask: Ask) -> Iterator[str]:
        """The answer in frames; only the last counts tokens."""
        yield _frame("response.created", {"response": _response(reply, ask, status="in_progress")})
        for index, item in enumerate(_items(reply)):
            place: Mapping[str, Json] = {"output_index": index, "item_id": item["id"]}
            yield _frame("response.output_item.added", {**place, "item": {**item, "content": []}})
            if item["type"] == "message":
                for piece in slices(reply.text):
                    yield _frame("response.output_text.delta", {**place, "content_index": 0, "delta": piece})
            yield _frame("response.output_item.done", {**place, "item": item})
        yield _frame("response.completed", {"response": _response(reply, ask, status="completed")})

    def refuse(self, status: int, message: str) -> Json:
        """The body of an answer that is an error."""
        return {"error": {"message": message, "type": f"error_{status}", "code": str(status), "param": None}}


def _read_tools(given: Mapping[str, Json]) -> Iterator[Tool]:
    """The tool, or those in a namespace: the tools of an MCP server are offered so."""
    if given.get("type") != "namespace":
        yield read_tool(given.get("name"), given.get("parameters"), freeform=given.get("type") == "custom")
        return
    for inner in map(as_map, as_list(given.get("tools"))):
        tool = read_tool(inner.get("name"), inner.get("parameters"))
        yield replace(tool, namespace=as_text(given.get("name")))


def _entries(item: Mapping[str, Json]) -> Iterator[Entry]:
    if item.get("type") in RESULTS:
        yield Entry(kind="result", text=as_text(item.get("output")))
    elif item.get("role") == "user":
        content = item.get("content")
        parts = [content] if isinstance(content, str) else [as_map(part).get("text") for part in as_list(content)]
        yield from (told(as_text(part)) for part in parts)
    elif item.get("role") in ("developer", "system"):
        yield Entry(kind="note", text=as_text(item.get("content")))
    else:
        yield Entry(kind="assistant", text=as_text(item.get("content")))


def _response(reply: Reply, ask: Ask, *, status: str) -> Json:
    done = status == "completed"
    head: Mapping[str, Json] = {
        "id": reply.id,
        "object": "response",
        "created_at": 0,
        "model": ask.model,
        "status": status,
    }
    return {**head, "output": _items(reply) if done else [], "usage": _usage(reply) if done else None}


def _items(reply: Reply) -> list[Mapping[str, Json]]:
    content: Json = [{"type": "output_text", "text": reply.text, "annotations": []}]
    said = {"id": f"{reply.id}_text", "type": "message", "role": "assistant", "status": "completed", "content": content}
    return [*([said] if reply.text else []), *(_call(call) for call in reply.calls)]


def _call(call: Call) -> Mapping[str, Json]:
    head = {"id": f"item_{call.id}", "call_id": call.id, "name": call.tool.name, "status": "completed"}
    if call.tool.freeform:
        return {**head, "type": "custom_tool_call", "input": call.text}
    within = {"namespace": call.tool.namespace} if call.tool.namespace else {}
    return {**head, **within, "type": "function_call", "arguments": json.dumps(call.arguments)}


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "input_tokens": usage.sent,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.received,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.sent + usage.received,
    }


def _frame(kind: str, fields: Mapping[str, Json]) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"
