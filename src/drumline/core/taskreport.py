"""The report that an agent ends its work with, read into fields: `Task Report`, and `Downstream Context` for others.

The rule: headings of any level count, also inside of a block of code that the whole report stands in. What a report
claims is not proved by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from drumline.core.plaintext import strip_controls, strip_marks
from drumline.core.proselines import Line, read_lines, unwrap
from drumline.core.selfreport import REPORT, TITLES, find_field

DOWNSTREAM, FACTS, OBJECTIVE = "downstream context", "durable facts", "objective achieved"
MOST_TEXT = 2_000
"""Characters of one field that are kept."""
MOST_FIELDS = 20
MOST_FACT = 300
"""Characters of a durable fact."""
MOST_FACTS = 10
_ITEM = re.compile(r"^(?:[-*+]|[0-9]{1,3}[.)])(?:\s+|$)")
_NOTHING = frozenset({"", "none", "n/a", "not applicable", "nothing", "…"})
ASK = (
    "End your last message with a report in this form, whatever else you say:\n\n"
    "# Task Report\n\n- Status: success, partial or failure\n- Objective Achieved: …\n- Files Created: …\n"
    "- Files Modified: …\n- Files Deleted: …\n- Decisions Made: …\n- Validation: pass, fail or skipped\n- Errors: …\n"
    "- Scope Deviations: …\n- Durable Facts: what every later step of the plan should know, one per line, or none\n\n"
    "# Downstream Context\n\nWhat the steps behind this one have to know:\n\n- Key Interfaces Introduced: …\n"
    "- Patterns Established: …\n- Integration Points: …\n- Assumptions: …\n- Warnings: …"
)
"""What an agent is told whose report is wanted."""
MISSING = (
    "Your last message has no report. The work stays as it is: change nothing more, and answer with the report alone."
)


def read_report(message: str) -> Mapping[str, str]:
    """The fields of the report by their names in small letters; empty if there is none, or one without a status."""
    found = _read(list(read_lines(message, TITLES)))
    return found or _read(list(read_lines(unwrap(message, REPORT), TITLES)))


def _read(lines: Sequence[Line]) -> dict[str, str]:
    fields: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if REPORT in line.path:
            name = _name_field(line, fields, name)
        elif DOWNSTREAM in line.path:
            said = line.text.strip() if line.path[-1] != DOWNSTREAM or line.paragraph >= 0 else ""
            fields.setdefault(DOWNSTREAM, []).append(said)
    told = {key: "\n".join(part for part in parts if part)[:MOST_TEXT] for key, parts in fields.items()}
    return dict([*told.items()][:MOST_FIELDS]) if "status" in told else {}


def _name_field(line: Line, fields: dict[str, list[str]], name: str) -> str:
    """Take a line into the field that it begins, or that it continues with; returns the name of that field."""
    if line.paragraph < 0:
        return line.path[-1] if line.path[-1] != REPORT else ""
    field = find_field(line)
    if field is not None and line.path[-1] == REPORT:
        fields.setdefault(field[0], []).append(strip_marks(field[1]))
        return field[0]
    if name:
        fields.setdefault(name, []).append(line.text.strip())
    return name


def read_words(message: str, report: Mapping[str, str]) -> str:
    """What an agent says of its work: what its report calls achieved, else its message without the report's form."""
    achieved = report.get(OBJECTIVE, "")
    if not says_nothing(achieved):
        return achieved
    return read_prose(message) if report else message


def read_prose(message: str) -> str:
    """What a message says beside its report."""
    own = (line for line in read_lines(message, TITLES) if line.paragraph >= 0 and not TITLES & {*line.path})
    return "\n".join(line.text for line in own)


def list_facts(report: Mapping[str, str]) -> tuple[str, ...]:
    """What the report calls a durable fact, each on one line; words for nothing are none."""
    told = (" ".join(item.split())[:MOST_FACT].rstrip() for item in _list_items(report.get(FACTS, "")))
    return tuple(dict.fromkeys(fact for fact in told if not says_nothing(fact)))[:MOST_FACTS]


def _list_items(text: str) -> list[str]:
    """The items of a list, each with the lines that it goes on with; without marks of items every line is one."""
    lines = [line.strip() for line in strip_controls(text).split("\n")]
    marked = any(_ITEM.match(line) for line in lines)
    items: list[str] = []
    for number, line in enumerate(lines):
        if not marked or not number or not items or _ITEM.match(line):
            items.append(_ITEM.sub("", line))
        else:
            items[-1] += f" {line}"
    return items


def says_nothing(text: str) -> bool:
    """Whether a text is one of the words for nothing."""
    return text.strip().lstrip("-*+ ").rstrip(". ").casefold() in _NOTHING
