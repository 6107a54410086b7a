"""The body of a step's file: task boxes, success criteria and title, found by a markdown parser only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from drumline.patterns import compile_late
from drumline.planfiles.criterion import read_criterion
from drumline.planfiles.source import line_starts
from drumline.record import Record

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BOX = frozenset({"[ ]", "[x]", "[X]"})


class Bucket(Enum):
    """The lists of success criteria, by the words of their heading."""

    VERIFICATION = "automated verification"
    QA = "automated qa"
    MANUAL = "manual verification"


BUCKETS: Mapping[str, Bucket] = {bucket.value: bucket for bucket in Bucket}
BY_HAND: Mapping[str, Bucket] = dict.fromkeys(
    (f"manual {what}" for what in ("verification", "testing", "tests", "checks", "qa", "review")), Bucket.MANUAL
)
"""Headings of what a person verifies, where a plan says what must hold after its last step."""
NOTHING: Mapping[str, Bucket] = {}
_NO_ITEM = compile_late(r"(?:none|n/?a|nothing|not applicable|[-–—])(?:\s*[(:;,.–—-].*)?", re.IGNORECASE | re.DOTALL)
"""What an item says where a list has to be and nothing is to be on it."""
_Bucketed: TypeAlias = "tuple[int, Token, Bucket | None]"
_PROMPT = "$ "


class Item(Record):
    """One criterion: the 1-based line of its list item, and its text without the box.

    A check has a `command`, or a `fault` that says why it is none.
    """

    bucket: Bucket
    line: int
    text: str
    command: str = ""
    fault: str = ""


class Body(Record):
    """What a body holds. `boxes` maps a line to the offset of the character between the box's brackets.

    `headings` holds the first line of each heading, by its words in small letters.
    """

    title: str
    items: tuple[Item, ...]
    boxes: dict[int, int]
    headings: Mapping[str, int]


def read_body(
    text: str,
    start: int,
    first_line: int,
    *,
    buckets: Mapping[str, Bucket] = BUCKETS,
    inner: Mapping[str, Bucket] = NOTHING,
    fenced: bool = False,
) -> Body:
    """The body that begins at offset `start`, the lines before it being `first_line` in number.

    `buckets` says which headings open which list of criteria, `inner` which do so only below one of them; with
    `fenced`, each command line of a code block under Automated Verification is a criterion too.
    """
    bucketed = list(_bucketed(tokens := parse_blocks(text[start:]), buckets, inner))
    starts = line_starts(text, start)
    items: list[Item] = []
    boxes: dict[int, int] = {}
    for bucket, nested, line, token in _listed(tokens, bucketed):
        box = _box_offset(text, starts, line, token)
        if box is not None:
            boxes[first_line + line + 1] = box
        if bucket is not None and (box is not None or not nested):
            item = _item(bucket, first_line + line + 1, token.content, box is not None)
            items += [item] if item.command or not _NO_ITEM.fullmatch(item.text.strip(" *_`.")) else []
    if fenced:
        items += _fenced(bucketed, first_line)
        items.sort(key=lambda item: item.line)
    return Body(title=find_title(tokens), items=tuple(items), boxes=boxes, headings=_headings(tokens, first_line))


def parse_blocks(text: str) -> list[Token]:
    """The text's blocks; what stands inside a paragraph or heading is left as it is written."""
    return _blocks().parse(text)


def heading_words(content: str) -> str:
    """A heading's words as they are compared: without emphasis and colon, in small letters."""
    return " ".join(content.strip("*_: \t").casefold().split())


def _item(bucket: Bucket, line: int, content: str, boxed: bool) -> Item:
    text = content[3:].strip() if boxed else content
    flat = " ".join(text.split())
    if bucket is not Bucket.VERIFICATION:
        return Item(bucket=bucket, line=line, text=flat)
    found = read_criterion(text)
    return Item(bucket=bucket, line=line, text=flat, command=found.command, fault=found.fault)


def _listed(tokens: Sequence[Token], bucketed: Sequence[_Bucketed]) -> Iterator[tuple[Bucket | None, bool, int, Token]]:
    """Every list item that opens with text: its bucket, whether it is nested, its line and its text token."""
    for number, token, bucket in bucketed:
        if token.type == "list_item_open" and token.map is not None:
            inline = _first_text(tokens, number)
            if inline is not None:
                yield bucket, token.level > 1, token.map[0], inline


def _bucketed(
    tokens: Sequence[Token], buckets: Mapping[str, Bucket], inner: Mapping[str, Bucket]
) -> Iterator[_Bucketed]:
    """Every token with the bucket it stands in: a heading opens one, and closes those at its depth and deeper."""
    opened: list[tuple[int, Bucket]] = []
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            depth, words = int(token.tag[1:]), heading_words(tokens[number + 1].content)
            opened = [(level, bucket) for level, bucket in opened if level < depth]
            named = buckets.get(words) or (inner.get(words) if opened else None)
            opened += [(depth, named)] if named is not None else []
        yield number, token, opened[-1][1] if opened else None


def _fenced(bucketed: Sequence[_Bucketed], first_line: int) -> Iterator[Item]:
    """The command lines of code blocks; a line that ends in a backslash goes on in the next."""
    for _, token, bucket in bucketed:
        if bucket is not Bucket.VERIFICATION or token.type not in ("fence", "code_block") or token.map is None:
            continue
        first = first_line + token.map[0] + (2 if token.type == "fence" else 1)
        for line, command in list_commands(token.content.split("\n")):
            yield Item(bucket=bucket, line=first + line, text=command, command=command)


def list_commands(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The commands of a code block, each with the number of its first line; a backslash at the end joins two lines."""
    started, parts = 0, list[str]()
    for number, line in enumerate(lines):
        started = number if not parts else started
        parts.append(line)
        if line.endswith("\\") and number + 1 < len(lines):
            continue
        command = "\n".join(parts).strip().removeprefix(_PROMPT).strip()
        parts = []
        if command and not command.startswith("#"):
            yield started, command


def _headings(tokens: Sequence[Token], first_line: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map is not None:
            found.setdefault(heading_words(tokens[number + 1].content), first_line + token.map[0] + 1)
    return found


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


def find_title(tokens: Sequence[Token]) -> str:
    """The words of the first heading of the first level, "" if there is none."""
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            return " ".join(tokens[number + 1].content.split())
    return ""


@cache
def _blocks() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Inline text is parsed for criteria only: it is most of the cost and of no use elsewhere.
    return MarkdownIt("commonmark").disable(["inline", "text_join"])
