"""What came of an agent's use of a tool, in the same words for all programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.test_agent_readers import play

from drumline.agents import claude, codex, copilot, gemini, goose, opencode, qwen
from drumline.agents.acp_updates import Updates
from drumline.core.flow.model import Json

Event = Mapping[str, Json]


def _codex(kind: str, **item: Json) -> Event:
    return {"type": kind, "item": {"id": "i1", "type": "command_execution", "command": "make", **item}}


def _blocks(who: str, **block: Json) -> Event:
    return {"type": who, "message": {"content": [block]}}


def _goose(**part: Json) -> Event:
    return {"type": "message", "message": {"role": "assistant", "content": [{"id": "i1", **part}]}}


PROGRAMS = {one.PROGRAM.name: one.PROGRAM for one in (claude, codex, copilot, gemini, goose, opencode, qwen)}
EVENTS: Mapping[str, tuple[Event, ...]] = {
    "claude": (
        _blocks("assistant", type="tool_use", id="i1", name="Bash", input={"command": "make"}),
        _blocks("user", type="tool_result", tool_use_id="i1", is_error=True, content=[{"type": "text", "text": "bad"}]),
    ),
    "qwen": (
        _blocks("assistant", type="tool_use", id="i1", name="run_shell_command", input={"command": "make"}),
        _blocks("user", type="tool_result", tool_use_id="i1", is_error=True, content="bad"),
    ),
    "codex": (
        _codex("item.started"),
        _codex("item.completed", exit_code=2, aggregated_output="bad"),
    ),
    "gemini": (
        {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "i1", "parameters": {"command": "make"}},
        {"type": "tool_result", "tool_id": "i1", "status": "error", "output": "bad"},
    ),
    "opencode": (
        {
            "type": "tool_use",
            "part": {
                "tool": "bash",
                "callID": "i1",
                "state": {"status": "error", "input": {"command": "make"}, "error": "bad"},
            },
        },
    ),
    "goose": (
        _goose(type="toolRequest", toolCall={"value": {"name": "developer__shell", "arguments": {"command": "make"}}}),
        _goose(
            type="toolResponse",
            toolResult={"status": "success", "value": {"isError": True, "content": [{"text": "bad"}]}},
        ),
    ),
    "copilot": (
        {
            "type": "tool.execution_start",
            "data": {"toolName": "bash", "toolCallId": "i1", "arguments": {"command": "make"}},
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "i1", "success": False, "error": {"message": "bad"}},
        },
    ),
}


@pytest.mark.parametrize("name", EVENTS)
def test_a_result_names_its_call_and_says_that_it_failed(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]

    _, told = play(program, tmp_path, *EVENTS[name])

    seen = [(one.kind, one.text, one.call, one.failed, one.detail) for one in told if one.kind != "session"]
    assert seen == [("command", "make", "i1", False, ""), ("result", "", "i1", True, "bad")]


def test_an_edit_of_claude_has_the_lines_it_changed(tmp_path: Path) -> None:
    program = PROGRAMS["claude"]
    answered = _blocks("user", type="tool_result", tool_use_id="i1", content="ok")
    patched: Json = {"filePath": "a.py", "structuredPatch": [{"lines": [" a", "-b", "+c"]}]}
    written: Json = {"filePath": "b.py", "structuredPatch": [], "content": "x\ny\n"}

    _, told = play(program, tmp_path, *({**answered, "tool_use_result": one} for one in (patched, written)))

    edits = [(one.text, one.call, one.detail) for one in told if one.kind == "edit"]
    assert edits == [("a.py", "i1", " a\n-b\n+c"), ("b.py", "i1", "+x\n+y")]


def test_an_edit_over_the_protocol_has_its_difference_and_each_call_one_result() -> None:
    updates = Updates()
    diff: Json = {"type": "diff", "path": "a.py", "oldText": "a\nb\n", "newText": "a\nc\n"}
    call: Event = {"toolCallId": "i1", "kind": "edit", "title": "Edit", "content": [diff]}

    told = [
        happening
        for update in (
            {"sessionUpdate": "tool_call", **call, "status": "in_progress"},
            {"sessionUpdate": "tool_call_update", "toolCallId": "i1", "status": "completed"},
            {"sessionUpdate": "tool_call_update", "toolCallId": "i1", "status": "completed"},
        )
        for happening in updates.read(update)
    ]

    assert [(one.kind, one.call, one.failed) for one in told] == [("edit", "i1", False), ("result", "i1", False)]
    assert told[0].detail.split("\n") == ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]
