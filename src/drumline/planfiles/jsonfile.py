"""A JSON file with the line of every value: values from the standard parser, positions from a walk over its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from drumline.core.plan import Problem
from drumline.planfiles.source import BOM, line_at, line_starts
from drumline.record import Record

Place = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""

_LEXEME = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
MAX_DEPTH = 32


class JsonFile(Record):
    """The value of a file, the line where each part of it begins, and keys that are there twice."""

    value: object
    lines: Mapping[Place, int]
    problems: tuple[Problem, ...]

    def line(self, *place: str | int) -> int:
        """The line of the value at this place, or of the innermost value around it."""
        while place not in self.lines and place:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_json(text: str, path: str) -> JsonFile | Problem:
    """The file's value with its lines, or why it is not JSON."""
    body = text.removeprefix(BOM)
    starts = line_starts(body)
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        lines, twice = _walk(body, starts)
    except json.JSONDecodeError as error:
        return _bad(f"is not JSON: {error.msg}", path, line_at(starts, error.pos))
    except (ValueError, RecursionError) as error:
        return _bad(f"is not JSON: {error}", path, 1)
    return JsonFile(value=value, lines=lines, problems=tuple(_twice(key, line, path) for key, line in twice))


def encodable(text: str) -> str:
    """The text as a file can hold it: lone surrogates, which JSON can spell, become question marks."""
    return text.encode("utf-8", "replace").decode()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _bad(message: str, path: str, line: int) -> Problem:
    return Problem(code="bad_json", message=message, where=f"{path}:{line}")


def _twice(key: str, line: int, path: str) -> Problem:
    message = f"the key {key[:80]!r} is there twice in one object; only the last would count"
    return Problem(code="duplicate_key", message=message, where=f"{path}:{line}")


def _walk(text: str, starts: list[int]) -> tuple[dict[Place, int], list[tuple[str, int]]]:
    """The line of every value in text that is known to be JSON, and the keys that are there twice."""
    lines: dict[Place, int] = {}
    twice: list[tuple[str, int]] = []
    for place, offset in _values(text):
        line = line_at(starts, offset)
        if place in lines and isinstance(place[-1], str):
            twice.append((place[-1], line))
        lines[place] = line
    return lines, twice


def _values(text: str) -> Iterator[tuple[Place, int]]:
    place: list[str | int] = []
    expects_key = False
    for match in _LEXEME.finditer(text):
        lexeme = match[0]
        if lexeme in "}]":
            place.pop()
            expects_key = False
        elif lexeme == ",":
            expects_key = isinstance(place[-1], str)
            place[-1] = place[-1] + 1 if isinstance(place[-1], int) else ""
        elif expects_key:
            place[-1] = str(json.loads(lexeme))
            expects_key = False
        elif lexeme != ":":
            yield tuple(place), match.start()
            if lexeme in "{[":
                _descend(place, lexeme)
                expects_key = lexeme == "{"


def _descend(place: list[str | int], bracket: str) -> None:
    if len(place) >= MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    place.append("" if bracket == "{" else 0)
