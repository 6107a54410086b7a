"""Boxes that say how work is judged and not what is to be done: those below headings such as Acceptance criteria.

A heading such as Testing may stand above either; there the words of the boxes decide. A document whose boxes are all of
this kind is a list of things to do after all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from drumline.core.ids import StepId
from drumline.planfiles.outline import Entry, Outline
from drumline.planfiles.tasklist_names import shorten

MOST_ITEM = 300
"""Letters of a criterion where a person verifies it."""
_NUMBER = re.compile(r"^[\W_]*(?:[0-9]+(?:\.[0-9]+)*[.):]?\s+)?[\W_]*")
_JUDGE = (
    r"(?:[\w&/-]+ ){0,4}?(?:acceptance|success|completion|exit|done|quality|verification|validation) "
    r"(?:criteria|criterion|gates?|metrics)(?: (?:for|of|per) .*)?"
    r"|(?:[\w&/-]+ ){0,4}?definition of done(?: (?:for|of|per) .*)?|dod"
    r"|(?:[\w&/-]+ ){0,4}?(?:verification|validation|testing|test|acceptance|qa|quality|regression|review) checklist"
)
_TRIAL = (
    r"(?:(?:manual|automated|final|unit|integration|e2e|end-to-end|post-\w+) ){0,2}"
    r"(?:testing|tests?|verification|validation|verify|qa|quality assurance)"
    r"(?: (?:strategy|plan|steps|cases|requirements|scenarios|and validation|and verification|& validation))?"
)
_CRITERIA, _MAYBE = (re.compile(words, re.IGNORECASE) for words in (_JUDGE, _TRIAL))
_MAKES = re.compile(
    r"[\W_]*(?:write|add|create|implement|set ?up|build|fix|update|refactor|configure|install|increase|improve|extend"
    r"|cover|mock|port|migrate|introduce|define|document|remove|replace|enable|integrate|develop|design|generate|make"
    r"|expand|rewrite|(?:\w+ )?tests? (?:for|of|in))\b",
    re.IGNORECASE,
)


def find_criteria(outline: Outline) -> dict[int, int]:
    """The boxes that are criteria, by number, with the number of the heading that makes them so."""
    boxes: dict[int, list[int]] = {}
    for number, entry in enumerate(outline.entries):
        if entry.box >= 0 and entry.words:
            boxes.setdefault(entry.heading, []).append(number)
    kinds = [_read_heading(heading.words) for heading in outline.headings]
    found: dict[int, int] = {}
    for heading, numbers in boxes.items():
        judged = next((around for around in outline.around(heading) if kinds[around]), -1)
        if judged >= 0 and (kinds[judged] is _CRITERIA or not _are_made([outline.entries[n] for n in numbers])):
            found |= dict.fromkeys(numbers, judged)
    return found if len(found) < sum(len(numbers) for numbers in boxes.values()) else {}


def assign_criteria(
    criteria: Mapping[int, int], outline: Outline, steps: Sequence[tuple[StepId, Entry]]
) -> dict[StepId, tuple[str, ...]]:
    """What a person verifies, by step: an open criterion belongs to the last step of the section around its heading."""
    last: dict[int, StepId] = {}
    for step, entry in steps:
        last |= dict.fromkeys((*outline.around(entry.heading), -1), step)
    found: dict[StepId, list[str]] = {}
    for number, heading in criteria.items():
        entry = outline.entries[number]
        if entry.parent in criteria or not entry.mark.isspace():
            continue
        around = (*outline.around(outline.headings[heading].parent), -1)
        judged = next((last[each] for each in around if each in last), None)
        if judged is not None:
            found.setdefault(judged, []).append(shorten(entry.words, most=MOST_ITEM))
    return {step: tuple(items) for step, items in found.items()}


def name_criteria(criteria: Iterable[int], outline: Outline) -> dict[str, Entry]:
    """The boxes that are criteria, by what a person reads of them."""
    entries = (outline.entries[number] for number in criteria)
    return {shorten(entry.words, most=MOST_ITEM): entry for entry in entries}


def _read_heading(words: str) -> re.Pattern[str] | None:
    """What a heading says of the boxes below it: that they are criteria, that they may be, or nothing."""
    outer = _NUMBER.sub("", re.sub(r"\([^()]*\)", " ", words))
    inner = re.findall(r"\(([^()]*)\)", words)
    said = [" ".join(part.replace("*", "").split()).strip(" :.–—-✅☑") for part in (outer, *inner)]
    return next((kind for kind in (_CRITERIA, _MAYBE) if any(kind.fullmatch(part) for part in said)), None)


def _are_made(boxes: Sequence[Entry]) -> bool:
    """Whether the boxes name things to make: at least half of them begin so."""
    return 2 * sum(bool(_MAKES.match(box.words)) for box in boxes) >= len(boxes)
