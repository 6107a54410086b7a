"""OpenAI's Chat Completions, the dialect that most programs and libraries can be set to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tests.modelserver.conversation import (
    Ask,
    Entry,
    Reply,
    as_list,
    as_map,
    as_text,
    read_tool,
    slices,
    told,
)

from drumline.core.flow.model import Json


class Chat:
    """The dialect of OpenCode, Qwen Code, goose and many libraries."""

    name = "chat"

    def read(self, path: str, body: Mapping[str, Json]) -> Ask:
        """The question in a body of `POST /v1/chat/completions`."""
        messages = [as_map(message) for message in as_list(body.get("messages"))]
        functions = (as_map(as_map(tool).get("function")) for tool in as_list(body.get("tools")))
        tools = (read_tool(function.get("name"), function.get("parameters")) for function in functions)
        return Ask(
            model=as_text(body.get("model")),
            streamed=body.get("stream") is True,
            system="\n".join(as_text(m.get("content")) for m in messages if m.get("role") == "system"),
            entries=tuple(entry for message in messages for entry in _entries(message)),
            tools={tool.name: tool for tool in tools},
        )

    def write(self, reply: Reply, ask: Ask) -> Json:
        """The whole answer at once."""
        message: Json = {"role": "assistant", "content": reply.text or None, "tool_calls": _calls(reply) or None}
        choice: Json = {"index": 0, "message": message, "finish_reason": _reason(reply)}
        return {**_head(reply, ask, "chat.completion"), "choices": [choice], "usage": _usage(reply)}

    def stream(self, reply: Reply, ask: Ask) -> Iterator[str]:
        """The answer in frames; tokens are counted in a last one without a choice."""
        head = _head(reply, ask, "chat.completion.chunk")
        yield _frame({**head, "choices": [_choice({"role": "assistant", "content": ""})]})
        for piece in slices(reply.text):
            yield _frame({**head, "choices": [_choice({"content": piece})]})
        for call in _calls(reply):
            yield _frame({**head, "choices": [_choice({"tool_calls": [call]})]})
        yield _frame({**head, "choices": [{**_choice({}), "finish_reason": _reason(reply)}]})
        yield _frame({**head, "choices": [], "usage": _usage(reply)})
        yield "data: [DONE]\n\n"

    def refuse(self, status: int, message: str) -> Json:
        """The body of an answer that is an error."""
        return {"error": {"message": message, "type": f"error_{status}", "code": str(status), "param": None}}


def _entries(message: Mapping[str, Json]) -> Iterator[Entry]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        yield Entry(kind="assistant", text=as_text(content))
    elif role == "tool":
        yield Entry(kind="result", text=as_text(content))
    elif role == "user":
        parts = [content] if isinstance(content, str) else [as_map(part).get("text") for part in as_list(content)]
        yield from (told(as_text(part)) for part in parts)


def _head(reply: Reply, ask: Ask, kind: str) -> dict[str, Json]:
    return {"id": reply.id, "object": kind, "created": 0, "model": ask.model}


def _choice(delta: Mapping[str, Json]) -> dict[str, Json]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _calls(reply: Reply) -> list[Json]:
    return [
        {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.tool.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(reply.calls)
    ]


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "prompt_tokens": usage.sent,
        "completion_tokens": usage.received,
        "total_tokens": usage.sent + usage.received,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def _frame(fields: Mapping[str, Json]) -> str:
    return f"data: {json.dumps(fields)}\n\n"
