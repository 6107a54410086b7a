"""What Claude Code is answered when it asks for leave, request by request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from drumline.agents.claude_permissions import PermissionAnswers
from drumline.agents.program import Setting
from drumline.core.blocked import Reply
from drumline.core.flow.model import Json
from drumline.core.ids import RunId, StepId
from drumline.ports.agents import Assignment, Happening, Outcome

UNKNOWN = "mcp__mail__send"


def open_answers(folder: Path, **fields: Any) -> PermissionAnswers:
    """Leave for an assignment in a folder."""
    assignment = Assignment(
        run=RunId("r1"),
        step=StepId("s1"),
        node="implement",
        attempt=1,
        prompt="do it",
        prompt_file=folder / "prompt.md",
        workspace=folder / "work",
        log=folder / "log",
        **fields,
    )
    return PermissionAnswers(assignment, Setting(executable=folder / "claude", model="", scratch=folder / "scratch"))


def ask(leave: PermissionAnswers, tool: str, given: Json, **fields: Json) -> Mapping[str, Any]:
    """The answer to one request."""
    request: Json = {"subtype": "can_use_tool", "tool_name": tool, "input": given, **fields}
    line = anyio.run(leave.answer, {"type": "control_request", "request_id": "q1", "request": request})
    message = json.loads(line)
    assert (message["type"], message["response"]["request_id"]) == ("control_response", "q1")
    answer: Mapping[str, Any] = message["response"]["response"]
    return answer


@pytest.mark.parametrize(
    ("tool", "given", "fields", "read_only", "behavior"),
    [
        ("Write", {"file_path": "a.txt"}, {}, False, "allow"),
        ("Write", {"file_path": "/etc/a.txt"}, {}, False, "deny"),
        ("Edit", {"file_path": "../a.txt"}, {}, False, "deny"),
        ("NotebookEdit", {"notebook_path": "/etc/a.ipynb"}, {}, False, "deny"),
        ("Write", {"file_path": ".git/config"}, {}, False, "deny"),
        ("Write", {"file_path": "a.txt"}, {}, True, "deny"),
        ("Bash", {"command": "make"}, {}, False, "allow"),
        ("Bash", {"command": "make"}, {}, True, "deny"),
        ("Bash", {"command": "rm /etc/a"}, {"blocked_path": "/etc/a"}, False, "deny"),
        ("WebFetch", {"url": "https://example.invalid"}, {}, True, "allow"),
        ("Read", {"file_path": "/etc/passwd"}, {}, True, "deny"),
        (UNKNOWN, {"to": "all"}, {}, False, "deny"),
    ],
)
def test_the_policy_of_all_agents_decides(
    tool: str, given: Json, fields: dict[str, Json], read_only: bool, behavior: str, tmp_path: Path
) -> None:
    answer = ask(open_answers(tmp_path, read_only=read_only), tool, given, **fields)

    assert answer["behavior"] == behavior
    assert answer.get("updatedInput") == (given if behavior == "allow" else None)


def test_its_folder_for_temporary_files_is_its_own_but_not_where_it_leads_the_link_to(tmp_path: Path) -> None:
    link, temp, other = tmp_path / "scratch" / "tmp", tmp_path / "temp", tmp_path / "other"
    for folder in (link.parent, temp, other):
        folder.mkdir()
    link.symlink_to(temp)
    leave = open_answers(tmp_path)
    link.unlink()
    link.symlink_to(other)

    answers = [ask(leave, "Write", {"file_path": str(place / "a.txt")}) for place in (temp, other, link)]

    assert [answer["behavior"] for answer in answers] == ["allow", "deny", "deny"]


def test_what_was_refused_is_told_at_once_and_in_the_end(tmp_path: Path) -> None:
    told: list[Happening] = []

    async def report(happening: Happening) -> None:
        told.append(happening)

    leave = open_answers(tmp_path, report=report)
    ask(leave, "Write", {"file_path": "/etc/a.txt"})
    outcome = leave.conclude(Outcome(message="Done.", notices=("before",)))

    assert [(one.kind, "/etc/a.txt" in one.text) for one in told] == [("notice", True)]
    assert outcome == Outcome(message="Done.", notices=("before", told[0].text))


def test_an_unknown_tool_is_a_question_until_a_person_has_answered_it(tmp_path: Path) -> None:
    leave = open_answers(tmp_path)
    refused = ask(leave, UNKNOWN, {"to": "all"})
    stopped = leave.conclude(Outcome(message="I stop."))
    question = stopped.question
    granted = open_answers(tmp_path, answers=(Reply(asked=question, said="yes", permissions=stopped.permissions),))

    assert "A person will be asked" in refused["message"]
    assert question.startswith(f'May it use {UNKNOWN} {{"to": "all"}}?')
    assert ask(granted, UNKNOWN, {"to": "all"})["behavior"] == "allow"
    assert ask(granted, UNKNOWN, {"to": "you"})["behavior"] == "deny"


def test_what_it_asks_its_user_is_the_question(tmp_path: Path) -> None:
    leave = open_answers(tmp_path)
    choice: Json = {"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}

    ask(leave, "AskUserQuestion", {"questions": [choice, {"question": "Why?"}]})

    assert leave.conclude(Outcome()).question == "Which?\n(options: a, b)\nWhy?"


@pytest.mark.parametrize(("failure", "asks"), [("", True), ("validation", True), ("quota", False), ("crash", False)])
def test_a_question_does_not_hide_that_it_broke_down(failure: str, asks: bool, tmp_path: Path) -> None:
    leave = open_answers(tmp_path)
    ask(leave, UNKNOWN, {})

    outcome = leave.conclude(Outcome(failure=failure))

    assert (bool(outcome.question), outcome.failure) == (asks, "" if asks else failure)


def test_a_request_that_is_not_known_is_answered_by_an_error(tmp_path: Path) -> None:
    event: Mapping[str, Json] = {"type": "control_request", "request_id": "q1", "request": {"subtype": "new"}}

    answer = json.loads(anyio.run(open_answers(tmp_path).answer, event))

    assert answer["response"] == {"subtype": "error", "request_id": "q1", "error": "new is not known here"}


def test_other_events_ask_for_nothing_and_the_result_is_the_end(tmp_path: Path) -> None:
    leave = open_answers(tmp_path)

    assert anyio.run(leave.answer, {"type": "assistant"}) == ""
    assert [leave.ends_with({"type": kind}) for kind in ("assistant", "result")] == [False, True]
