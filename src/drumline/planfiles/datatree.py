"""JSON and YAML as a tree of values with their places in the text, so that one value can be changed and nothing else.

Nothing is constructed but texts, numbers, truth values and nothing; aliases are refused and nesting is bounded, so
that no document can cost more than its length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple, NoReturn

import yaml

from drumline.record import Record, field

MAX_DEPTH = 32
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTANTS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?")
_TOKEN = re.compile(r'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^ \t\r\n{}\[\],:"]+)', re.DOTALL)

Scalar = str | int | float | bool | None


class Kind(Enum):
    """What a node is."""

    MAPPING = "mapping"
    SEQUENCE = "list"
    SCALAR = "value"


class Node(Record):
    """One value between the offsets `start` and `end`. `flow` collections are written in brackets.

    `quote` is how a text is written: in quotes of that kind, as a block (`|` or `>`), or plainly.
    """

    kind: Kind
    start: int
    end: int
    value: Scalar = None
    quote: str = ""
    flow: bool = False
    items: tuple[Node, ...] = ()
    keys: Mapping[str, Node] = field(default_factory=dict)
    pairs: Mapping[str, Node] = field(default_factory=dict)

    def get(self, key: str) -> Node | None:
        """The value of a mapping's key."""
        return self.pairs.get(key)

    def text(self, key: str) -> str:
        """The value of a mapping's key if it is a text, else ""."""
        found = self.pairs.get(key)
        return found.value if found is not None and isinstance(found.value, str) else ""


class Data(NamedTuple):
    """A readable text: its root, and keys that are there twice (the last counts) as (key, offset)."""

    root: Node
    twice: tuple[tuple[str, int], ...]


class Flaw(NamedTuple):
    """Why a text cannot be used, and the offset of the place to look at."""

    code: str
    message: str
    offset: int


class _Refused(Exception):
    """The text cannot be used at all."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.flaw = Flaw(code, message, offset)


class _Event(NamedTuple):
    """One token of the structure: `{`, `[`, `}` (either's end) or a scalar (`.`)."""

    what: str
    start: int
    end: int
    value: Scalar = None
    quote: str = ""
    flow: bool = True


def read_data(text: str, start: int, end: int) -> Data | Flaw:
    """The one value between the two offsets, as JSON if it is JSON and as YAML otherwise."""
    part = text[start:end]
    looks_json = part.lstrip(" \t\r\n")[:1] in ("{", "[")
    refused = _refuse_json(part, start) if looks_json else None
    events = _json_events if looks_json and refused is None else _yaml_events
    try:
        return _Builder(events(part, start)).build()
    except _Refused as other:
        return (refused or other).flaw


def plain(node: Node) -> object:
    """The value itself, without places."""
    if node.kind is Kind.MAPPING:
        return {key: plain(value) for key, value in node.pairs.items()}
    if node.kind is Kind.SEQUENCE:
        return [plain(item) for item in node.items]
    return node.value


class _Builder:
    """Puts events together; a JSON text was checked before, a YAML text is checked by its parser on the way."""

    def __init__(self, events: Iterator[_Event]) -> None:
        self._events = events
        self._twice: list[tuple[str, int]] = []

    def build(self) -> Data:
        first = next(self._events, None)
        if first is None:
            raise _Refused("not_a_mapping", "holds no data", 0)
        root = self._node(first, 0)
        for extra in self._events:
            raise _Refused("bad_yaml", "holds a second YAML document", extra.start)
        return Data(root, tuple(self._twice))

    def _node(self, event: _Event, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise _Refused("bad_yaml", f"is nested more than {MAX_DEPTH} levels deep", event.start)
        if event.what == "{":
            return self._mapping(event, depth)
        if event.what == "[":
            return self._sequence(event, depth)
        return Node(kind=Kind.SCALAR, start=event.start, end=event.end, value=event.value, quote=event.quote)

    def _mapping(self, opened: _Event, depth: int) -> Node:
        keys: dict[str, Node] = {}
        pairs: dict[str, Node] = {}
        last = opened.end
        while (event := next(self._events)).what != "}":
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            name = key.value if isinstance(key.value, str) else json.dumps(plain(key))
            if name in pairs:
                self._twice.append((name, key.start))
            keys[name], pairs[name] = key, value
            last = max(key.end, value.end)
        end = event.end if opened.flow else last
        return Node(kind=Kind.MAPPING, start=opened.start, end=end, flow=opened.flow, keys=keys, pairs=pairs)

    def _sequence(self, opened: _Event, depth: int) -> Node:
        items: list[Node] = []
        while (event := next(self._events)).what != "}":
            items.append(self._node(event, depth + 1))
        end = event.end if opened.flow or not items else items[-1].end
        return Node(kind=Kind.SEQUENCE, start=opened.start, end=end, flow=opened.flow, items=tuple(items))


def _refuse_json(part: str, base: int) -> _Refused | None:
    try:
        json.loads(part, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return _Refused("bad_json", f"malformed JSON: {error.msg}", base + min(error.pos, max(len(part) - 1, 0)))
    except (ValueError, RecursionError) as error:
        return _Refused("bad_json", f"malformed JSON: {error}", base)
    return None


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _json_events(part: str, base: int) -> Iterator[_Event]:
    for match in _TOKEN.finditer(part):
        piece = match[1]
        start, end = base + match.start(1), base + match.end(1)
        if piece in "{[":
            yield _Event(piece, start, end)
        elif piece in "}]":
            yield _Event("}", start, end)
        elif piece not in ",:":
            quoted = piece.startswith('"')
            value = json.loads(piece, strict=False) if quoted else _typed(piece)
            yield _Event(".", start, end, value, '"' if quoted else "")


def _yaml_events(part: str, base: int) -> Iterator[_Event]:
    try:
        for event in yaml.parse(part, Loader=_LOADER):
            found = _translate_event(event, part, base)
            if found is not None:
                yield found
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is None or mark.index >= len(part):
            mark = error.context_mark or mark
        sentence = " ".join(word for word in (error.context, error.problem) if word)
        offset = base + min(mark.index if mark else 0, max(len(part) - 1, 0))
        raise _Refused("bad_yaml", f"malformed YAML: {sentence}", offset) from error
    except yaml.YAMLError as error:
        offset = base + getattr(error, "position", 0)
        raise _Refused("bad_yaml", "malformed YAML: a character that YAML does not allow", offset) from error


def _translate_event(event: yaml.Event, part: str, base: int) -> _Event | None:
    start = base + (event.start_mark.index if event.start_mark else 0)
    end = base + (event.end_mark.index if event.end_mark else 0)
    if isinstance(event, yaml.AliasEvent):
        raise _Refused("yaml_alias", f"the alias '*{event.anchor}' is not allowed here; write the value out", start)
    if isinstance(event, yaml.DocumentEndEvent) and event.explicit:
        raise _Refused("bad_yaml", "holds a line '...', which ends it too early", start)
    if isinstance(event, yaml.MappingStartEvent):
        return _Event("{", start, end, flow=bool(event.flow_style))
    if isinstance(event, yaml.SequenceStartEvent):
        return _Event("[", start, end, flow=bool(event.flow_style))
    if isinstance(event, yaml.CollectionEndEvent):
        return _Event("}", start, end)
    if not isinstance(event, yaml.ScalarEvent):
        return None
    quote = event.style or ""
    if quote not in ("|", ">"):
        end = start + len(part[start - base : end - base].rstrip())
    value = _typed(event.value) if event.implicit[0] and not quote else event.value
    return _Event(".", start, end, value, quote)


def _typed(word: str) -> Scalar:
    """A plain word as YAML 1.2 and JSON both read it; `yes`, `no` and times stay texts."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else word
