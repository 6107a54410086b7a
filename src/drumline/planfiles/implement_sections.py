"""An implement.md as sections: one per step, with its field lines and list items, all found by the markdown parser.

A step reaches from its heading to the next step's, or to a heading that is not deeper than its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drumline.core.plan import Problem
from drumline.planfiles.frontmatter import Frontmatter, read_frontmatter
from drumline.planfiles.implement_vocabulary import StepHeading, almost_heading, read_field, read_heading
from drumline.planfiles.markdown import parse_blocks
from drumline.planfiles.source import BOM, line_starts
from drumline.record import Record

if TYPE_CHECKING:
    from markdown_it.token import Token

STEP_LEVELS = (2, 3)
_BOXES = ("[ ] ", "[x] ", "[X] ")


class Item(Record):
    """One list item of a field: its 1-based line, its text without the box, and the offset inside the box if any."""

    line: int
    text: str
    box: int | None


class Block(Record):
    """A code block: the 1-based line that its text begins at, and the language that it says it is in."""

    line: int
    text: str
    language: str


@dataclass(kw_only=True, slots=True)
class Field:
    """A line `**Name:** value`. The value lies from `start` to `end`, the whole line from `first` to `last`.

    `more` are the lines of text that go on from it, `items` the list below it, `blocks` the code blocks that follow,
    each with its first line and the word for its language.
    """

    name: str
    value: str
    line: int
    start: int
    end: int
    first: int
    last: int
    more: list[str] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def fenced(self) -> bool:
        """Whether a code block follows."""
        return bool(self.blocks)


@dataclass(kw_only=True, slots=True)
class Section:
    """One step's part of the document; `heading` is None for the parts between steps.

    The heading's words begin at offset `words`; `below` is the offset of the line under the heading, and `open_below`
    says whether a field line added there would stand by itself or join other fields.
    """

    heading: StepHeading | None
    level: int
    line: int
    start: int
    words: int
    below: int
    end: int = 0
    open_below: bool = True
    fields: list[Field] = field(default_factory=list)

    def first(self, name: str) -> Field | None:
        """The first field of this name."""
        return next((found for found in self.fields if found.name == name), None)


class Sections(Record):
    """All sections of a document in order, its title, and lines of headings that look like a step's but are none."""

    title: str
    front: Frontmatter | Problem
    sections: tuple[Section, ...]
    almost: tuple[int, ...]

    @property
    def steps(self) -> list[Section]:
        """The sections that are steps."""
        return [section for section in self.sections if section.heading is not None]

    def head(self, name: str) -> Field | None:
        """The first field of this name above all steps."""
        for section in self.sections:
            if section.heading is not None:
                return None
            if (found := section.first(name)) is not None:
                return found
        return None


def read_sections(text: str, path: str) -> Sections:
    """The document's sections. Positions count in `text`, lines from 1."""
    # The parser replaces NUL; doing so before keeps its words and the text's alike.
    clean = text.replace("\0", "\ufffd")
    front = read_frontmatter(clean, path)
    body = front.body if isinstance(front, Frontmatter) else len(BOM) if clean.startswith(BOM) else 0
    lines_above = front.body_line if isinstance(front, Frontmatter) else 0
    scan = _Scan(clean, body, lines_above)
    scan.walk(parse_blocks(clean[body:]))
    return Sections(title=scan.title, front=front, sections=tuple(scan.sections), almost=tuple(scan.almost))


class _Scan:
    """One walk over the parser's blocks."""

    def __init__(self, text: str, body: int, lines_above: int) -> None:
        self._text = text
        self._starts = [*line_starts(text, body), len(text)]
        self._above = lines_above
        self._field: Field | None = None
        self._paragraph = -1
        self.title = ""
        self.almost: list[int] = []
        first = Section(heading=None, level=0, line=1, start=body, words=body, below=body, end=len(text))
        self.sections = [first]

    def walk(self, tokens: Sequence[Token]) -> None:
        """Open a section at each heading and gather fields below it; quotations are not looked into."""
        quoted = 0
        for number, token in enumerate(tokens):
            quoted += (token.type == "blockquote_open") - (token.type == "blockquote_close")
            if quoted or token.map is None:
                continue
            if token.type == "heading_open" and token.level == 0:
                self._open(token, tokens[number + 1].content, tokens[number + 3 : number + 4])
            elif token.type == "paragraph_open":
                item = tokens[number - 1] if number and tokens[number - 1].type == "list_item_open" else None
                self._read_paragraph(token, tokens[number + 1].content, item)
            elif token.type in ("fence", "code_block") and self._field is not None:
                line = self._above + token.map[0] + (2 if token.type == "fence" else 1)
                words = token.info.split()
                self._field.blocks.append(Block(line=line, text=token.content, language=words[0] if words else ""))

    def _open(self, token: Token, content: str, following: Sequence[Token]) -> None:
        first, last = _map(token)
        level = int(token.tag[1:])
        self._field = None
        if level == 1 and not self.title:
            self.title = " ".join(content.split())
        heading = read_heading(content) if level in STEP_LEVELS else None
        here = self.sections[-1]
        if heading is None:
            if level in STEP_LEVELS and almost_heading(content):
                self.almost.append(self._above + first + 1)
            if here.heading is None or level > here.level:
                return
        start, below = self._starts[first], self._starts[min(last, len(self._starts) - 1)]
        here.end = start
        section = Section(
            heading=heading,
            level=level,
            line=self._above + first + 1,
            start=start,
            words=max(self._text.find(content, start, below), start),
            below=below,
            end=len(self._text),
            open_below=self._is_open(last, following),
        )
        self.sections.append(section)

    def _is_open(self, line: int, following: Sequence[Token]) -> bool:
        words = self._text[self._starts[line] : self._starts[line + 1]].strip() if line + 1 < len(self._starts) else ""
        token = following[0] if following else None
        paragraph = token is not None and token.type == "paragraph_open" and _map(token)[0] == line
        return not words or (paragraph and words.startswith("**"))

    def _read_paragraph(self, token: Token, content: str, item: Token | None) -> None:
        first = _map(token)[0]
        for number, line in enumerate(content.split("\n")):
            words = line.strip()
            found = read_field(words)
            if found is not None:
                self._field = self._make_field(found, first + number)
                self.sections[-1].fields.append(self._field)
                self._paragraph = first
            elif number == 0 and item is not None:
                self._add_item(item, first, words)
            elif self._field is not None and (self._paragraph == first or not _filled(self._field)):
                self._field.more.append(words)
                self._paragraph = first

    def _make_field(self, found: tuple[str, str], line: int) -> Field:
        name, value = found
        first, last = self._starts[line], self._starts[line + 1]
        end = first + len(self._text[first:last].rstrip())
        return Field(
            name=name,
            value=value,
            line=self._above + line + 1,
            # The parser strips what precedes the words (bullets, indents), so the value is the line's tail.
            start=end - len(value) if value else end,
            end=end,
            first=first,
            last=last,
        )

    def _add_item(self, item: Token, line: int, words: str) -> None:
        boxed = words.startswith(_BOXES) and _map(item)[0] == line
        if self._field is None or (item.level > 1 and not boxed):
            return
        first, last = self._starts[line], self._starts[line + 1]
        box = first + len(self._text[first:last].rstrip()) - len(words) + 1 if boxed else None
        text = words[4:].strip() if boxed else words
        self._field.items.append(Item(line=self._above + line + 1, text=text, box=box))


def _filled(found: Field) -> bool:
    return bool(found.value or found.more or found.items or found.fenced)


def _map(token: Token) -> tuple[int, int]:
    first, last = token.map or (0, 0)
    return first, last
