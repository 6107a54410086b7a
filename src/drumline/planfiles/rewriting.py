"""What the engine adds to, or replaces in, what a step says: one line about edge cases, or a change that a person saw.

The rule: every other byte stays, a line is added once, and what is replaced has to be there exactly once. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drumline.core.ids import StepId
from drumline.errors import InvalidInput
from drumline.late import import_late
from drumline.planfiles.markdown import heading_words, parse_blocks
from drumline.planfiles.source import NEWLINE, line_starts

if TYPE_CHECKING:
    import difflib
else:
    difflib = import_late("difflib")

HEADING = "edge cases"
FIELD = "**Edge cases:**"


def add_case(text: str, said: str, *, by: StepId, body: int = 0) -> str:
    """The text with one more line under `## Edge cases`; as it is if `by` has a line there already."""
    newline = _newline(text)
    starts = [*line_starts(text, body), len(text)]
    section = _find_section(text[body:], starts)
    if section is None:
        lead = "" if text.endswith(newline * 2) else newline if text.endswith(newline) else newline * 2
        return f"{text}{lead}## Edge cases{newline}{newline}{_item(said, by)}{newline}"
    start, end = section
    inside = text[start:end]
    if any(line.strip().startswith(_item("", by).rstrip()) for line in inside.splitlines()):
        return text
    kept = inside.rstrip()
    last = kept.splitlines()[-1].strip() if kept else "-"
    lead = newline if last.startswith(("-", "*", "+")) else newline * 2
    tail = inside[len(kept) :] or newline
    return f"{text[:start]}{kept}{lead}{_item(said, by)}{tail}{text[end:]}"


def add_field(text: str, start: int, end: int, said: str, *, by: StepId, field: tuple[int, int] | None) -> str:
    """The text with the line `**Edge cases:**` in a section, or more on that line; `field` is where it lies."""
    newline = _newline(text)
    told = f"From {by}: {said}"
    if field is not None:
        line = text[field[0] : field[1]]
        if f"From {by}: " in line:
            return text
        kept = line.rstrip()
        return f"{text[: field[0]]}{kept} {told}{line[len(kept) :]}{text[field[1] :]}"
    kept = text[start:end].rstrip()
    return f"{text[:start]}{kept}{newline}{FIELD} {told}{text[start + len(kept) :] or newline}"


def add_note(notes: str, step: StepId, said: str, *, by: StepId) -> str:
    """The notes with one more line for a step; as they are if `by` has one for it."""
    lead = f"- For {step}, from {by}: "
    if any(line.startswith(lead) for line in notes.splitlines()):
        return notes
    newline = _newline(notes)
    gap = "" if not notes or notes.endswith(newline) else newline
    return f"{notes}{gap}{lead}{said}{newline}"


def substitute(text: str, old: str, new: str, *, where: str) -> str:
    """The text with `new` in place of `old`, which has to stand there exactly once."""
    newline = _newline(text)
    old, new = (NEWLINE.sub("\n", one).replace("\n", newline) for one in (old, new))
    if (found := text.count(old)) != 1:
        raise InvalidInput(
            f"the text to replace stands {found} times in {where}, and it has to stand there once",
            hint="drumline validate PATH/TO/PLAN",
        )
    return text.replace(old, new)


def show_diff(before: str, after: str, path: str) -> str:
    """What a change does to a file."""
    old, new = (NEWLINE.sub("\n", one).splitlines() for one in (before, after))
    return "\n".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))


def _find_section(body: str, starts: list[int]) -> tuple[int, int] | None:
    """Where what stands under the heading begins, and where the next heading does."""
    tokens = parse_blocks(body)
    lines = [
        (token.map[0], token.map[1], heading_words(tokens[number + 1].content))
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.map and token.level == 0
    ]
    for place, (_, below, words) in enumerate(lines):
        if words == HEADING:
            return starts[below], starts[lines[place + 1][0]] if place + 1 < len(lines) else starts[-1]
    return None


def _item(said: str, by: StepId) -> str:
    return f"- From {by}: {said}"


def _newline(text: str) -> str:
    found = NEWLINE.search(text)
    return found[0] if found else "\n"
