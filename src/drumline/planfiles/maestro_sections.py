"""Writing into a Maestro plan in markdown: ticked boxes and a section for a corrective phase. Nothing else changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from drumline.core.plan import Check, Step
from drumline.planfiles.correction import code_span, escape_heading, inherited, list_single, newline_of, quote
from drumline.planfiles.dataedit import Span
from drumline.planfiles.maestro_markdown import Part, Section, blocked_by
from drumline.planfiles.maestro_vocabulary import Topic, is_nothing, rename_heading, split_label
from drumline.planfiles.source import NEWLINE, line_at, line_starts
from drumline.ports.planfiles import Correction
from drumline.record import replace


def tick_boxes(text: str, section: Section, step: Step, *, now: Sequence[Check], ticked: Sequence[int]) -> list[Span]:
    """The replacements that tick the boxes of checks that `step` had at these lines, wherever they stand now."""
    starts = line_starts(text)
    boxes = {line_at(starts, box): box for box in section.boxes}
    here = dict(_numbered(now))
    lines = {line: here.get(name, 0) for name, line in _numbered(step.checks)}
    found = [boxes.get(lines.get(line, 0)) for line in dict.fromkeys(ticked)]
    return [(box, box + 1, "x") for box in found if box is not None and text[box] == " "]


def insert_section(text: str, body: int, section: Section, correction: Correction, *, helps: Step) -> list[Span]:
    """The replacements that add a section after the phase it helps, which then waits for it."""
    newline = newline_of(text)
    added = _section_text(text, section, correction, helps).replace("\n", newline)
    if text[: section.end].rstrip(" \t")[-1:] not in ("\r", "\n"):
        added = newline + newline + added.rstrip() + newline
    part = section.part(Topic.NEEDS)
    row = blocked_by(part) if part is not None else None
    if part is not None and row is not None:
        wait = _need_span(text, line_starts(text, body)[row.line], part, correction)
        return [wait, (section.end, section.end, added)]
    named = ", ".join(f"Phase {need}" for need in (*helps.needs, correction.id))
    listed = f"{'#' * (section.level + 1)} Dependencies\n- Blocked by: {named}\n\n".replace("\n", newline)
    end = section.start + len(text[section.start : section.end].rstrip())
    return [(end, end, newline + newline + listed.rstrip()), (section.end, section.end, added)]


def _numbered(checks: Sequence[Check]) -> Iterator[tuple[tuple[str, int], int]]:
    seen: Counter[str] = Counter()
    for check in checks:
        yield (check.command, seen[check.command]), check.line
        seen[check.command] += 1


def _section_text(text: str, section: Section, correction: Correction, helps: Step) -> str:
    sub = "#" * (section.level + 1)
    first = NEWLINE.split(text[section.start : section.end], maxsplit=1)[0].lstrip(" #").rstrip(" #")
    heading = rename_heading(first, correction.id, escape_heading(correction.title))
    carried = list_single(replace(correction, test=""))
    commands = [text for text in (" ".join(correction.test.split()), *carried) if text]
    files = [f"- {code_span(' '.join(file.split()))}" for file in correction.files]
    needs = ", ".join(f"Phase {need}" for need in inherited(helps)) or "None"
    lines = [
        f"{'#' * section.level} {heading}",
        "",
        f"{sub} Objective",
        quote(correction.what),
        "",
        quote(correction.why),
        "",
        f"{sub} Agent: {helps.role or 'coder'}",
        f"{sub} Parallel: No",
        "",
        *([f"{sub} Files to Modify", *files, ""] if files else []),
        *([f"{sub} Validation", *(f"- {code_span(text)}" for text in dict.fromkeys(commands)), ""] if commands else []),
        f"{sub} Dependencies",
        f"- Blocked by: {needs}",
        "",
        "",
    ]
    return "\n".join(lines)


def _need_span(text: str, start: int, part: Part, correction: Correction) -> Span:
    """Add the phase to the line that says what blocks another."""
    ending = NEWLINE.search(text, start)
    line = text[start : ending.start() if ending else len(text)].rstrip()
    row = blocked_by(part)
    said = part.value or (split_label(row.text)[1] if row is not None else "")
    named = f"Phase {correction.id}"
    if is_nothing(said):
        at = start + (line.rfind(said) if said else len(line))
        return at, start + len(line), named if said else f" {named}"
    end = start + len(line.rstrip("].` "))
    return end, end, f", {named}"
