"""The parts of files that conflict, between their markers, as an agent sees them in its prompt. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from drumline.patterns import compile_late
from drumline.record import Record

MOST_LINES, MOST_LETTERS, WIDTH = 40, 6_000, 200
"""Lines that are shown of one, letters of all, and letters of a line; the files have the rest."""
BEGIN, END = compile_late("<{7,64} "), compile_late(">{7,64} ")
"""An attribute of a file may make them longer than seven."""


class Hunk(Record):
    """A part of a file that two sides changed, with the line that it begins at."""

    path: str
    line: int
    text: str


def cut_hunks(path: str, text: str) -> list[Hunk]:
    """The parts of a text that have both markers."""
    found: list[Hunk] = []
    lines, begun = text.splitlines(), 0
    for number, line in enumerate(lines, 1):
        if BEGIN.match(line):
            begun = number
        elif END.match(line) and begun:
            found.append(Hunk(path=path, line=begun, text="\n".join(_shorten(lines[begun - 1 : number]))))
            begun = 0
    return found


def choose_hunks(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """The first ones, as many as fit into a prompt; always one, if there is any."""
    chosen: list[Hunk] = []
    left = MOST_LETTERS
    for hunk in hunks:
        left -= len(hunk.text)
        if chosen and left < 0:
            break
        chosen.append(hunk)
    return tuple(chosen)


def _shorten(lines: list[str]) -> list[str]:
    """The lines, without the middle of many and the ends of long ones."""
    cut = [line if len(line) <= WIDTH else f"{line[:WIDTH]}…" for line in lines]
    half, left_out = MOST_LINES // 2, len(cut) - MOST_LINES
    return cut if left_out <= 0 else [*cut[:half], f"… ({left_out} lines)", *cut[-half:]]
