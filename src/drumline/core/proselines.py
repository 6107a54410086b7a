"""A markdown text by the lines that its author says: no fenced code, no quotation, no comment of HTML.

Not a parser of markdown: it tells words from what only looks like them, in texts that agents write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from drumline.patterns import compile_late
from drumline.record import Record

COMMENT = compile_late(r"<!--.*?-->", re.DOTALL)
FENCE = compile_late(r" {0,3}(`{3,}|~{3,})")
_HEADING = compile_late(r" {0,3}(#{1,6})\s+(.*?)\s*#*")


class Line(Record):
    """A line that is neither code nor quoted. `path` are the headings above it, `first` if it begins a paragraph."""

    text: str
    number: int
    path: tuple[str, ...]
    paragraph: int
    first: bool


def read_lines(message: str) -> Iterator[Line]:
    """The lines that an agent says itself: no fenced or indented code, no quotation, no comment of HTML."""
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
        if heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            headings = [*(h for h in headings if h[0] < level), (level, normalise(heading[2]))]
            path, blank = [name for _, name in headings], True
            yield Line(text=line, number=number, path=tuple(path), paragraph=-1, first=False)
            continue
        if not line.strip():
            blank = True
            continue
        paragraph += blank
        yield Line(text=line.rstrip(), number=number, path=tuple(path), paragraph=paragraph, first=blank)
        blank = False


def _keep_lines(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


def normalise(heading: str) -> str:
    """A heading by its words: without marks, and without what comes after a colon, a dash or a bracket."""
    words = re.split(r"[:(]|\s[-–—]\s", heading)[0]
    return " ".join(re.findall(r"[a-z0-9/-]+", words.lower()))
