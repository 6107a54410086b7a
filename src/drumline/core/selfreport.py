"""An agent's own word against itself: fields of its last message that say that the work is not done.

The rule: fields count and prose does not. A field is a JSON object at the end, a `Status:` or `Validation:` line of its
own report, a `Blockers` section, or a sentinel on a line of its own. Code, quotations and reports about the work of
others are text. Believing an agent that it failed costs an attempt; not believing it makes a lie of "done".
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from drumline.core.flow.model import Json
from drumline.core.proselines import COMMENT, FENCE, Line, read_lines
from drumline.patterns import compile_late
from drumline.record import Record

BLOCKED = "blocked"
FAILED = "failed"
PLAN = "plan"
MOST_TEXT = 2_000
LONGEST_OBJECT = 64_000
MOST_OBJECTS = 50
"""Lines that begin with `{` and are tried as the beginning of the last object."""

STATUSES = {
    **dict.fromkeys(("blocked", "stuck", "rejected", "impossible", "unrecoverable", "conflict"), BLOCKED),
    **dict.fromkeys(("failed", "failure", "fail", "partial", "incomplete", "unsuccessful", "aborted"), FAILED),
}
"""What a status says about the work; all other words say nothing against it."""
SENTINELS = {
    "STEP_COMPLETE": "",
    "STEP_BLOCKED": BLOCKED,
    "STEP_REJECTED": BLOCKED,
    "STEP_FAILED": FAILED,
    "CODER_COMPLETE": "",
    "CODER_REJECTED": BLOCKED,
    "CODER_FAILED": FAILED,
}
OWN_HEADINGS = frozenset(
    {
        "completion report",
        "execution report",
        "final report",
        "final status",
        "final summary",
        "implementation report",
        "outcome",
        "phase report",
        "report",
        "result",
        "status",
        "status report",
        "step report",
        "summary",
        "task report",
    }
)
"""Headings under which an agent speaks of its own work."""
REPORT_FIELDS = frozenset(
    {
        "automated verification",
        "error",
        "errors",
        "files changed",
        "files created",
        "files modified",
        "final frontmatter status",
        "next",
        "objective achieved",
        "phase",
        "reason",
        "scope deviations",
        "step",
        "summary",
        "validation",
    }
)
"""Fields that make a paragraph with a status a report."""

OBJECT_FIELDS = frozenset({"blocker", "question", "summary", "filesChanged", "testsPassed"})
"""Keys that make an object in a block of code, after other words, a report: without one it may be an example."""

_FIELD = compile_late(
    r" {0,3}(?:[-*+]\s+|\|\s*)?[*_]{0,2}([A-Za-z][A-Za-z ]{2,40}?)[*_]{0,2}\s*[:|][*_]{0,2}(?:\s+(.*))?"
)
_VALUE = compile_late(r"[^\w]*([A-Za-z]+)[*_`]*(?:\s*(?:$|[.,:;(]|[-–—](?!\w)).*)?", re.DOTALL)
_BLOCKERS = ("blocker", "blockers", "file conflict", "file conflicts")
_BULLET = compile_late(r"^\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:[*_]*blockers?[*_]*\s*:\s*)?", re.IGNORECASE)
_NONE = compile_late(
    r"(?:none|n/?a|nil|nothing|not applicable|no)[\s.!]*$"
    r"|(?:none|n/?a|nothing|nil)\s*(?:[.,;:(–—-]|(?:at|so|for|found|identified|encountered|remain\w*|known|open)\b)"
    r"|(?:no|zero|0)\s+(?:(?:known|open|remaining|current|outstanding|new|further|other|major|critical|active)\s+)*"
    r"(?:blockers?|blocking|impediments?|issues)\b"
    r"|(?:all\s+)?(?:blockers?\s+)?(?:(?:are|were|have\s+been)\s+)?resolved\b",
    re.IGNORECASE,
)
_OTHERS = compile_late(r"\b(?:previous|prior|earlier|upstream|quoted|example|template|review of|handoff (?:of|from))\b")


class Denial(Record):
    """What an agent says against its own work: that it is blocked or has failed, and its words about it.

    With `wrong` it is blocked because the plan is wrong: only an object says that, by its `class`.
    """

    kind: str
    text: str
    wrong: bool = False


def find_denial(message: str) -> Denial | None:
    """What the message says against the work of its author; None if nothing."""
    found = _read_object(message)
    if found is not None:
        return found
    lines = list(read_lines(message))
    return _read_blockers(lines, message) or _read_fields(lines) or _read_sentinels(lines, message)


def _read_object(message: str) -> Denial | None:
    """A JSON object that is the whole message, or its last lines."""
    value = _parse_last(message)
    if value is None:
        return None
    status = next((value[key] for key in ("status", "result") if isinstance(value.get(key), str)), "")
    kind = STATUSES.get(str(status).strip().lower(), "")
    judged = STATUSES.get(str(value.get("validation", "")).strip().lower(), "")
    kind = kind or (FAILED if value.get("testsPassed") is False or judged == FAILED else "")
    if not kind:
        return None
    said = [value.get(key) for key in ("blocker", "question", "reason", "error", "message", "summary", "evidence")]
    text = "\n".join(dict.fromkeys(part.strip() for part in said if isinstance(part, str) and part.strip()))
    wrong = kind == BLOCKED and str(value.get("class", "")).strip().lower() == PLAN
    return Denial(kind=kind, text=(text or json.dumps(value, ensure_ascii=False))[:MOST_TEXT], wrong=wrong)


def _parse_last(message: str) -> dict[str, Json] | None:
    text = message.strip()
    if len(text) > LONGEST_OBJECT:
        text = text[-LONGEST_OBJECT:]
    lines = text.split("\n")
    fence = _find_fence(lines)
    lines = lines if fence is None else lines[fence + 1 : -1]
    if not lines[-1].rstrip().endswith("}"):
        return None
    starts = [number for number, line in enumerate(lines) if line.startswith("{")]
    for start in reversed(starts[-MOST_OBJECTS:]):
        try:
            value: Json = json.loads("\n".join(lines[start:]))
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict) or (fence and not OBJECT_FIELDS & value.keys()):
            return None
        return dict(value)
    return None


def _find_fence(lines: Sequence[str]) -> int | None:
    """The line at which the block of code begins that the lines end with; None if they end with something else."""
    if len(lines) < 3 or not FENCE.fullmatch(lines[-1].rstrip()):
        return None
    return next((number for number in range(len(lines) - 2, -1, -1) if FENCE.match(lines[number])), None)


def _read_blockers(lines: Sequence[Line], message: str) -> Denial | None:
    """A section `Blockers`, or such a field of the report, that names one."""
    for line in lines:
        if line.paragraph < 0 and line.path[-1] in _BLOCKERS and not _speaks_of_others(line.path):
            later = (
                one.number for one in lines if one.number > line.number and one.path[: len(line.path)] != line.path
            )
            section = message.split("\n")[line.number + 1 : next(later, None)]
            return _block("\n".join(one for one in section if not FENCE.match(one)).strip(), line.text)
    for line in lines:
        field = find_field(line)
        if field and field[0] in _BLOCKERS and field[1] and _is_report(line, lines):
            return _block(field[1], "")
    return None


def _block(text: str, heading: str) -> Denial | None:
    items = [_BULLET.sub("", line).strip("*_`# ") for line in COMMENT.sub("", text).split("\n")]
    said = [item for item in items if item and not re.match(r"\[[xX]\]|~~", item) and re.search(r"\w", item)]
    if not said or _NONE.match(said[0]) or re.search(r"\((?:none|n/?a|0)\)", heading, re.IGNORECASE):
        return None
    return Denial(kind=BLOCKED, text=text[:MOST_TEXT])


def _read_fields(lines: Sequence[Line]) -> Denial | None:
    """The last status of the report, and the last verdict on its validation."""
    last: dict[str, Line] = {}
    for line in lines:
        field = find_field(line)
        if field and field[0] in ("status", "result", "validation") and _is_report(line, lines):
            last[field[0]] = line
    for line in last.values():
        name, value = find_field(line) or ("", "")
        kind = STATUSES.get(_read_word(value), "")
        if kind and (name != "validation" or kind == FAILED):
            return Denial(kind=kind, text=_quote(line, lines))
    return None


def find_field(line: Line) -> tuple[str, str] | None:
    """The name of the field that a line is, in small letters, and its value; None if it is none."""
    found = _FIELD.fullmatch(line.text)
    return (" ".join(found[1].lower().split()), (found[2] or "").strip()) if found else None


def _read_word(value: str) -> str:
    """The word that a value consists of; what follows it after a dash, a bracket or a full stop is a remark."""
    found = _VALUE.fullmatch(value.strip().rstrip("|").strip())
    return found[1].lower() if found else ""


def _is_report(line: Line, lines: Sequence[Line]) -> bool:
    """Whether a line stands in a report of the agent about its own work."""
    if line.path:
        return line.path[-1] in OWN_HEADINGS and not _speaks_of_others(line.path)
    beside = [one for one in lines if one.paragraph == line.paragraph]
    if find_field(beside[0]) is None and beside[0].text.strip() != "---":
        return False
    names = {field[0] for one in beside if one is not line and (field := find_field(one))}
    last = lines[-1].paragraph
    return line.paragraph in (1, last) or bool(names & REPORT_FIELDS)


def _speaks_of_others(path: Sequence[str]) -> bool:
    return any(_OTHERS.search(name) for name in path)


def _quote(line: Line, lines: Sequence[Line]) -> str:
    """The part of the report from the field on."""
    rest = [one.text for one in lines if one.number >= line.number and one.path == line.path]
    return "\n".join(rest).strip()[:MOST_TEXT]


def _read_sentinels(lines: Sequence[Line], message: str) -> Denial | None:
    """The last sentinel that has a line to itself."""
    found = [line for line in lines if line.text.strip().strip("*") in SENTINELS and not _speaks_of_others(line.path)]
    if not found:
        return None
    kind = SENTINELS[found[-1].text.strip().strip("*")]
    rest = "\n".join(message.split("\n")[found[-1].number :]).strip()
    return Denial(kind=kind, text=rest[:MOST_TEXT]) if kind else None
