"""What Claude Code asks permission for while it works, answered by the policy that holds for all agents that ask.

The rule: what the policy does not know is refused, and becomes a question to a person.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from drumline.agents.acp_permissions import describe
from drumline.agents.acp_policy import Policy
from drumline.agents.program import Setting
from drumline.agents.reading import read_list, read_map, read_text
from drumline.core.blocked import write_question
from drumline.core.flow.model import Json
from drumline.core.plaintext import strip_controls
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.record import replace

ASKING = "AskUserQuestion"
KINDS: Mapping[str, str] = {
    "Bash": "execute",
    "Monitor": "execute",
    "Edit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
    "Read": "read",
    "Glob": "search",
    "Grep": "search",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
}
"""Its tools, in the kinds that the policy knows; all others are unknown."""
LATER = "A person will be asked; the answer comes with a later task. Do not try it in another way: end your work here."


def write_opening(prompt: str) -> str:
    """The prompt as the first line of a talk."""
    return _write_line({"type": "user", "message": {"role": "user", "content": prompt}})


class PermissionAnswers:
    """The answers to one run of the program."""

    def __init__(self, assignment: Assignment, setting: Setting) -> None:
        # Its folder for temporary files, which a link may lead to: followed now, as it could change the link later.
        own = (setting.scratch / "tmp").resolve()
        self._report = assignment.report
        self._policy = Policy(
            workspace=assignment.workspace,
            writable=(*assignment.writable, own),
            sealed=assignment.sealed,
            read_only=assignment.read_only,
            jailed=setting.jailed,
            answers=assignment.answers,
        )
        self._questions: list[str] = []
        self._permissions: list[str] = []
        self._notices: list[str] = []

    async def answer(self, event: Mapping[str, Json]) -> str:
        """The line that answers an event, or nothing where it asks for none."""
        if event.get("type") != "control_request":
            return ""
        request = read_map(event.get("request"))
        about: dict[str, Json] = {"request_id": event.get("request_id")}
        if request.get("subtype") != "can_use_tool":
            # It would wait for ever for an answer.
            about |= {"subtype": "error", "error": f"{request.get('subtype')} is not known here"}
        else:
            about |= {"subtype": "success", "response": await self._decide(request)}
        return _write_line({"type": "control_response", "response": about})

    def ends_with(self, event: Mapping[str, Json]) -> bool:
        """Whether nothing is asked any more after an event."""
        return event.get("type") == "result"

    def conclude(self, outcome: Outcome) -> Outcome:
        """The outcome with what was refused, and blocked by what only a person can answer."""
        told = replace(outcome, notices=(*outcome.notices, *self._notices))
        # Who ran into a limit, say, asks again once it is lifted.
        if not self._questions or outcome.failure not in ("", Failure.VALIDATION.value):
            return told
        asked = "\n".join(dict.fromkeys(self._questions))
        return replace(told, failure="", question=asked, permissions=tuple(dict.fromkeys(self._permissions)))

    async def _decide(self, request: Mapping[str, Json]) -> dict[str, Json]:
        given = read_map(request.get("input"))
        if request.get("tool_name") == ASKING and (asked := _read_questions(given)):
            self._questions.append(asked)
            return {"behavior": "deny", "message": LATER}
        call = _describe_call(request)
        verdict = self._policy.judge(call)
        if verdict.answer == "allow":
            return {"behavior": "allow", "updatedInput": dict(given)}
        if verdict.answer == "ask":
            self._questions.append(verdict.question)
            self._permissions.append(verdict.question)
            return {"behavior": "deny", "message": LATER}
        notice = f"it was not allowed to use {describe(call)}: {verdict.reason}"
        self._notices.append(strip_controls(notice))
        await self._report(Happening(kind="notice", text=self._notices[-1]))
        return {"behavior": "deny", "message": f"This is not allowed: {verdict.reason}."}


def _describe_call(request: Mapping[str, Json]) -> dict[str, Json]:
    """A request in the words of the policy."""
    tool, given = read_text(request.get("tool_name")), request.get("input")
    # A place outside that it saw in a command; there may be others.
    place = read_text(request.get("blocked_path"))
    return {
        "kind": KINDS.get(tool),
        # Leave for a tool that nobody knows is for what it was given, not for whatever it can do.
        "title": tool if tool in KINDS else f"{tool} {json.dumps(given, ensure_ascii=False, sort_keys=True)}",
        "rawInput": given,
        "locations": [{"path": place}] if place else [],
    }


def _read_questions(given: Mapping[str, Json]) -> str:
    """What it wants to ask its user, in one text."""
    questions = [read_map(question) for question in read_list(given.get("questions"))]
    return "\n".join(_read_question(question) for question in questions if read_text(question.get("question")))


def _read_question(question: Mapping[str, Json]) -> str:
    options = (read_text(read_map(option).get("label")) for option in read_list(question.get("options")))
    return write_question(read_text(question.get("question")), [option for option in options if option])


def _write_line(message: Mapping[str, Json]) -> str:
    return json.dumps(message) + "\n"
