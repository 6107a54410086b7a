"""Changes to single values of a JSON or YAML text, in the style the text has. Every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from drumline.datatext import Kind, Node, plain, reads_plain, write_quoted
from drumline.planfiles.source import NEWLINE

Span = tuple[int, int, str]
Value = str | int | float | bool | None | Sequence["Value"] | Mapping[str, "Value"]

_STEP = 2


class Editor:
    """Collects replacements for one text; a value that is already there as wanted gives none."""

    def __init__(self, text: str, root: Node) -> None:
        self._text = text
        ending = NEWLINE.search(text)
        self._newline = ending[0] if ending else "\n"
        self._unit = _indent_unit(text, root)
        beginning = text[root.start : root.start + 400]
        self._gap = "" if re.search(r'":\S', beginning) and '": ' not in beginning else " "
        self._blocks = any(not n.flow and n.items and n.items[0].kind is Kind.SCALAR for n in _lists(root))
        self._spans: list[Span] = []
        self._lines: list[tuple[int, int, str]] = []

    @property
    def spans(self) -> list[Span]:
        """The replacements so far. Lines that begin at one place come deepest first, or they would end a collection."""
        lines = sorted(self._lines, key=lambda line: -line[1])
        return [*self._spans, *((place, place, text) for place, _, text in lines)]

    def set(self, mapping: Node, key: str, value: Value) -> None:
        """Give a mapping's key this value; a missing key comes after the last one."""
        old = mapping.get(key)
        if old is not None:
            if plain(old) != _listed(value):
                self._replace(mapping, mapping.keys[key], old, value)
        elif mapping.keys:
            self._add(mapping, key, value)
        elif mapping.flow:
            self._spans.append((mapping.start, mapping.end, self._flow({key: value}, mapping, mapping.start)))

    def insert_after(self, sequence: Node, number: int, value: Value) -> None:
        """Put a value after the item of this number."""
        item = sequence.items[number]
        if not sequence.flow:
            column = sequence.start - self._line_start(sequence.start)
            self._add_lines(item, column, f"{' ' * column}- {self._block(value, column + _STEP).lstrip()}")
        elif lead := self._lead(item):
            self._spans.append((item.end, item.end, f",{self._newline}{lead}{self._flow(value, sequence, item.start)}"))
        else:
            self._spans.append((item.end, item.end, f",{self._gap}{self._flow(value, sequence, item.start)}"))

    def _replace(self, mapping: Node, key: Node, old: Node, value: Value) -> None:
        # A block text takes its last line ending with it, and so does a collection that ends in one.
        ending = self._newline if old.end > old.start and self._text[old.end - 1] in "\r\n" else ""
        beside = key.end + len(":")
        if not mapping.flow and _is_nested(value) and value and self._wants_block(old, value):
            column = key.start - self._line_start(key.start)
            body = self._newline + self._block(value, column + _STEP)
            self._spans.append((beside, old.end, body + ending))
            return
        text = self._flow(value, mapping, key.start) if mapping.flow else _one_line(value, old.quote)
        if old.kind is not Kind.SCALAR and not old.flow:
            # A block collection stands on its own lines; what replaces it goes beside its key.
            self._spans.append((beside, old.end, f" {text}{ending}"))
            return
        space = " " if self._text[old.start - 1 : old.start] in (":", "-", "?") else ""
        self._spans.append((old.start, old.end, space + text + ending))

    def _wants_block(self, old: Node, value: Value) -> bool:
        """Lists of words follow the document's habit; lists of records are never put on one line."""
        if old.kind is not Kind.SCALAR:
            if not old.flow:
                return True
            if _size(old):
                return False
        words = isinstance(value, Sequence) and all(not _is_nested(item) for item in value)
        return self._blocks or not words

    def _add(self, mapping: Node, key: str, value: Value) -> None:
        last_key, last = list(mapping.keys.values())[-1], list(mapping.pairs.values())[-1]
        if not mapping.flow:
            column = last_key.start - self._line_start(last_key.start)
            self._add_lines(last if last.end > last_key.end else last_key, column, self._block({key: value}, column))
            return
        colon = ": " if self._gap else ":"
        lead = self._lead(last_key)
        between = f",{self._newline}{lead}" if lead else f",{self._gap}"
        added = f"{between}{json.dumps(key)}{colon}{self._flow(value, mapping, last_key.start)}"
        self._spans.append((last.end, last.end, added))

    def _add_lines(self, after: Node, column: int, lines: str) -> None:
        """Put lines below the line on which a block value ends."""
        end = after.end
        if end and self._text[end - 1] in "\r\n":
            self._lines.append((end, column, lines + self._newline))
            return
        found = NEWLINE.search(self._text, end)
        place = found.end() if found else len(self._text)
        added = lines + self._newline if found else self._newline + lines
        self._lines.append((place, column, added))

    def _flow(self, value: Value, near: Node, line_of: int) -> str:
        """The value as JSON, spread over lines if the place it goes to is."""
        if not self._unit or not self._lead_at(line_of, near):
            separators = (",", ":") if not self._gap else None
            return json.dumps(_listed(value), ensure_ascii=False, separators=separators)
        start = self._line_start(line_of)
        lead = self._text[start : start + _indent(self._text[start:line_of])]
        text = json.dumps(_listed(value), ensure_ascii=False, indent=self._unit)
        return text.replace("\n", self._newline + lead)

    def _block(self, value: Value, column: int) -> str:
        return self._newline.join(_block_lines(value, column))

    def _lead(self, node: Node) -> str:
        """What stands before a node on its line if that is only indentation, else nothing."""
        before = self._text[self._line_start(node.start) : node.start]
        return before if not before.strip() else ""

    def _lead_at(self, offset: int, near: Node) -> bool:
        """Whether a flow collection has each of its parts on a line of its own."""
        before = self._text[self._line_start(offset) : offset]
        return near.flow and not before.strip() and bool(NEWLINE.search(self._text, near.start, near.end))

    def _line_start(self, offset: int) -> int:
        return max(self._text.rfind("\n", 0, offset), self._text.rfind("\r", 0, offset)) + 1


def write_scalar(value: str | int | float | bool | None, quote: str = "") -> str:
    """The value as YAML on one line: in the quotes it had, or plain if it then reads as what it is."""
    if not isinstance(value, str):
        return json.dumps(value)
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if not quote and value == value.strip() and value.isprintable() and reads_plain(value):
        return value
    if value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    return write_quoted(value)


def _one_line(value: Value, quote: str) -> str:
    if isinstance(value, str | int | float | bool | None):
        return write_scalar(value, quote)
    return json.dumps(_listed(value), ensure_ascii=False)


def _block_lines(value: Value, column: int) -> Iterator[str]:
    """The value as block YAML, each line indented to the column."""
    lead = " " * column
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            if _is_nested(inner) and inner:
                yield f"{lead}{write_scalar(key)}:"
                yield from _block_lines(inner, column + _STEP)
            else:
                yield f"{lead}{write_scalar(key)}: {_one_line(inner, '')}"
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for item in value:
            first, *rest = _block_lines(item, column + _STEP)
            yield f"{lead}- {first.lstrip()}"
            yield from rest
    else:
        yield lead + _one_line(value, "")


def _is_nested(value: Value) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)


def _size(node: Node) -> int:
    return len(node.items) + len(node.pairs)


def _listed(value: Value) -> object:
    """Tuples as lists, so that values compare and print alike."""
    if isinstance(value, Mapping):
        return {key: _listed(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_listed(inner) for inner in value]
    return value


def _lists(node: Node) -> Iterator[Node]:
    if node.kind is Kind.SEQUENCE:
        yield node
    for inner in (*node.items, *node.pairs.values()):
        yield from _lists(inner)


def _indent_unit(text: str, root: Node) -> str:
    """What one level of nesting adds, from the first key of a root in braces; "" if it is all on one line."""
    if not root.flow or not root.keys:
        return "" if root.flow else " " * _STEP
    start = next(iter(root.keys.values())).start
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    before = text[line:start]
    return before if line > root.start and not before.strip() else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
