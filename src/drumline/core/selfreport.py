"""An agent's own word against itself: fields of its last message that say that the work is not done.

The rule: fields count and prose does not. A field is a JSON object at the end, a `Status:` or `Validation:` line of its
own report, a `Blockers` section, or a sentinel on a line of its own. Code, quotations and reports about the work of
others are text; a report that stands in a block of code as a whole is none of these. Believing an agent that it failed
costs an attempt; not believing it makes a lie of "done".
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import takewhile

from drumline.core.flow.model import Json
from drumline.core.proselines import COMMENT, FENCE, Line, read_lines, unwrap
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
    **dict.fromkeys(
        ("blocked", "stuck", "rejected", "impossible", "unrecoverable", "conflict", "file conflict"), BLOCKED
    ),
    **dict.fromkeys(("needs context", "needs input", "needs clarification", "needs human"), BLOCKED),
    **dict.fromkeys(("failed", "failure", "fail", "partial", "incomplete", "unsuccessful", "aborted"), FAILED),
    **dict.fromkeys(("partial success", "partially complete", "partially completed", "partially done"), FAILED),
    **dict.fromkeys(("not complete", "not completed", "not done", "not finished", "unfinished"), FAILED),
}
"""What a status says about the work, its words parted by spaces; all others say nothing against it."""
SENTINELS = {
    "STEP_COMPLETE": "",
    "STEP_BLOCKED": BLOCKED,
    "STEP_REJECTED": BLOCKED,
    "STEP_FAILED": FAILED,
    "CODER_COMPLETE": "",
    "CODER_REJECTED": BLOCKED,
    "CODER_FAILED": FAILED,
}
REPORT = "task report"
TITLES = frozenset({REPORT, "downstream context", "blockers", "blocker", "file conflicts", "file conflict"})
"""What is a heading also if it only is a bold line."""
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
        REPORT,
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
    r" {0,3}(?:[-*+]\s+|\|\s*|#{1,6}\s+)?[*_]{0,2}([A-Za-z][A-Za-z ]{2,40}?)[*_]{0,2}\s*[:|][*_]{0,2}(?:\s+(.*))?"
)
_ERRORS = ("error", "errors", "error type", "type")
_GROUPS = {
    **dict.fromkeys(("status", "overall status", "final status"), "status"),
    "result": "result",
    **dict.fromkeys(("validation", "validation result", "validation status"), "validation"),
    **dict.fromkeys(_ERRORS, "errors"),
}
"""The names of fields by what they are about; of each the last one counts."""
_VALUE = compile_late(
    r"[^\w]*([A-Za-z]+(?:[ _-][A-Za-z]+){0,2}?)[*_`\"']*"
    r"(?:\s*(?:$|[.,:;(]|[-–—](?!\w)).*|\s+(?:by|on|to|because|since|until|pending|due|waiting)\b.*)?",
    re.DOTALL,
)
_BLOCKERS = compile_late(
    r"(?:(?:open|remaining|current|known|outstanding|unresolved|active|critical) )?"
    r"(?:blockers?|blocking (?:issues?|questions?)|file conflicts?)"
)
_CONFLICT = compile_late(
    r"\W*file[ _-]conflicts?(?:\W*$|\s*[:,;(–—-]|\s+(?:in|on|with|between|at|for)\b)(?!.*\bresolved\b)", re.IGNORECASE
)
_SENTINEL = compile_late(r"(?:#{1,6}\s+)?\**([A-Z]+_[A-Z]+)\**[.!]?(?:\s*([:–—-])\**\s.*)?")
_BULLET = compile_late(r"^\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:\[ \]\s+)?(?:[*_]*blockers?[*_]*\s*:\s*)?", re.IGNORECASE)
_NONE = compile_late(
    r"[^\w\[~]*(?:(?:(?:there|i|we)\s+(?:is|are|was|were|am|have|had|see|saw|found|met|hit|encountered)|currently)[\s,]+)*"
    r"(?:(?:none|n/?a|nil|nothing|not\s+applicable|no|not\s+blocked|all\s+clear|0)[\s.!)]*$"
    r"|(?:none|n/?a|nothing|nil)\s*(?:[.,;:(–—-]"
    r"|(?:(?:is|was|are|were)\s+)?(?:at|so|for|found|identified|encountered|remain\w*|known|open|left|block\w+)\b)"
    r"|(?:(?:(?:i|we)\s+)?(?:did|do|have)(?:\s+not|n['’]t)\s+(?:encounter\w*|hit|f[io]und|see|have|me+t|face\w*|run\s+into)(?:\s+any)?"
    r"|no|zero|0)\s+"
    r"(?:(?:known|open|remaining|current|outstanding|new|further|other|major|critical|active|significant|unresolved"
    r"|technical|real|actual|immediate)\s+)*"
    r"(?:blockers?|blocking|impediments?|issues|(?:file\s+)?conflicts?)\b"
    r"|(?:all\s+)?(?:blockers?\s+)?(?:(?:are|were|have\s+been)\s+)?resolved\b)",
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
    found = _read_object(message) or _read_words(message)
    bare = "" if found else unwrap(message, REPORT)
    return _read_words(bare) if bare and bare != message else found


def _read_words(message: str) -> Denial | None:
    lines = list(read_lines(message, TITLES))
    return _read_blockers(lines, message) or _read_fields(lines) or _read_sentinels(lines, message)


def _read_object(message: str) -> Denial | None:
    """A JSON object that is the whole message, or its last lines."""
    value = _parse_last(message)
    kind = _weigh_object(value) if value is not None else ""
    if value is None or not kind:
        return None
    said = [value.get(key) for key in ("blocker", "question", "reason", "error", "message", "summary", "evidence")]
    text = "\n".join(dict.fromkeys(part.strip() for part in said if isinstance(part, str) and part.strip()))
    wrong = kind == BLOCKED and str(value.get("class", "")).strip().lower() == PLAN
    return Denial(kind=kind, text=(text or json.dumps(value, ensure_ascii=False))[:MOST_TEXT], wrong=wrong)


def _weigh_object(value: Mapping[str, Json]) -> str:
    """What an object says against the work. A blocker counts beside a status that says nothing against it."""
    if any(_names_conflict(value.get(key)) for key in _ERRORS):
        return BLOCKED
    told = next((value[key] for key in ("status", "result") if isinstance(value.get(key), str)), "")
    status, blocker = STATUSES.get(_read_status(told), ""), value.get("blocker")
    if not status and isinstance(blocker, str) and _block(blocker, ""):
        return BLOCKED
    failed = value.get("testsPassed") is False or STATUSES.get(_read_status(value.get("validation"))) == FAILED
    return status or (FAILED if failed else "")


def _read_status(told: Json) -> str:
    return " ".join(re.split(r"[\s_-]+", told.strip().lower())) if isinstance(told, str) else ""


def _names_conflict(told: Json) -> bool:
    """Whether an error, or one of several, is a conflict of files."""
    if isinstance(told, list):
        return any(_names_conflict(one) for one in told)
    if isinstance(told, dict):
        return _names_conflict(told.get("type"))
    return isinstance(told, str) and _CONFLICT.match(told) is not None


def _parse_last(message: str) -> dict[str, Json] | None:
    text = message.strip()
    if len(text) > LONGEST_OBJECT:
        text = text[-LONGEST_OBJECT:]
    lines = text.split("\n")
    fence = _find_fence(lines)
    lines = lines if fence is None else textwrap.dedent("\n".join(lines[fence + 1 : -1])).split("\n")
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
        if line.paragraph < 0 and _BLOCKERS.fullmatch(line.path[-1]) and not _speaks_of_others(line.path):
            later = (
                one.number for one in lines if one.number > line.number and one.path[: len(line.path)] != line.path
            )
            section = message.split("\n")[line.number + 1 : next(later, None)]
            return _block("\n".join(one for one in section if not FENCE.match(one)).strip(), line.text)
    for line in lines:
        field = find_field(line)
        if field and _BLOCKERS.fullmatch(field[0]) and _is_report(line, lines):
            return _block(field[1] or _read_below(line, lines), "")
    return None


def _read_below(line: Line, lines: Sequence[Line]) -> str:
    """The lines that stand below a field and further to the right."""
    below = [one.text for one in lines if one.number > line.number and one.paragraph == line.paragraph]
    return "\n".join(takewhile(lambda text: _indent(text) > _indent(line.text), below))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _block(text: str, heading: str) -> Denial | None:
    items = [_BULLET.sub("", line).strip("*_`# ") for line in COMMENT.sub("", text).split("\n")]
    said = [item for item in items if item and not re.match(r"\[[xX]\]|~~", item) and re.search(r"\w", item)]
    if not said or _NONE.match(said[0]) or re.search(r"\((?:none|n/?a|0)\)", heading, re.IGNORECASE):
        return None
    return Denial(kind=BLOCKED, text=text[:MOST_TEXT])


def _read_fields(lines: Sequence[Line]) -> Denial | None:
    """The last status of the report, and the last verdict on its validation: fields, or headings with a word below."""
    last: dict[str, tuple[Line, str]] = {}
    for number, line in enumerate(lines):
        name, value = find_field(line) or _find_below(line, lines[max(number - 1, 0) : number]) or ("", "")
        if name in _GROUPS and _is_report(line, lines):
            last[_GROUPS[name]] = line, value
    for group, (line, value) in last.items():
        if kind := _weigh_field(group, value):
            return Denial(kind=kind, text=_quote(line, lines))
    return None


def _find_below(line: Line, above: Sequence[Line]) -> tuple[str, str] | None:
    """The field that a heading names, with the line right below as its value, if that is a status and nothing else."""
    if line.paragraph < 0 or not above or above[0].paragraph >= 0:
        return None
    value = " ".join(re.findall(r"[a-z]+", line.text.lower()))
    return (line.path[-1], value) if value in STATUSES else None


def _weigh_field(group: str, value: str) -> str:
    """What a field says against the work: a validation only that it failed, errors only that files are in conflict."""
    if group == "errors":
        return BLOCKED if _CONFLICT.match(value) else ""
    kind = STATUSES.get(_read_word(value), "")
    return "" if group == "validation" and kind == BLOCKED else kind


def find_field(line: Line) -> tuple[str, str] | None:
    """The name of the field that a line is, in small letters, and its value; None if it is none."""
    found = _FIELD.fullmatch(line.text)
    return (" ".join(found[1].lower().split()), (found[2] or "").strip()) if found else None


def _read_word(value: str) -> str:
    """The words that a value consists of; what follows after a dash, a bracket, a full stop or "by" is a remark."""
    found = _VALUE.fullmatch(value.strip().rstrip("|").strip())
    return " ".join(re.split(r"[ _-]", found[1].lower())) if found else ""


def _is_report(line: Line, lines: Sequence[Line]) -> bool:
    """Whether a line stands in a report of the agent about its own work."""
    if line.path:
        below = REPORT in line.path[:-1] and line.path[-1] in _GROUPS
        return (below or line.path[-1] in OWN_HEADINGS) and not _speaks_of_others(line.path)
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
    """The last sentinel that has a line to itself, or begins the first or the last paragraph with its reason."""
    own = [line for line in lines if not _speaks_of_others(line.path)]
    found = [(line, word) for line in own if (word := _find_sentinel(line, lines[-1].paragraph))]
    if not found or not SENTINELS[found[-1][1]]:
        return None
    line, word = found[-1]
    rest = "\n".join(message.split("\n")[line.number :]).strip()
    return Denial(kind=SENTINELS[word], text=rest[:MOST_TEXT])


def _find_sentinel(line: Line, last: int) -> str:
    found = _SENTINEL.fullmatch(line.text.strip())
    if found is None or found[1] not in SENTINELS:
        return ""
    return found[1] if not found[2] or (line.first and line.paragraph in (1, last)) else ""
