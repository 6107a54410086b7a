"""YAML as a tree of values with their lines.

Nothing is constructed but texts, numbers, truth values and nothing; tags are refused, nesting is bounded, and what an
alias stands for counts as if it were written out, so that no document can cost much more than its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import yaml

from drumline.core.flow.model import Json
from drumline.datatext import Refused, Scalar, typed, yaml_events

MAX_DEPTH = 48
MAX_VALUES = 1_000_000
"""Values in one document with all aliases written out."""

ADVICE = "mind the indentation, and put texts with ': ' or a leading special character in quotes"
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
Value: TypeAlias = "Scalar | list[Item] | dict[str, Item]"


class Item(NamedTuple):
    """A value and the line where a person looks for it: that of its key, or its own in a list."""

    line: int
    value: Value


class Flaw(NamedTuple):
    """Something wrong with the text itself."""

    code: str
    line: int
    message: str


class Tree(NamedTuple):
    """A readable text: its root and keys that are there twice."""

    root: Item
    flaws: tuple[Flaw, ...]


class _Refused(Exception):
    """The text cannot be used at all."""

    def __init__(self, *, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.flaw = Flaw(code=code, line=line, message=message)


def parse_tree(text: str) -> Tree | Flaw:
    """The one document in a text, or why there is none."""
    builder = _Builder(text)
    try:
        return Tree(builder.build(), tuple(builder.flaws))
    except _Refused as refused:
        return refused.flaw
    except Refused as error:
        advice = ADVICE if error.malformed else "remove it"
        line = text.count("\n", 0, error.flaw.offset) + 1
        return Flaw(code=error.flaw.code, line=line, message=f"{error.flaw.message}; {advice}")


def plain(item: Item) -> Json:
    """The value itself, without lines."""
    if isinstance(item.value, dict):
        return {key: plain(value) for key, value in item.value.items()}
    if isinstance(item.value, list):
        return [plain(value) for value in item.value]
    return item.value


class _Builder:
    """Puts the parser's events together."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[yaml.Event] = yaml_events(text, aliases=True)
        self._anchors: dict[str, tuple[Item, int]] = {}
        self._count = 0
        self.flaws: list[Flaw] = []

    def build(self) -> Item:
        root: Item | None = None
        for event in self._events:
            if isinstance(event, yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentEndEvent):
                continue
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    message = "holds a second YAML document; a flow is one, remove the `---` line"
                    raise _Refused(code="bad_yaml", line=_line(event), message=message)
                continue
            root = self._item(event, 0)
        return root if root is not None else Item(1, None)

    def _item(self, event: yaml.Event, depth: int) -> Item:
        line = _line(event)
        _refuse(event, line, depth)
        before = self._count
        self._count += 1
        if isinstance(event, yaml.AliasEvent):
            return self._follow(event, line)
        if isinstance(event, yaml.MappingStartEvent):
            item = Item(line, self._mapping(depth))
        elif isinstance(event, yaml.SequenceStartEvent):
            item = Item(line, self._sequence(depth))
        else:
            item = Item(line, _scalar(event))
        if name := getattr(event, "anchor", None):
            self._anchors[name] = (item, self._count - before)
        return item

    def _follow(self, event: yaml.AliasEvent, line: int) -> Item:
        """What an alias stands for; it counts as if it were written out: a short file cannot mean a huge one."""
        if event.anchor not in self._anchors:
            message = f"the alias '*{event.anchor}' stands for nothing; put the anchor '&{event.anchor}' before it"
            raise _Refused(code="yaml_alias", line=line, message=message)
        item, size = self._anchors[event.anchor]
        self._count += size
        if self._count > MAX_VALUES:
            message = f"aliases make it more than {MAX_VALUES:,} values; write it with fewer of them"
            raise _Refused(code="yaml_alias", line=line, message=message)
        return item

    def _mapping(self, depth: int) -> dict[str, Item]:
        found: dict[str, Item] = {}
        merged: dict[str, Item] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = _line(event)
            _refuse(event, line, depth + 1)
            if not isinstance(event, yaml.ScalarEvent):
                message = "a list or mapping is used as a key; put texts that begin with { or [ in quotes"
                raise _Refused(code="bad_yaml", line=line, message=message)
            if event.value in found:
                message = f"the key {event.value!r} is written twice; keep one of them"
                self.flaws.append(Flaw(code="duplicate_key", line=line, message=message))
            value = self._item(next(self._events), depth + 1).value
            if event.value == "<<" and event.implicit[0]:
                merged |= self._merge(value, line)
            else:
                found[event.value] = Item(line, value)
        return merged | found

    def _merge(self, value: Value, line: int) -> dict[str, Item]:
        """The keys of `<<`: a mapping, or several of which the first that has a key counts."""
        parts = [part.value for part in value] if isinstance(value, list) else [value]
        found: dict[str, Item] = {}
        for part in reversed(parts):
            if not isinstance(part, dict):
                raise _Refused(code="bad_yaml", line=line, message="`<<` takes the alias of a mapping")
            found |= part
        return found

    def _sequence(self, depth: int) -> list[Item]:
        found: list[Item] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            found.append(self._item(event, depth + 1))
        return found


def _refuse(event: yaml.Event, line: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        message = f"is nested more than {MAX_DEPTH} levels deep; make it flatter"
        raise _Refused(code="bad_yaml", line=line, message=message)
    tag = getattr(event, "tag", None)
    if tag is not None and tag not in _TEXT_TAGS:
        message = f"the tag {tag!r} is not followed; remove it"
        raise _Refused(code="yaml_tag", line=line, message=message)


def _scalar(event: yaml.Event) -> Scalar:
    if not isinstance(event, yaml.ScalarEvent):
        raise AssertionError(f"the YAML parser gave {event!r} in place of a value")
    word = event.value
    if not event.implicit[0]:
        return str(word)
    return typed(word)


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1 if event.start_mark else 1
