"""What the built-in agent does, told while it happens: to whoever looks on, and to its transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import anyio
from pydantic_ai.messages import ModelMessage, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart

from drumline.core.changedlines import compare_lines
from drumline.core.redaction import Secrets
from drumline.models.toolbox import ToolError
from drumline.models.transcript import Transcript
from drumline.ports.agents import Assignment, Happening

EDITORS = ("write", "patch", "remove")
PARTS = TextPart | ToolCallPart | ToolReturnPart | RetryPromptPart


class Narration:
    """Tells of one assignment; `last` is what was done last, `heard` when."""

    def __init__(self, assignment: Assignment, transcript: Transcript, secrets: Secrets) -> None:
        self.last = ""
        self.heard = anyio.current_time()
        self._assignment = assignment
        self._transcript = transcript
        self._secrets = secrets
        self._told = 0
        self._edits: dict[str, tuple[str, str]] = {}

    def write(self, who: str, said: str) -> None:
        """Write something into the transcript."""
        self._transcript.add(who, said)

    async def begin(self, session: str, model: str) -> None:
        """Tell whose session it is and what is asked."""
        self.write("model", model)
        self.write("prompt", self._assignment.prompt)
        await self._assignment.report(Happening(kind="session", text=session))

    async def tell(self, messages: Sequence[ModelMessage], usage: Mapping[str, float]) -> None:
        """Tell what is new of all messages so far."""
        new = messages[self._told :]
        self._told = len(messages)
        if not new:
            return
        self.heard = anyio.current_time()
        parts = [part for message in new for part in message.parts if isinstance(part, PARTS)]
        for happening in [happening for part in parts for happening in self._read(part)]:
            if happening.kind in ("tool", "command", "edit"):
                self.last = f"{happening.kind} {happening.text}"
            await self._assignment.report(happening)
        await self._assignment.report(Happening(kind="usage", usage=usage))

    def _read(self, part: PARTS) -> Iterator[Happening]:
        match part:
            case TextPart():
                self.write("answer", part.content)
                if part.content.strip():
                    yield Happening(kind="text", text=self._secrets.hide(part.content.strip()))
            case ToolCallPart():
                self.write(f"calls {part.tool_name}", part.args_as_json_str())
                yield from self._read_call(part)
            case ToolReturnPart():
                said = part.model_response_str()
                self.write(f"{part.tool_name} says", said)
                failed, call = isinstance(part.content, ToolError), part.tool_call_id
                path, lines = self._edits.pop(call, ("", ""))
                if path and not failed:
                    yield Happening(kind="edit", text=path, call=call, detail=self._secrets.hide(lines))
                yield Happening(kind="result", call=call, failed=failed, detail=self._secrets.hide(said))
            case RetryPromptPart():
                self.write("told to try again", part.model_response())

    def _read_call(self, part: ToolCallPart) -> Iterator[Happening]:
        given = part.args_as_dict()
        path, call = str(given.get("path", "")), part.tool_call_id
        if part.tool_name == "exec":
            yield Happening(kind="command", text=self._secrets.hide(str(given.get("command", ""))), call=call)
        elif part.tool_name in EDITORS:
            old, new = str(given.get("search", "")), str(given.get("replace", given.get("contents", "")))
            self._edits[call] = path, compare_lines(old, new)
        else:
            yield Happening(kind="tool", text=f"{part.tool_name} {path}".strip(), call=call)
