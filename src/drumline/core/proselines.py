"""A markdown text by the lines that its author says: no fenced code, no quotation, no comment of HTML.

Not a parser of markdown: it tells words from what only looks like them, in texts that agents write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from drumline.patterns import compile_late
from drumline.record import Record

COMMENT = compile_late(r"<!--.*?-->", re.DOTALL)
FENCE = compile_late(r" {0,3}(`{3,}|~{3,})")
_HEADING = compile_late(r" {0,3}(#{1,6})\s+(.*?)\s*#*")
_BOLD = compile_late(r" {0,3}(\*\*|__)([^*_]+)\1:?\s*")
_NUMBER = compile_late(r"^\W*[0-9]+(?:\.[0-9]+)*[.)]?\s+(?=[^\W\d])")
_BELOW_ALL = 7
"""The level of a bold line that stands for a heading."""


class Line(Record):
    """A line that is neither code nor quoted. `path` are the headings above it, `first` if it begins a paragraph."""

    text: str
    number: int
    path: tuple[str, ...]
    paragraph: int
    first: bool


def read_lines(message: str, titles: Collection[str] = ()) -> Iterator[Line]:
    """The lines that an agent says itself: no fenced or indented code, no quotation, no comment of HTML.

    A bold line that has one of the `titles` to itself is a heading.
    """
    fence, path, paragraph, blank = "", [], 0, True
    headings: list[tuple[int, str]] = []
    for number, line in enumerate(COMMENT.sub(_keep_lines, message).split("\n")):
        mark = FENCE.match(line)
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and mark[1].startswith(fence) and not line.strip(" `~"):
            fence, blank = "", True
            continue
        if fence or line.lstrip().startswith(">"):
            blank = True
            continue
        if heading := _read_heading(line, titles):
            headings = [*(h for h in headings if h[0] < heading[0]), heading]
            path, blank = [name for _, name in headings], True
            yield Line(text=line, number=number, path=tuple(path), paragraph=-1, first=False)
            continue
        if not line.strip():
            blank = True
            continue
        paragraph += blank
        yield Line(text=line.rstrip(), number=number, path=tuple(path), paragraph=paragraph, first=blank)
        blank = False


def _read_heading(line: str, titles: Collection[str]) -> tuple[int, str] | None:
    """The level of a heading, and its words; None if the line is none."""
    if found := _HEADING.fullmatch(line):
        return len(found[1]), normalise(found[2])
    if (bold := _BOLD.fullmatch(line)) and (title := normalise(bold[2])) in titles:
        return _BELOW_ALL, title
    return None


def unwrap(message: str, title: str) -> str:
    """The message without the fence around its report: around a heading `title`, or around all of the message.

    The last fence closes it: those between belong to the report. The message as it is if no fence is around it.
    """
    lines = message.split("\n")
    opened = _find_wrapping(lines, title)
    if opened is None:
        return message
    mark = (FENCE.match(lines[opened]) or [""])[0].strip()
    closed = [number for number, line in enumerate(lines) if number > opened and line.strip() == mark]
    return "\n".join("" if number in (opened, *closed[-1:]) else line for number, line in enumerate(lines))


def _find_wrapping(lines: Sequence[str], title: str) -> int | None:
    """The line of the fence around everything, or around the heading; None if one of them stands outside."""
    fence, opened, around = "", 0, None
    for number, line in enumerate(lines):
        mark = FENCE.match(line)
        if mark is not None and not fence:
            fence, opened = mark[1], number
        elif mark is not None and mark[1].startswith(fence) and not line.strip(" `~"):
            fence = ""
        elif (heading := _read_heading(line, {title})) and heading[1] == title:
            if not fence:
                return None
            around = opened if around is None else around
    said = [number for number, line in enumerate(lines) if line.strip()]
    whole = len(said) > 2 and FENCE.match(lines[said[0]]) and FENCE.fullmatch(lines[said[-1]].rstrip())
    return said[0] if whole else around


def _keep_lines(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


def normalise(heading: str) -> str:
    """A heading by its words: without marks and number, and without what follows a colon, a dash or a bracket."""
    words = re.split(r"[:(]|\s[-–—]\s", _NUMBER.sub("", heading))[0]
    return " ".join(re.findall(r"[a-z0-9/-]+", words.lower()))
