"""The code spans of a line of text, found by a markdown parser."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class Piece(NamedTuple):
    """A part of a line of text: a code span, or what stands between two of them."""

    text: str
    code: bool


def code_spans(text: str) -> tuple[str, ...]:
    """The contents of the text's code spans, in order."""
    return tuple(piece.text for piece in split_spans(text) if piece.code)


def split_spans(text: str) -> tuple[Piece, ...]:
    """The text in pieces: code spans, and the rest."""
    if "`" not in text:
        return (Piece(text, code=False),)
    children: list[Token] = []
    parser = _inlines()
    parser.inline.parse(text, parser, {}, children)
    pieces: list[Piece] = []
    for child in children:
        code = child.type == "code_inline"
        if not code and pieces and not pieces[-1].code:
            pieces[-1] = Piece(pieces[-1].text + child.content, code=False)
        else:
            pieces.append(Piece(child.content, code=code))
    return tuple(pieces)


@cache
def _inlines() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # The rules that bind as tightly as code spans; without the rest, hostile text costs no more than its length.
    return MarkdownIt("zero", {"html": True}).enable(["backticks", "escape", "autolink", "html_inline"])
