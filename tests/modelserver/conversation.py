"""What an agent asks and what it is told, in no wire format; every dialect reads into this and writes from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from drumline.core.flow.model import Json
from drumline.record import Record, field

TAGGED = re.compile(r"\s*(?:<([\w-]+)>.*?</\1>\s*)*", re.DOTALL)
Kind = Literal["user", "note", "assistant", "result"]


class Entry(Record):
    """One piece of a conversation. A `note` is text that the program adds by itself in the user's name."""

    kind: Kind
    text: str = ""


class Tool(Record):
    """A tool the agent offers. A `freeform` one takes plain text instead of arguments; some are in a `namespace`."""

    name: str
    namespace: str = ""
    properties: Mapping[str, Json] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    freeform: bool = False


class Ask(Record):
    """One request for an answer."""

    model: str = ""
    streamed: bool = False
    system: str = ""
    entries: tuple[Entry, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)


class Usage(Record):
    """The tokens an answer says it took; `cached` of the `sent` ones were read from a cache."""

    sent: int = 100
    received: int = 20
    cached: int = 0


class Call(Record):
    """One use of a tool, in the tool's own words; `text` instead of arguments for a freeform tool."""

    id: str
    tool: Tool
    arguments: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""


class Reply(Record):
    """What the model says."""

    id: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)


def told(text: str) -> Entry:
    """Text in the user's name. What stands in a tag was added by the program and is not what the user asked."""
    added = TAGGED.match(text)
    asked = text[added.end() :] if added else text
    return Entry(kind="note" if not asked or asked.startswith("<") else "user", text=text)


def as_map(value: object) -> Mapping[str, Json]:
    """A JSON object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Json]:
    """A JSON array, or an empty one where something else stands."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """A JSON string, the texts of an array of parts, or nothing."""
    if isinstance(value, str):
        return value
    return "\n".join(text for part in as_list(value) if (text := as_text(as_map(part).get("text"))))


def read_tool(name: object, schema: object, *, freeform: bool = False) -> Tool:
    """A tool from its name and the JSON schema of its arguments."""
    fields = as_map(schema)
    required = tuple(as_text(key) for key in as_list(fields.get("required")))
    return Tool(name=as_text(name), properties=as_map(fields.get("properties")), required=required, freeform=freeform)


def slices(text: str, size: int = 4096) -> list[str]:
    """The text in pieces as a stream would bring it."""
    return [text[start : start + size] for start in range(0, len(text), size)]
