"""JSON and YAML with the place of every value, for all files that people write: plans, flows, frontmatter, skills.

The rule: nothing is constructed but texts, numbers, truth values and nothing; aliases are refused unless the reader
bounds what they stand for, and nesting is bounded, so that no document can cost more than its length. `read_data` makes
a tree of it, in which one value can be changed and nothing else; readers of one shape use `yaml_events`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from drumline.late import import_late
from drumline.record import Record, field

if TYPE_CHECKING:
    import yaml
else:
    yaml = import_late("yaml")

MAX_DEPTH = 32
_CONSTANTS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,300}")
_NUMBER = re.compile(r"[-+]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][-+]?[0-9]{1,4})?")
_TEXT, _TIME = "tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp"
_SIMPLE_KEY = "while scanning a simple key"
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


class Refused(Exception):
    """A text cannot be used; `malformed` says that it is not YAML or JSON at all, not that it has what is refused."""

    def __init__(self, code: str, message: str, offset: int, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.flaw = Flaw(code, message, offset)
        self.malformed = malformed


_DECODER = json.JSONDecoder(strict=False)


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
    except Refused as other:
        flaw = (refused or other).flaw
        return flaw._replace(offset=min(flaw.offset, max(end - 1, start)))


def read_json_data(text: str) -> Data | Flaw:
    """The one value of a text that is JSON and nothing else."""
    refused = _refuse_json(text, 0)
    try:
        return refused.flaw if refused is not None else _Builder(_json_events(text, 0)).build()
    except Refused as other:
        return other.flaw


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
            raise Refused("not_a_mapping", "holds no data", 0)
        root = self._node(first, 0)
        for extra in self._events:
            raise Refused("bad_yaml", "holds a second YAML document", extra.start)
        return Data(root, tuple(self._twice))

    def _node(self, event: _Event, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise Refused("bad_yaml", f"is nested more than {MAX_DEPTH} levels deep", event.start)
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


def _refuse_json(part: str, base: int) -> Refused | None:
    try:
        json.loads(part, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return Refused("bad_json", f"malformed JSON: {error.msg}", base + min(error.pos, max(len(part) - 1, 0)))
    except (ValueError, RecursionError) as error:
        return Refused("bad_json", f"malformed JSON: {error}", base)
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
            value = _read_string(piece) if quoted else typed(piece)
            yield _Event(".", start, end, value, '"' if quoted else "")


def _read_string(piece: str) -> str:
    """A string of JSON; most have nothing to be unescaped."""
    if "\\" not in piece:
        return piece[1:-1]
    found: str = _DECODER.decode(piece)
    return found


def yaml_events(part: str, base: int = 0, *, aliases: bool = False) -> Iterator[yaml.Event]:
    """The events of a part of a text that begins at `base`; Refused, with its place, where it is malformed."""
    try:
        for event in yaml.parse(part, Loader=_choose_loader()):
            if isinstance(event, yaml.AliasEvent) and not aliases:
                message = f"the alias '*{event.anchor}' is not allowed here; write the value out"
                raise Refused("yaml_alias", message, base + begin_of(event))
            yield event
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is None or mark.index >= len(part) or error.context == _SIMPLE_KEY:
            # Found missing further down: what was begun and never closed is the line to look at.
            mark = error.context_mark or mark
        sentence = " ".join(word for word in (error.context, error.problem) if word)
        offset = base + (mark.index if mark else 0)
        raise Refused("bad_yaml", f"malformed YAML: {sentence}", offset, malformed=True) from error
    except yaml.YAMLError as error:
        offset = base + getattr(error, "position", 0)
        raise Refused("bad_yaml", "malformed YAML: a character that YAML does not allow", offset) from error


@cache
def _choose_loader() -> type:
    """The parser in C, where there is one."""
    found: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return found


def begin_of(event: yaml.Event) -> int:
    """The offset at which an event begins in the part that was parsed."""
    return event.start_mark.index if event.start_mark else 0


def end_of(event: yaml.Event) -> int:
    """The offset at which it ends."""
    return event.end_mark.index if event.end_mark else 0


def _yaml_events(part: str, base: int) -> Iterator[_Event]:
    for event in yaml_events(part, base):
        found = _translate_event(event, part, base)
        if found is not None:
            yield found


def _translate_event(event: yaml.Event, part: str, base: int) -> _Event | None:
    start, stop = base + begin_of(event), base + end_of(event)
    if isinstance(event, yaml.DocumentEndEvent) and event.explicit:
        raise Refused("bad_yaml", "holds a line '...', which ends it too early", start)
    if isinstance(event, yaml.MappingStartEvent):
        return _Event("{", start, stop, flow=bool(event.flow_style))
    if isinstance(event, yaml.SequenceStartEvent):
        return _Event("[", start, stop, flow=bool(event.flow_style))
    if isinstance(event, yaml.CollectionEndEvent):
        return _Event("}", start, stop)
    if not isinstance(event, yaml.ScalarEvent):
        return None
    quote = event.style or ""
    if quote not in ("|", ">"):
        stop = start + len(part[start - base : stop - base].rstrip())
    value = typed(event.value) if event.implicit[0] and not quote else event.value
    return _Event(".", start, stop, value, quote)


def typed(word: str) -> Scalar:
    """A plain word as YAML 1.2 and JSON both read it; `yes`, `no` and times stay texts."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    if _NUMBER.fullmatch(word) and math.isfinite(number := float(word)):
        return number
    return word


def reads_plain(value: str, *, times: bool = False) -> bool:
    """Whether a value that is written without quotes is read as this text, or, with `times`, as this time."""
    try:
        node = yaml.compose(f"k: {value}\n", Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return False
    found = node.value[0][1] if isinstance(node, yaml.MappingNode) else None
    tags = (_TEXT, _TIME) if times else (_TEXT,)
    return isinstance(found, yaml.ScalarNode) and not found.style and found.value == value and found.tag in tags


def write_quoted(value: str) -> str:
    """A text as YAML on one line, in quotes."""
    written: str = yaml.safe_dump(value, default_style='"', allow_unicode=True, width=2**31)
    return written.strip()
