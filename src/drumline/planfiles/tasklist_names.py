"""What the words of a task begin with: an id, tags such as `[P]`, and the title behind them. Words become slugs."""

from __future__ import annotations

import hashlib
import re

from drumline.core.validation import legal_id
from drumline.record import Record

MOST_TITLE = 120
"""Letters of a title; the whole text of a task is in its prompt."""
_MOST_SLUG = 40
_EMPHASIS = "* \t"
_TAG = re.compile(r"[\s*_]*(?:\[([^\]\[]{1,20})\](?![(\[:])|\(([Pp])\))[\s*_]*")
_STORY = re.compile(r"(?:US|Story)[ -]?([0-9]+)", re.IGNORECASE)
_PARALLEL = frozenset({"p", "parallel", "∥"})
_AFTER_ID = re.compile(r"[*_`]*[.:)\]]?[*_`]*(?:[ \t]+(?:[-–—:][ \t]+)?|$)")


class Named(Record):
    """A task's words taken apart. `parallel` says that it may run beside the tasks around it, `star` that an asterisk
    follows its id.
    """

    id: str
    title: str
    parallel: bool = False
    star: bool = False


def take_name(words: str, ids: re.Pattern[str]) -> Named:
    """The id at the beginning of the words, if there is one that `ids` matches; tags; and the title."""
    rest = words.lstrip("*_` \t[") if ids.match(words.lstrip("*_` \t[")) else words
    found = ids.match(rest)
    behind = _AFTER_ID.match(rest, found.end()) if found else None
    step = found[0].rstrip(".") if found and behind and legal_id(found[0].rstrip(".")) else ""
    rest = rest[behind.end() :] if step and behind else words
    parallel = False
    while (tag := _TAG.match(rest)) and (meant := _read_tag(tag[1] or tag[2])):
        parallel = parallel or meant == "p"
        rest = rest[tag.end() :]
    star = bool(step and behind and behind[0].startswith("*") and not words.startswith(("*", "`")))
    return Named(id=step, title=shorten(rest.strip(_EMPHASIS)), parallel=parallel, star=star)


def shorten(words: str, *, most: int = MOST_TITLE) -> str:
    """The words as a title: without emphasis, and cut at a word where they are long."""
    flat = " ".join(words.replace("**", "").split())
    if len(flat) <= most:
        return flat
    return flat[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def make_slug(words: str) -> str:
    """An id made of the first words; of a digest where they have no letters that an id may have."""
    flat = re.sub(r"[^a-z0-9]+", "-", words.casefold()).strip("-")
    slug = flat if len(flat) <= _MOST_SLUG else flat[: _MOST_SLUG + 1].rpartition("-")[0] or flat[:_MOST_SLUG]
    letters = sum(letter.isalnum() for letter in words)
    if slug and len(flat.replace("-", "")) * 2 >= letters and legal_id(slug):
        return slug
    return f"task-{hashlib.blake2b(words.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def _read_tag(tag: str) -> str:
    """`p` for a parallel mark, the name of a story, or nothing for what belongs to the title."""
    if tag.casefold() in _PARALLEL:
        return "p"
    story = _STORY.fullmatch(tag.strip())
    return f"US{story[1]}" if story else ""
