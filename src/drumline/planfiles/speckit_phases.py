"""The phases of a Spec Kit tasks.md: which tasks stand below which heading, and which of them are stories."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drumline.planfiles.outline import Outline
from drumline.planfiles.tasklist import Task
from drumline.record import Record, field

PHASE = re.compile(r"phase\s+(?P<number>[A-Za-z]?[0-9]+(?:\.[0-9]+)*|[A-Z])\b", re.IGNORECASE)
_STORY = re.compile(r"(?:user\s+)?stor(?:y|ies)\s*#?([0-9]+)|\bUS\s?-?([0-9]+)\b", re.IGNORECASE)


class Phase(Record):
    """The tasks below one heading; `number` is what a phase is called in prose, `story` that of a story."""

    number: str = ""
    story: str = ""
    tasks: list[Task] = field(default_factory=list)


def find_phases(tasks: Sequence[Task], outline: Outline) -> list[Phase]:
    """The phases from top to bottom: below a heading that says Phase, else below one of the second level."""
    found: dict[int, Phase] = {}
    for task in tasks:
        chain = list(outline.above(task.entry))
        named = next((one for one in chain if PHASE.search(one.words)), None)
        heading = named or next((one for one in reversed(chain) if one.level > 1), None)
        words = heading.words if heading else ""
        number = PHASE.search(words)
        story = _STORY.search(words)
        phase = Phase(number=number["number"] if number else "", story=(story[1] or story[2]) if story else "")
        found.setdefault(heading.start if heading else -1, phase).tasks.append(task)
    return list(found.values())
