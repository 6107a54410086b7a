"""An MCP server with one tool, by which an agent asks a person: `python -m drumline.agents.asktool FILE`.

The rule: it only notes the question, as the line that an agent could have ended with, and sends the agent home. It
speaks the protocol itself, lines of JSON-RPC: every agent that may ask starts it, and a library would take a second.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from drumline import __version__
from drumline.core.blocked import LONGEST, find_question
from drumline.core.flow.model import Json

ANSWER = "A person will be asked; end your turn now."
REFUSAL = f"ask one question in at most {LONGEST} characters; options, if any, are texts"
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol in which all that we say means the same, the newest first."""
TOOL: Mapping[str, Json] = {
    "name": "ask_person",
    "description": (
        "Ask the person in charge, if you cannot go on without their decision. Say all that is needed to answer.\n\n"
        "The answer does not come back from this call: end your turn, and it will be in your next task."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "options": {"type": ["array", "null"], "items": {"type": "string"}, "default": None},
        },
        "required": ["question"],
    },
}
NOT_JSON, NOT_A_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602


class Refused(Exception):
    """A request that gets an error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def note_question(file: Path, question: Json, options: Json = None) -> str:
    """Add a question to the file, and say what comes next; ValueError for one that nobody could answer."""
    line = json.dumps({"blocked": question, "options": options or []}, ensure_ascii=False)
    if not find_question(line):
        raise ValueError(REFUSAL)
    with file.open("a", encoding="utf-8") as notes:
        notes.write(f"{line}\n")
    return ANSWER


def serve(file: Path, requests: TextIO, replies: TextIO) -> None:
    """Serve the tool until the agent leaves: one request a line, one reply a line."""
    for line in requests:
        reply = _reply(file, line)
        if reply is not None:
            replies.write(f"{json.dumps({'jsonrpc': '2.0', **reply})}\n")
            replies.flush()


def _reply(file: Path, line: str) -> Mapping[str, Json] | None:
    """The reply to a line; None to a notification, which wants none."""
    number: Json = None
    try:
        request = _read(line)
        if "id" not in request:
            return None
        number = request["id"]
        return {"id": number, "result": dict(_answer(file, request))}
    except Refused as refused:
        return {"id": number, "error": {"code": refused.code, "message": str(refused)}}


def _read(line: str) -> dict[str, Json]:
    try:
        request: Json = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refused(NOT_JSON, f"not JSON: {error}") from error
    if not isinstance(request, dict) or not isinstance(request.get("method", ""), str):
        raise Refused(NOT_A_REQUEST, "a request is an object with a method")
    return request


def _answer(file: Path, request: Mapping[str, Json]) -> Mapping[str, Json]:
    given = request.get("params")
    params = given if isinstance(given, dict) else {}
    match request.get("method"):
        case "initialize":
            return _greet(params)
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [dict(TOOL)]}
        case "tools/call":
            return _call(file, params)
        case other:
            raise Refused(NO_METHOD, f"unknown method {other!r} (use one of initialize, ping, tools/list, tools/call)")


def _greet(params: Mapping[str, Json]) -> Mapping[str, Json]:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "drumline", "version": __version__},
    }


def _call(file: Path, params: Mapping[str, Json]) -> Mapping[str, Json]:
    if params.get("name") != TOOL["name"]:
        raise Refused(BAD_PARAMS, f"unknown tool {params.get('name')!r} (use {TOOL['name']!r})")
    given = params.get("arguments")
    asked = given if isinstance(given, dict) else {}
    try:
        said, failed = note_question(file, asked.get("question"), asked.get("options")), False
    except ValueError as error:
        said, failed = str(error), True
    return {"content": [{"type": "text", "text": said}], "isError": failed}


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # a TextIO at run time
    serve(Path(sys.argv[1]), sys.stdin, sys.stdout)
