"""What a plan says about itself as a whole, for the prompts of its steps: cut by sections and paragraphs.

The rule: what is left out is named, so that an agent can look it up. Boxes are empty: what is ticked changes while a
plan is run, and is nothing that it says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from drumline.patterns import compile_late
from drumline.planfiles.outline import Heading, Outline, read_outline
from drumline.planfiles.source import NEWLINE
from drumline.record import Record

BUDGET = 6_000
"""Characters of a plan's own words in a prompt: about 1,500 tokens."""

_LISTS = compile_late(
    r"(?:implementation |execution )?(?:steps|step list|phases|tasks|task list|waves|chunks)(?: .*)?"
    r"|(?:step |task |phase )?(?:status|progress|dependenc(?:y|ies)(?: .*)?|dag|graph|index|schedule)"
    r"|table of contents|contents|changelog|history|references",
    re.IGNORECASE,
)
_FIRST = compile_late(
    r"\b(?:overview|summary|goals?|objectives?|purpose|why|approach|architecture|decisions?|constraints?"
    r"|out of scope|non-?goals|not doing|not done|won'?t do|scope|principles|conventions)\b",
    re.IGNORECASE,
)
_BLANK = compile_late(r"(?:\r?\n[ \t]*){2,}")
_TICK = compile_late(r"^([ \t]*(?:[-*+]|[0-9]+[.)])[ \t]+)\[[xX]\](?=\s)", re.MULTILINE)
_FENCE = compile_late(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class _Part(Record):
    """A section of the plan's own words. `rank` is 0 for those that come first where not all fit."""

    words: str
    text: str
    rank: int


@lru_cache(maxsize=8)
def read_preamble(
    text: str, *, until: int | None = None, after: int | None = None, steps: Collection[int] = frozenset()
) -> str:
    """The sections of a document that are not about single steps, as far as the budget goes.

    What stands behind `until` is left out, and so are sections that begin at one of `steps`. Of those that begin at
    `after` or behind it, the ones that matter most are there, such as decisions.
    """
    outline = read_outline(text)
    end = len(text) if until is None else until
    parts = [part for part in _list_parts(text[:end], outline, steps) if part.text]
    if after is not None:
        behind = _list_parts(text, outline, steps, begin=after)
        parts += [part for part in behind if part.text and _FIRST.search(part.words)]
    return _choose(parts)


def _list_parts(text: str, outline: Outline, steps: Collection[int], *, begin: int = 0) -> Iterator[_Part]:
    top = [heading for heading in outline.headings if heading.level <= 2 and begin <= heading.start < len(text)]
    first = top[0].start if top else len(text)
    if not begin:
        yield _Part(words="what stands above the first heading", text=text[outline.begin : first].strip(), rank=0)
    for number, heading in enumerate(top):
        stop = top[number + 1].start if number + 1 < len(top) else len(text)
        if _is_list(heading, steps):
            continue
        words = heading.words.strip()
        body = text[heading.start : stop].strip().partition("\n")[2].strip() if heading.level == 1 else ""
        whole = body if heading.level == 1 else _without_rows(text[heading.start : stop])
        yield _Part(words=words, text=whole, rank=0 if heading.level == 1 or _FIRST.search(words) else 1)


def _is_list(heading: Heading, steps: Collection[int]) -> bool:
    """Whether the section lists steps or what became of them: a step has its own."""
    return heading.start in steps or bool(_LISTS.fullmatch(heading.words.strip(" *_:#`")))


def _without_rows(section: str) -> str:
    """The section; nothing if it is a heading alone."""
    return section.strip() if section.strip().partition("\n")[2].strip() else ""


def _choose(parts: list[_Part]) -> str:
    """The parts that fit, in the order of the document, and the names of the others."""
    left, chosen = BUDGET, dict[int, str]()
    for number, part in sorted(enumerate(parts), key=lambda pair: pair[1].rank):
        chosen[number] = part.text if len(part.text) <= left else _cut(part.text, left)
        left -= len(chosen[number])
    told = [chosen[number] for number in range(len(parts)) if chosen[number]]
    missing = [
        f"the rest of {part.words}" if chosen[number] else part.words
        for number, part in enumerate(parts)
        if chosen[number] != part.text
    ]
    told += [f"(Left out here for their length: {'; '.join(missing)}.)"] if missing else []
    return NEWLINE.sub("\n", _TICK.sub(r"\1[ ]", "\n\n".join(told)))


def _cut(text: str, most: int) -> str:
    """The first paragraphs that fit, without a heading that nothing follows and without half a code block."""
    ends = [found.start() for found in _BLANK.finditer(text) if found.start() <= most]
    for end in reversed(ends):
        kept = text[:end]
        if not kept.rpartition("\n")[2].startswith("#") and len(_FENCE.findall(kept)) % 2 == 0:
            return kept
    return ""
