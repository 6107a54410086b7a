"""What Claude Code and Qwen Code have in common: a stream of messages with blocks, and a result at its end.

The rule: only what both mean alike is here. How a result is believed, each says for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from drumline.agents.reading import read_list, read_map, read_text
from drumline.core.flow.model import Json
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Happening, Outcome
from drumline.record import replace

Ends = Mapping[str, tuple[Failure, str]]
"""Kinds of results that a limit of its own has ended, each with its class and what it means."""
TARGETS = ("file_path", "pattern", "path", "url")


def read_blocks(event: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The blocks of a message: text, the use of a tool, or what a tool has answered."""
    return [read_map(item) for item in read_list(read_map(event.get("message")).get("content"))]


def describe_use(block: Mapping[str, Json], *, runner: str) -> Happening:
    """What the use of a tool is: a command if the tool is the `runner`, else a tool and what it is used on."""
    tool, given, call = read_text(block.get("name")), read_map(block.get("input")), read_text(block.get("id"))
    if tool == runner:
        return Happening(kind="command", text=read_text(given.get("command")), call=call)
    return Happening(kind="tool", text=f"{tool} {find_target(block)}".strip(), call=call)


def read_results(event: Mapping[str, Json]) -> Iterator[Happening]:
    """What tools have answered in a message."""
    for block in read_blocks(event):
        if block.get("type") == "tool_result":
            call, failed = read_text(block.get("tool_use_id")), bool(block.get("is_error"))
            yield Happening(kind="result", call=call, failed=failed, detail=_read_answer(block.get("content")))


def _read_answer(content: Json) -> str:
    """What a tool answered: a text, or parts of which some are texts."""
    return read_text(content) or "\n".join(read_text(read_map(part).get("text")) for part in read_list(content))


class Messages:
    """What the messages of a stream used, each once: one comes in several pieces, and each tells all of it."""

    def __init__(self) -> None:
        self._used: dict[str, Mapping[str, Json]] = {}

    def add(self, event: Mapping[str, Json]) -> None:
        """Count a message, or what is known better of one; an event without usage says nothing."""
        message = read_map(event.get("message"))
        if usage := read_map(message.get("usage")):
            self._used[read_text(message.get("id"))] = usage

    def correct(self, events: Iterable[Mapping[str, Json]]) -> None:
        """Take what a record tells of the messages that are counted; others were there before."""
        for event in events:
            if read_text(read_map(event.get("message")).get("id")) in self._used:
                self.add(event)

    def list_usages(self) -> list[Mapping[str, Json]]:
        """What each message used."""
        return list(self._used.values())


def find_target(block: Mapping[str, Json]) -> str:
    """What a tool is used on; empty if it does not say."""
    given = read_map(block.get("input"))
    return next((target for name in TARGETS if (target := read_text(given.get(name)))), "")


def explain_limit(ends: Ends, subtype: str, told: str) -> Outcome | None:
    """The outcome of a result whose kind is one of `ends`; None for any other."""
    if subtype not in ends:
        return None
    failure, why = ends[subtype]
    return Outcome(failure=failure.value, message=f"{why}: {told}" if told else why)


def finish(outcome: Outcome, result: Mapping[str, Json], *, source: str, model: str) -> Outcome:
    """The outcome with who did the work, and in which session."""
    return replace(outcome, source=source, model=model, session=read_text(result.get("session_id")))
