"""The YAML between the `---` lines of a plan's file, with the position of every value.

Read from the parser's events: nothing is constructed, aliases are refused and nesting is bounded, so that no
document can cost more than its length. A line that is not YAML, as people and tools write them, is read as the text it
is, with a warning (`Mask`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from drumline.core.plan import Problem
from drumline.datatext import Refused, begin_of, end_of, yaml_events
from drumline.late import import_late
from drumline.planfiles.mask import MOST_MASKED, Mask
from drumline.planfiles.source import BOM, line_at, line_starts
from drumline.record import Record

if TYPE_CHECKING:
    import yaml
else:
    yaml = import_late("yaml")

MAX_CHARS = 64 * 1024
MAX_DEPTH = 16
NEEDS = "depends_on"
ALSO_NEEDS = ("needs", "dependsOn", "depends-on", "depends", "dependencies", "blocked_by", "blocked-by", "blockedBy")
"""What people and other tools write for `depends_on`: a need that is not read would start a step too early."""
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

Value = str | tuple[str, ...] | None


class Entry(Record):
    """One key: its value (a text, a list of texts, or None for anything deeper) and where it stands in the file.

    `start` and `end` bound the value itself, `first` and `last` the whole lines from the key to the value's end.
    """

    value: Value
    line: int
    start: int
    end: int
    first: int
    last: int


class Frontmatter(Record):
    """All keys of one file. `end` is where a further line would go; the body begins at offset `body`."""

    entries: Mapping[str, Entry]
    end: int
    body: int
    body_line: int
    newline: str
    indent: str
    problems: tuple[Problem, ...]

    def text(self, key: str) -> str | None:
        """The value as text; "" if the key is absent or null, None if it is not a text."""
        entry = self.entries.get(key)
        value = entry.value if entry else ""
        return value if isinstance(value, str) else None

    def line(self, key: str) -> int:
        """The line of the key; that of the opening `---` if it is absent."""
        entry = self.entries.get(key)
        return entry.line if entry else 1


def read_frontmatter(text: str, path: str) -> Frontmatter | Problem:
    """The file's frontmatter, or the problem that makes it unusable."""
    starts = _fenced_starts(text)
    try:
        if len(starts) < 3:
            raise _missing(starts)
        return _read_patiently(text, path, starts)
    except Refused as refused:
        where = f"{path}:{line_at(starts, refused.flaw.offset)}"
        return Problem(code=refused.flaw.code, message=refused.flaw.message, where=where)


def _read_patiently(text: str, path: str, starts: list[int]) -> Frontmatter:
    """Read it; where a line is not YAML, once more without that line's value, which is then the text that it is."""
    mask = Mask(text=text, path=path)
    first: Refused | None = None
    for _ in range(MOST_MASKED):
        try:
            return _Reader(mask, path, starts).read()
        except Refused as error:
            if not error.malformed:
                raise
            first = first or error
            number = _find_culprit(mask, starts, line_at(starts, error.flaw.offset))
            if number < 2 or number >= len(starts) or not mask.hide(number, starts[number - 1], starts[number]):
                break
    raise first or AssertionError("nothing was tried")


def _find_culprit(mask: Mask, starts: list[int], number: int) -> int:
    """The line to blame for an error that the parser met at a line: an unclosed value above it may be the cause.

    A line that is YAML by itself is not hidden while a key above it has a value that is not. An id is never guessed.
    """
    if number >= len(starts) or not _is_yaml(mask.text[starts[number - 1] : starts[number]]):
        return number
    lines = ((n, mask.text[starts[n - 1] : starts[n]]) for n in range(number - 1, 1, -1))
    return next((n for n, line in lines if not line.startswith("id:") and not _is_yaml(line)), number)


def _is_yaml(line: str) -> bool:
    try:
        for _ in yaml_events(line, aliases=True):
            pass
    except Refused:
        return False
    return True


def _fenced_starts(text: str) -> list[int]:
    """Line starts from the opening fence up to and including the body's first; shorter than 3 without fences."""
    first = len(BOM) if text.startswith(BOM) else 0
    starts = line_starts(text[: first + MAX_CHARS], first)
    if _line(text, starts, 0) != "---":
        return [first]
    closing = next((n for n in range(1, len(starts)) if _line(text, starts, n) == "---"), None)
    if closing is None:
        return [first, len(text)]
    body = starts[closing + 1] if closing + 1 < len(starts) else len(text)
    return [*starts[: closing + 1], body]


def _line(text: str, starts: list[int], number: int) -> str:
    stop = starts[number + 1] if number + 1 < len(starts) else min(len(text), starts[number] + 8)
    return text[starts[number] : stop].rstrip(" \t\r\n")


def _missing(starts: list[int]) -> Refused:
    if len(starts) == 1:
        return Refused("no_frontmatter", "does not begin with a line '---' and frontmatter", starts[0])
    message = f"the frontmatter is not closed by a line '---' within {MAX_CHARS} characters"
    return Refused("unclosed_frontmatter", message, starts[0])


class _Reader:
    """Turns the parser's events into entries."""

    def __init__(self, mask: Mask, path: str, starts: list[int]) -> None:
        self._mask = mask
        self._text = mask.text
        self._path = path
        self._starts = starts
        self._base = starts[1]
        self._problems: list[Problem] = list(mask.problems)
        self._entries: dict[str, Entry] = {}
        self._indent = ""

    def read(self) -> Frontmatter:
        self._read_document()
        self._find_needs()
        starts, text = self._starts, self._text
        fence = text[starts[0] : starts[1]]
        return Frontmatter(
            entries=self._entries,
            end=starts[-2],
            body=starts[-1],
            body_line=len(starts) - 1,
            newline=fence[len(fence.rstrip("\r\n")) :],
            indent=self._indent,
            problems=tuple(self._problems),
        )

    def _find_needs(self) -> None:
        """Enter the needs below their own name, too, where the file has another one for them."""
        others = (entry for key in ALSO_NEEDS if (entry := self._entries.get(key)))
        found = next(others, None)
        if found is not None:
            self._entries.setdefault(NEEDS, found)

    def _read_document(self) -> None:
        events = self._events()
        for event in events:
            if isinstance(event, yaml.MappingStartEvent) and not event.flow_style:
                self._read_mapping(events)
            elif isinstance(event, yaml.NodeEvent):
                message = "the frontmatter must be a mapping with one 'key: value' per line"
                raise Refused("not_a_mapping", message, self._base + begin_of(event))
            elif isinstance(event, yaml.DocumentStartEvent) and self._entries:
                raise Refused("bad_yaml", "holds a second YAML document", self._base + begin_of(event))
            elif isinstance(event, yaml.DocumentEndEvent) and event.explicit:
                # A line added below it, as marks are, would be outside the document.
                raise Refused("bad_yaml", "holds a line '...', which ends it too early", self._base + begin_of(event))

    def _events(self) -> Iterator[yaml.Event]:
        """The parser's events; malformed, aliased or deeply nested text is refused with its position."""
        depth = 0
        for event in yaml_events(self._text[self._base : self._starts[-2]], self._base):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                message = f"is nested more than {MAX_DEPTH} levels deep"
                raise Refused("bad_yaml", message, self._base + begin_of(event))
            yield event

    def _read_mapping(self, events: Iterator[yaml.Event]) -> None:
        for key in events:
            if isinstance(key, yaml.MappingEndEvent):
                return
            start = self._base + begin_of(key)
            self._indent = self._text[self._line_start(start) : start]
            if not isinstance(key, yaml.ScalarEvent) or self._indent.strip():
                raise Refused("not_a_mapping", "each key must be a word at the beginning of its own line", start)
            self._add(key.value, start, events)

    def _add(self, key: str, begin: int, events: Iterator[yaml.Event]) -> None:
        event = next(events)
        value, last_mark = self._read_value(event, events)
        start, end = self._base + begin_of(event), self._base + last_mark
        # A block text ends where the next token begins; the blank lines between are not the value's.
        end = start + len(self._text[start:end].rstrip())
        line = line_at(self._starts, begin)
        if key in self._entries:
            message = f"the key {key!r} is there twice (first in line {self._entries[key].line})"
            self._problems.append(Problem(code="duplicate_key", message=message, where=f"{self._path}:{line}"))
            return
        self._entries[key] = Entry(
            value=value,
            line=line,
            start=start,
            end=end,
            first=self._line_start(begin),
            last=self._starts[line_at(self._starts, max(end - 1, begin))],
        )

    def _read_value(self, event: yaml.Event, events: Iterator[yaml.Event]) -> tuple[Value, int]:
        """The value that begins with `event` and the index of its end; deeper structures are passed over."""
        if isinstance(event, yaml.ScalarEvent):
            return self._text_of(event), end_of(event)
        items: list[str] = []
        flat = isinstance(event, yaml.SequenceStartEvent)
        depth = 1
        while depth:
            event = next(events)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            flat = flat and not isinstance(event, yaml.CollectionStartEvent)
            if isinstance(event, yaml.ScalarEvent):
                items.append(self._text_of(event))
        return (tuple(items) if flat else None), end_of(event)

    def _text_of(self, event: yaml.ScalarEvent) -> str:
        hidden = self._mask.hidden.get(self._base + begin_of(event))
        if hidden is not None:
            return hidden
        plain = event.implicit[0] and not event.style
        return "" if plain and event.value in _NULLS else event.value

    def _line_start(self, offset: int) -> int:
        return self._starts[line_at(self._starts, offset) - 1]
