"""Text measured in terminal cells. No text from outside reaches a terminal except through `flatten`."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

Segment = tuple[str, str]
"""A text and the word for its style."""
Row = list[Segment]
ELLIPSIS = "…"
MOST_LISTED = 20


def flatten(text: str, most: int = 0) -> str:
    """One line without control, format or surrogate characters; cut to `most` characters if that is given."""
    if not (text.isascii() and text.isprintable()):  # most text is both, and there are thousands of it
        plain = "".join(" " if c.isspace() else c for c in text)
        text = "".join(c if not unicodedata.category(c).startswith("C") else "" for c in plain)
    line = " ".join(text.split())
    return line if not most or len(line) <= most else line[: most - 1].rstrip() + ELLIPSIS


def split_lines(text: str) -> list[str]:
    """The lines as they are set, without what could move a cursor; of empty ones those that a diff has."""
    return [_keep(line) for line in text.splitlines() if line]


def _keep(line: str) -> str:
    plain = "".join(" " if c.isspace() else c for c in line.expandtabs(4))
    return "".join(c for c in plain if not unicodedata.category(c).startswith("C")).rstrip()


def count(number: int, noun: str) -> str:
    """So many of something: `1 step`, `2,000 steps`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def list_under(name: str, items: Sequence[str]) -> list[str]:
    """A heading and the first of the items below it; nothing without any."""
    if not items:
        return []
    more = len(items) - MOST_LISTED
    return [
        f"{name}:",
        *(f"  {item}" for item in items[:MOST_LISTED]),
        *([f"  … and {more:,} more"] if more > 0 else []),
    ]


def width(text: str) -> int:
    """How many cells the text takes."""
    return len(text) if text.isascii() else sum(_cells(c) for c in text)


def cut(text: str, cells: int) -> str:
    """The text in at most so many cells, with an ellipsis where something is missing."""
    if width(text) <= cells:
        return text
    if cells <= 0:
        return ""
    kept: list[str] = []
    left = cells - 1
    for character in text:
        left -= _cells(character)
        if left < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + ELLIPSIS


def fold(text: str, cells: int) -> list[str]:
    """The text in lines of at most so many cells, broken between words where that is possible, and indented alike."""
    if width(text) <= cells:
        return [text]
    indent = " " * min(len(text) - len(text.lstrip(" ")) + 2, max(0, cells // 2))
    lines: list[str] = []
    while width(text) > cells:
        fits = _count_fitting(text, cells)
        blank = text.rfind(" ", len(indent), fits + 1)
        end = blank if blank > len(text) - len(text.lstrip(" ")) else fits
        lines.append(text[:end].rstrip())
        text = indent + text[end:].lstrip(" ")
    return [*lines, text]


def _count_fitting(text: str, cells: int) -> int:
    """How many characters fit, at least one more than the indentation."""
    taken = 0
    for number, character in enumerate(text):
        taken += _cells(character)
        if taken > cells:
            return max(number, len(text) - len(text.lstrip(" ")) + 1)
    return len(text)


def join_reason(state: str, reason: str) -> str:
    """A state and its reason; a reason that begins with the word for the state stands for both."""
    return reason if reason.startswith(f"{state} ") else f"{state}: {reason}"


def fit(text: str, cells: int) -> str:
    """The text in exactly so many cells."""
    short = cut(text, cells)
    return short + " " * (cells - width(short))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
