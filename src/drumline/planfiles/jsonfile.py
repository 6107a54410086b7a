"""A JSON file with the line of every value, and the keys that are there twice."""

from __future__ import annotations

from drumline.core.plan import Problem
from drumline.datatext import Flaw, Kind, Node, plain, read_json_data
from drumline.planfiles.source import BOM, line_at, line_starts
from drumline.record import Record

Place = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


class JsonFile(Record):
    """The value of a file, where each part of it begins, and keys that are there twice."""

    value: object
    root: Node
    starts: list[int]
    problems: tuple[Problem, ...]

    def line(self, *place: str | int) -> int:
        """The line of the value at this place, or of the innermost value around it."""
        node = self.root
        for step in place:
            inner = node.pairs.get(step) if isinstance(step, str) else _item(node, step)
            if inner is None:
                break
            node = inner
        return line_at(self.starts, node.start)


def _item(node: Node, number: int) -> Node | None:
    return node.items[number] if node.kind is Kind.SEQUENCE and 0 <= number < len(node.items) else None


def read_json(text: str, path: str) -> JsonFile | Problem:
    """The file's value with its lines, or why it is not JSON."""
    body = text.removeprefix(BOM)
    starts = line_starts(body)
    data = read_json_data(body)
    if isinstance(data, Flaw):
        message = f"is not JSON: {data.message.removeprefix('malformed JSON: ').removeprefix('is ')}"
        return Problem(code="bad_json", message=message, where=f"{path}:{line_at(starts, data.offset)}")
    problems = tuple(_twice(key, line_at(starts, offset), path) for key, offset in data.twice)
    return JsonFile(value=plain(data.root), root=data.root, starts=starts, problems=problems)


def encodable(text: str) -> str:
    """The text as a file can hold it: lone surrogates, which JSON can spell, become question marks."""
    return text.encode("utf-8", "replace").decode()


def _twice(key: str, line: int, path: str) -> Problem:
    message = f"the key {key[:80]!r} is there twice in one object; only the last would count"
    return Problem(code="duplicate_key", message=message, where=f"{path}:{line}")
