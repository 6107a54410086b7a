"""A markdown document as headings and list items with their places in the text, found by a markdown parser only.

What stands in a code block, a quotation or an HTML comment is text: no heading, item or box is found there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from drumline.core.plan import Problem
from drumline.patterns import compile_late
from drumline.planfiles.frontmatter import read_frontmatter
from drumline.planfiles.markdown import parse_blocks
from drumline.planfiles.source import BOM, line_starts
from drumline.record import Record, field

if TYPE_CHECKING:
    from markdown_it.token import Token

_BOX = compile_late(r"\[([^\w\]\[]|[xX])\](\\?\*)?(?:\s+|$)")
_ALMOST = compile_late(r"\[(?:\s*|\s+[xX]\s*|[xX]\s+|[a-z])\](?![(\[:])")
_ITEM_OPENS = "list_item_open"
_HEADING_OPENS = "heading_open"


class Heading(Record):
    """A heading and its section, which ends where one of the same or a higher level begins. Lines count from 1."""

    level: int
    words: str
    line: int
    start: int
    end: int
    parent: int = -1


class Entry(Record):
    """A list item: its words without the box, the lines it covers with all that is nested in it, and where it stands.

    `box` is the offset of the character between the brackets, -1 if it has no box; `star` says that an asterisk follows
    the box. `parent` and `heading` are the numbers of the item around it and of the heading above it, -1 if none.
    """

    words: str
    line: int
    start: int
    end: int
    depth: int
    parent: int
    heading: int
    box: int = -1
    mark: str = ""
    star: bool = False
    almost: bool = False


class Kind(Enum):
    """What a block is."""

    ITEM = "item"
    PARAGRAPH = "paragraph"
    FENCE = "fence"


class Block(Record):
    """An item's own words, a paragraph or a code block, as it is written. `language` is the word behind a fence.

    `heading` and `entry` are the numbers of the heading above it and of the item around it, -1 if none.
    """

    kind: Kind
    content: str
    line: int
    start: int
    heading: int
    entry: int
    language: str = ""


class Outline(Record):
    """All headings, list items and blocks from top to bottom; `begin` is where the text behind a frontmatter is."""

    begin: int
    headings: tuple[Heading, ...] = ()
    entries: tuple[Entry, ...] = ()
    blocks: tuple[Block, ...] = ()
    children: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def title(self) -> str:
        """The words of the first heading of the first level, "" if there is none."""
        return next((heading.words for heading in self.headings if heading.level == 1), "")

    def above(self, entry: Entry) -> Iterator[Heading]:
        """The headings whose sections hold the item, innermost first."""
        return (self.headings[number] for number in self.around(entry.heading))

    def around(self, heading: int) -> Iterator[int]:
        """The number of a heading and those of the headings around it, innermost first."""
        while heading >= 0:
            yield heading
            heading = self.headings[heading].parent

    def inside(self, number: int, *, without: Collection[int] = ()) -> Iterator[int]:
        """The numbers of all items nested in an item, from top to bottom; `without` some and what is in them."""
        waiting = list(reversed(self.children.get(number, ())))
        while waiting:
            child = waiting.pop()
            if child not in without:
                yield child
                waiting += reversed(self.children.get(child, ()))


@lru_cache(maxsize=4)
def read_outline(text: str) -> Outline:
    """The document's outline; remembered, since one write looks at the same text several times."""
    front = read_frontmatter(text, "")
    begin = (len(BOM) if text.startswith(BOM) else 0) if isinstance(front, Problem) else front.body
    before = 0 if isinstance(front, Problem) else front.body_line
    return _Scan(text, begin, before).read()


class _Scan:
    """One pass over the parser's tokens."""

    def __init__(self, text: str, begin: int, lines_before: int) -> None:
        self._text = text
        self._begin = begin
        self._before = lines_before
        self._starts = line_starts(text, begin)
        self._headings: list[Heading] = []
        self._entries: list[Entry] = []
        self._blocks: list[Block] = []
        self._open_items: list[int] = []
        self._quotes = 0

    def read(self) -> Outline:
        tokens = parse_blocks(self._text[self._begin :])
        for number, token in enumerate(tokens):
            self._take(token, tokens, number)
        children: dict[int, list[int]] = {}
        for number, entry in enumerate(self._entries):
            children.setdefault(entry.parent, []).append(number)
        return Outline(
            begin=self._begin,
            headings=tuple(_with_ends(self._headings, len(self._text))),
            entries=tuple(self._entries),
            blocks=tuple(self._blocks),
            children=children,
        )

    def _take(self, token: Token, tokens: Sequence[Token], number: int) -> None:
        if token.type in ("blockquote_open", "blockquote_close"):
            self._quotes += token.nesting
        elif token.type == "list_item_close" and not self._quotes:
            self._open_items.pop()
        elif self._quotes or token.map is None:
            return
        elif token.type == _HEADING_OPENS and token.level == 0:
            self._headings.append(self._heading(token, tokens[number + 1]))
        elif token.type == _ITEM_OPENS:
            self._entries.append(self._entry(token, tokens[number + 1 : number + 3]))
            self._open_items.append(len(self._entries) - 1)
        elif token.type == "paragraph_open":
            own = number > 0 and bool(_own_words(tokens[number - 1], tokens[number : number + 2]))
            self._add_block(Kind.ITEM if own else Kind.PARAGRAPH, token, tokens[number + 1].content)
        elif token.type == "fence":
            self._add_block(Kind.FENCE, token, token.content)

    def _heading(self, token: Token, inline: Token) -> Heading:
        line = token.map[0] if token.map else 0
        level = int(token.tag[1:])
        parent = len(self._headings) - 1
        while parent >= 0 and self._headings[parent].level >= level:
            parent = self._headings[parent].parent
        return Heading(
            level=level,
            words=" ".join(inline.content.split()),
            line=self._before + line + 1,
            start=self._at(line),
            end=-1,
            parent=parent,
        )

    def _entry(self, token: Token, following: Sequence[Token]) -> Entry:
        first, last = token.map or [0, 0]
        content = _own_words(token, following)
        found = _BOX.match(content)
        box = self._box(first, content) if found else -1
        words = content[found.end() :] if found and box >= 0 else content
        return Entry(
            words=" ".join(words.split()),
            line=self._before + first + 1,
            start=self._at(first),
            end=self._at(last),
            depth=len(self._open_items),
            parent=self._open_items[-1] if self._open_items else -1,
            heading=len(self._headings) - 1,
            box=box,
            mark=found[1] if found and box >= 0 else "",
            star=bool(found and box >= 0 and found[2]),
            almost=not found and bool(_ALMOST.match(content)),
        )

    def _add_block(self, kind: Kind, token: Token, content: str) -> None:
        line = token.map[0] if token.map else 0
        block = Block(
            kind=kind,
            content=content,
            line=self._before + line + 1,
            start=self._at(line),
            heading=len(self._headings) - 1,
            entry=self._open_items[-1] if self._open_items else -1,
            language=token.info.split()[0].casefold() if token.info.strip() else "",
        )
        self._blocks.append(block)

    def _box(self, line: int, content: str) -> int:
        """The offset of the mark: the parser strips what precedes the text of a line, so the text is its tail."""
        stop = self._at(line + 1)
        tail = len(content.split("\n", 1)[0].rstrip())
        opening = self._at(line) + len(self._text[self._at(line) : stop].rstrip()) - tail
        return opening + 1 if self._text[opening : opening + 3] == content[:3] else -1

    def _at(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self._text)


def _own_words(token: Token, following: Sequence[Token]) -> str:
    """The text that begins on the same line as the item's bullet."""
    if token.type != _ITEM_OPENS or len(following) < 2 or following[0].type != "paragraph_open":
        return ""
    same_line = token.map and following[0].map and token.map[0] == following[0].map[0]
    return following[1].content if same_line else ""


def _with_ends(headings: Sequence[Heading], end: int) -> Iterator[Heading]:
    """The headings with the end of their sections, found from behind."""
    found: list[Heading] = []
    later: list[Heading] = []
    for heading in reversed(headings):
        while later and later[-1].level > heading.level:
            later.pop()
        stop = later[-1].start if later else end
        later.append(heading)
        found.append(
            Heading(
                level=heading.level,
                words=heading.words,
                line=heading.line,
                start=heading.start,
                end=stop,
                parent=heading.parent,
            )
        )
    return reversed(found)
