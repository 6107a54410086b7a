"""Boxes that are not to be done now: those below headings such as Deferred, Out of scope or Future work, those that are
struck through, and those that end with such words in brackets.

A heading above all boxes of a document defers none of them: a person who runs that document wants them done.
"""

from __future__ import annotations

import re

from drumline.planfiles.outline import Entry, Outline

_NOUNS = (
    r"(?:items?|tasks?|work|features?|steps?|scope|ideas?|(?:user )?stories|phases?|changes|enhancements?"
    r"|improvements?|issues?|topics?|considerations?|extensions?|iterations?|versions?|releases?|plans?|directions?"
    r"|development|additions?|optimi[sz]ations?|possibilities|opportunities|to-?dos?|backlog|roadmap)"
)
_END = r"(?: (?:to|until|till|for|from|after|in|beyond|as|by|and)\b.*)?"
_TAIL = rf"(?: {_NOUNS}){{0,8}}{_END}"
_ANYWHERE = re.compile(
    rf"(?:explicitly |currently |intentionally )?(?:deferred|postponed|de-?scoped|backburner(?:ed)?){_TAIL}"
    rf"|(?:potential |possible |planned |known )?future(?: {_NOUNS}){{1,8}}{_END}"
    r"|(?:explicitly )?out[ -]of[ -]scope\b.*"
    r"|not (?:in scope|doing|planned|now|yet planned|in this \w+)\b.*"
    r"|(?:won['’]?t|will not) (?:do|fix|implement|be)\b.*|non-?goals?\b.*|ice ?box"
    r"|(?:post|beyond)[ -](?:the )?(?:mvp|v1(?:\.0)?)\b.*|do not (?:do|implement)\b.*",
    re.IGNORECASE,
)
"""What defers as a part of a heading, too: Known limitations & future work."""
_ALONE = re.compile(
    rf"(?:future|later|some ?day(?: ?/? ?maybe)?|maybe(?: later)?|ideas|wish ?list|parking lot|on hold|parked|shelved"
    rf"|rejected|abandoned|dropped|cancell?ed|obsolete|superseded)(?: {_NOUNS})?",
    re.IGNORECASE,
)
"""What defers only as the whole heading, or in brackets: Cancelled orders is a feature."""
_SAID = re.compile(
    r".*\S\s*[(\[]((?:deferred|postponed|de-?scoped|out[ -]of[ -]scope|not doing|won['’]?t (?:do|fix)|not in this)"
    r"\b[^()\[\]]*)[)\]]\W*",
    re.IGNORECASE,
)
_STRUCK = re.compile(
    r"[\W_]*(?:[A-Za-z-]{0,8}[0-9][\w.]*[\s:.)*]+)?(?:\[\w{1,20}\]\s*)*~~[^~]+~~[\s*]*(?:[(\[–—:-].*)?"
)
"""An id and tags may stand before what is struck through, a reason behind it."""
_NUMBER = re.compile(
    r"^[\W_]*(?:(?:phase|stage|part|milestone|step|section)\s+)?(?:[0-9]+(?:\.[0-9]+)*[a-z]?[.):]?\s+)?[\W_]*",
    re.IGNORECASE,
)
_PIECES = re.compile(r"\s*(?:[/|,;&+:]|\s[-–—]+\s|\band\b|\bor\b)\s*")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")


def find_deferred(outline: Outline) -> dict[int, str]:
    """The boxes that are not to be done now, by number, each with what says so."""
    below = _find_headings(outline)
    found: dict[int, str] = {}
    for number, entry in enumerate(outline.entries):
        above = next((around for around in outline.around(entry.heading) if around in below), -1)
        said = f"below {outline.headings[above].words!r}" if above >= 0 else _read_words(entry)
        inherited = found.get(entry.parent, "")
        if said or inherited:
            found[number] = said or inherited
    return {number: said for number, said in found.items() if outline.entries[number].box >= 0}


def defers(heading: str) -> bool:
    """Whether a heading says that what is below it is not to be done now."""
    if _STRUCK.fullmatch(heading):
        return True
    inner = [_flatten(words) for words in _BRACKETS.findall(heading)]
    outer = _flatten(_BRACKETS.sub(" ", heading))
    if _ALONE.fullmatch(outer) or any(_ALONE.fullmatch(words) for words in inner):
        return True
    pieces = [piece for words in (outer, *inner) for piece in (words, *_PIECES.split(words))]
    return any(_ANYWHERE.fullmatch(_flatten(piece)) for piece in pieces)


def _find_headings(outline: Outline) -> set[int]:
    """The headings that defer some of the boxes, and not all of them; a section is in one piece."""
    boxes = [entry for entry in outline.entries if entry.box >= 0 and entry.words]
    ends = [{*outline.around(entry.heading)} for entry in (*boxes[:1], *boxes[-1:])]
    around_all = ends[0] & ends[1] if ends else set()
    return {
        number for number, heading in enumerate(outline.headings) if number not in around_all and defers(heading.words)
    }


def _read_words(entry: Entry) -> str:
    if entry.box < 0:
        return ""
    if _STRUCK.fullmatch(entry.words):
        return "struck through"
    said = _SAID.fullmatch(entry.words)
    return f"its text says {said[1]!r}" if said else ""


def _flatten(words: str) -> str:
    """A heading without its number, emphasis and signs."""
    plain = _NUMBER.sub("", words.replace("*", "").replace("`", ""))
    return " ".join(plain.split()).strip(" :.–—-!?⏸✅☑️🚫❌")
