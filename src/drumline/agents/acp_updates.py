"""What an agent of the Agent Client Protocol tells while it works, in the words that all agents share.

The rule: a tool is told once, when enough is known of it; what was said last, after all tools, is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from drumline.agents.edited import describe_edit
from drumline.agents.reading import read_list, read_map, read_number, read_text
from drumline.core.changedlines import compare_lines
from drumline.core.flow.model import Json
from drumline.ports.agents import Happening

EDITS = ("edit", "delete", "move")
PATHS = ("file_path", "filePath", "path", "absolute_path", "abs_path", "notebook_path")


class Updates:
    """Understands the updates of one prompt; `speechless` is whether nothing was said since the last tool."""

    def __init__(self) -> None:
        self.answer = ""
        self.speechless = True
        self.cost: float | None = None
        self._said = ""
        self._message = ""
        self._calls: dict[str, dict[str, Json]] = {}
        self._told: set[str] = set()
        self._ended: set[str] = set()

    def read(self, update: Mapping[str, Json]) -> Iterator[Happening]:
        """What an update means; unknown ones mean nothing."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                yield from self._hear(update)
            case "tool_call" | "tool_call_update":
                yield from self.flush()
                if update.get("sessionUpdate") == "tool_call":
                    self.speechless = True
                yield from self._follow(update)
            case "usage_update":
                yield from self._count(read_map(update.get("cost")))

    def flush(self) -> Iterator[Happening]:
        """What was said since the last tool; it comes in pieces, and is told as one."""
        if self._said.strip():
            self.answer = self._said.strip()
            self.speechless = False
            yield Happening(kind="text", text=self.answer)
        self._said = ""

    def recall(self, call: Mapping[str, Json]) -> Mapping[str, Json]:
        """A call with what was told of it before: who asks for leave need not say everything again."""
        told = {key: value for key, value in call.items() if value is not None}
        return {**self._calls.get(read_text(call.get("toolCallId")), {}), **told}

    def _hear(self, update: Mapping[str, Json]) -> Iterator[Happening]:
        message = read_text(update.get("messageId"))
        if message != self._message:
            yield from self.flush()
        self._message = message
        self._said += read_text(read_map(update.get("content")).get("text"))

    def _count(self, cost: Mapping[str, Json]) -> Iterator[Happening]:
        amount = read_number(cost.get("amount"))
        # One that knows no prices counts with zero.
        if cost.get("currency") == "USD" and amount > 0:
            self.cost = amount
            yield Happening(kind="usage", usage={"cost_usd": self.cost})

    def _follow(self, update: Mapping[str, Json]) -> Iterator[Happening]:
        """A tool's call grows by updates, each of which replaces what it brings."""
        name = read_text(update.get("toolCallId"))
        call = self._calls.setdefault(name, {})
        call.update({key: value for key, value in update.items() if value is not None})
        done, failed = call.get("status") == "completed", call.get("status") == "failed"
        if name not in self._told and not (failed and call.get("kind") in EDITS):
            found = list(describe(call, done=done))
            if found:
                self._told.add(name)
            yield from found
        if (done or failed) and name not in self._ended:
            self._ended.add(name)
            yield Happening(kind="result", call=name, failed=failed, detail=_read_said(call))


def describe(call: Mapping[str, Json], *, done: bool) -> Iterator[Happening]:
    """What a call does, as far as it is known; edits count when they are `done`."""
    title, name = read_text(call.get("title")), read_text(call.get("toolCallId"))
    kind = call.get("kind")
    if kind in EDITS:
        if done:
            for path in find_paths(call):
                yield Happening(kind="edit", text=path, call=name, detail=_read_difference(call, path))
    elif kind == "execute":
        if command := find_command(call) or (title if done else ""):
            yield Happening(kind="command", text=command, call=name)
    elif title:
        yield Happening(kind="tool", text=title, call=name)


def _read_said(call: Mapping[str, Json]) -> str:
    """What came back from a tool, as far as it is text."""
    parts = [read_map(read_map(part).get("content")) for part in read_list(call.get("content"))]
    return "\n".join(said for part in parts if (said := read_text(part.get("text"))))


def _read_difference(call: Mapping[str, Json], path: str) -> str:
    """The lines of a file that a call changed, if it shows them."""
    parts = (read_map(part) for part in read_list(call.get("content")))
    found = next((part for part in parts if part.get("type") == "diff" and part.get("path") == path), {})
    if not found:
        return describe_edit(call.get("rawInput"), path)
    return compare_lines(read_text(found.get("oldText")), read_text(found.get("newText")))


def find_command(call: Mapping[str, Json]) -> str:
    """The command that a call runs, if it says so."""
    given = read_map(call.get("rawInput"))
    for name in ("command", "cmd"):
        words = read_list(given.get(name))
        if said := read_text(given.get(name)) or " ".join(read_text(word) for word in words):
            return said
    return ""


def find_paths(call: Mapping[str, Json]) -> list[str]:
    """Every file that a call names, once each: where it shows a difference, where it is, or what it was given."""
    content = [read_map(part) for part in read_list(call.get("content"))]
    given = read_map(call.get("rawInput"))
    named = [
        *(read_text(part.get("path")) for part in content if part.get("type") == "diff"),
        *(read_text(read_map(place).get("path")) for place in read_list(call.get("locations"))),
        *(read_text(given.get(name)) for name in PATHS),
    ]
    return list(dict.fromkeys(path for path in named if path))
