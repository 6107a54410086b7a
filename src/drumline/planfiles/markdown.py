"""The body of a step's file: task boxes, success criteria and title, found by a markdown parser only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from drumline.planfiles.source import line_starts

_BOX = frozenset({"[ ]", "[x]", "[X]"})


class Bucket(Enum):
    """The lists of success criteria, by the words of their heading."""

    VERIFICATION = "automated verification"
    QA = "automated qa"
    MANUAL = "manual verification"


_BUCKETS = {bucket.value: bucket for bucket in Bucket}


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One criterion: the 1-based line of its list item, its text without the box, and its code spans."""

    bucket: Bucket
    line: int
    text: str
    spans: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    """What a body holds. `boxes` maps a line to the offset of the character between the box's brackets."""

    title: str
    items: tuple[Item, ...]
    boxes: dict[int, int]


def read_body(text: str, start: int, first_line: int) -> Body:
    """The body that begins at offset `start`, the lines before it being `first_line` in number."""
    tokens = _blocks().parse(text[start:])
    starts = line_starts(text, start)
    items: list[Item] = []
    boxes: dict[int, int] = {}
    for bucket, nested, line, token in _listed(tokens):
        box = _box_offset(text, starts, line, token)
        if box is not None:
            boxes[first_line + line + 1] = box
        if bucket is not None and (box is not None or not nested):
            items.append(_item(bucket, first_line + line + 1, token.content, box is not None))
    return Body(title=_title(tokens), items=tuple(items), boxes=boxes)


def _item(bucket: Bucket, line: int, content: str, boxed: bool) -> Item:
    text = content[3:].strip() if boxed else content
    spans = _code_spans(text) if bucket is Bucket.VERIFICATION else ()
    return Item(bucket=bucket, line=line, text=" ".join(text.split()), spans=spans)


def _listed(tokens: Sequence[Token]) -> Iterator[tuple[Bucket | None, bool, int, Token]]:
    """Every list item that opens with text: its bucket, whether it is nested, its line and its text token."""
    bucket: Bucket | None = None
    level = 0
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            bucket, level = _next_bucket(bucket, level, int(token.tag[1:]), tokens[number + 1].content)
        elif token.type == "list_item_open" and token.map is not None:
            inline = _first_text(tokens, number)
            if inline is not None:
                yield bucket, token.level > 1, token.map[0], inline


def _next_bucket(bucket: Bucket | None, level: int, depth: int, heading: str) -> tuple[Bucket | None, int]:
    """A heading opens its bucket, and closes an open one unless it stands deeper."""
    named = _BUCKETS.get(" ".join(heading.strip("*_: \t").casefold().split()))
    if named is not None:
        return named, depth
    return (bucket, level) if depth > level else (None, 0)


def _first_text(tokens: Sequence[Token], number: int) -> Token | None:
    """The text on the same line as the item's bullet."""
    following = tokens[number + 1 : number + 3]
    if len(following) < 2 or following[0].type != "paragraph_open" or following[0].map != following[1].map:
        return None
    bullet, paragraph = tokens[number].map, following[0].map
    same_line = bullet is not None and paragraph is not None and bullet[0] == paragraph[0]
    return following[1] if same_line else None


def _box_offset(text: str, starts: list[int], line: int, token: Token) -> int | None:
    content = token.content
    if content[:3] not in _BOX or not content[3:4].isspace():
        return None
    stop = starts[line + 1] if line + 1 < len(starts) else len(text)
    # The parser strips what precedes the text (bullets, quotes, indents), so the text is the line's tail.
    tail = len(content.split("\n", 1)[0].rstrip())
    opening = starts[line] + len(text[starts[line] : stop].rstrip()) - tail
    return opening + 1 if text[opening : opening + 3] == content[:3] else None


def _code_spans(text: str) -> tuple[str, ...]:
    if "`" not in text:
        return ()
    children: list[Token] = []
    parser = _inlines()
    parser.inline.parse(text, parser, {}, children)
    return tuple(child.content for child in children if child.type == "code_inline")


def _title(tokens: Sequence[Token]) -> str:
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            return " ".join(tokens[number + 1].content.split())
    return ""


@cache
def _blocks() -> MarkdownIt:
    # Inline text is parsed for criteria only: it is most of the cost and of no use elsewhere.
    return MarkdownIt("commonmark").disable(["inline", "text_join"])


@cache
def _inlines() -> MarkdownIt:
    # The rules that bind as tightly as code spans; without the rest, hostile text costs no more than its length.
    return MarkdownIt("zero", {"html": True}).enable(["backticks", "escape", "autolink", "html_inline"])
