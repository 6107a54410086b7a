"""The words of implement.md: step headings with their tags, statuses and field lines. Each knows where it stands.

Only text that a markdown parser found to be a heading or a paragraph comes here; code blocks never do.
"""

from __future__ import annotations

import re

from drumline.core.plan import Status
from drumline.record import Record

WRITES = {
    Status.READY: "pending",
    Status.CLAIMED: "in-progress",
    Status.DONE: "done",
    Status.BLOCKED: "blocked",
    Status.FAILED: "blocked",
    Status.SKIPPED: "skipped",
}
"""What is written. Other tools never start a `skipped` step; `blocked` ones they take for broken and try to repair."""

MAX_TAGS = 4
"""More brackets than a status and a repository could need are a title's, and a heading full of them stays cheap."""

_CANONICAL = {word: status for status, word in WRITES.items() if status is not Status.FAILED}
_DRIFTED = {
    "in progress": Status.CLAIMED,
    "in_progress": Status.CLAIMED,
    "inprogress": Status.CLAIMED,
    "started": Status.CLAIMED,
    "complete": Status.DONE,
    "completed": Status.DONE,
    "finished": Status.DONE,
    "not started": Status.READY,
    "todo": Status.READY,
    "ready": Status.READY,
    "failed": Status.BLOCKED,
    "skip": Status.SKIPPED,
}
_READS = {**_CANONICAL, **_DRIFTED}
_ALIAS = re.compile("|".join(re.escape(word) for word in sorted(_READS, key=len, reverse=True)))
_BEFORE_WORD = re.compile(r"[^A-Za-z0-9]*")

_FIELD = re.compile(r"\*\*([A-Za-z][A-Za-z ]{0,30}?)[ \t]*(?::\*\*|\*\*[ \t]*:)[ \t]*(.*)")
_STRICT = re.compile(r"(Step)[ \t]+([A-Za-z0-9][A-Za-z0-9._-]*)(:)[ \t]*(.*)")
_LOOSE = re.compile(
    r"[*_]*(step)[ \t]+(R?[0-9]+[A-Za-z0-9]*(?:\.[0-9]+)*)[*_]*(?:[ \t]*[:.)–—-]+[*_]*[ \t]*|[ \t]+|$)(.*)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"[*_]*(step)[ \t]+([A-Za-z][A-Za-z0-9._-]*)[*_]*[ \t]*:[*_]*[ \t]*(.*)", re.IGNORECASE)
_ALMOST = re.compile(r"[*_]*step[ \t]+[^:]*:", re.IGNORECASE)


class StatusWord(Record):
    """A status as it was written. `end` is where the word ends in its text; `drift` says how it strays, if it does."""

    status: Status
    end: int
    drift: str = ""


class Tag(Record):
    """A bracketed word at the end of a heading. Offsets count in the heading; `start` has the blanks before it."""

    text: str
    written: str
    start: int
    inner: int
    end: int


class StepHeading(Record):
    """A heading that opens a step; `tags` stand behind the title, first to last. Its words end at `end`."""

    id: str
    title: str
    end: int
    tags: tuple[Tag, ...] = ()
    drifted: bool = False


def read_status(value: str) -> StatusWord | None:
    """The status that the text begins with, or None if it begins with no known word."""
    skipped = _BEFORE_WORD.match(value)
    begin = skipped.end() if skipped else 0
    lowered = value.lower() if len(value.lower()) == len(value) else value
    found = _ALIAS.match(lowered, begin)
    if found is None or lowered[found.end() : found.end() + 1].isalnum():
        return None
    exact = value.rstrip() == found[0] and found[0] in _CANONICAL
    status = _READS[found[0]]
    drift = "" if exact else f"{value.strip()[:60]!r} is read as {WRITES[status]!r}"
    return StatusWord(status=status, end=found.end(), drift=drift)


def read_field(line: str) -> tuple[str, str] | None:
    """The name (small letters) and value of a line `**Name:** value`."""
    found = _FIELD.fullmatch(line)
    return (" ".join(found[1].lower().split()), found[2]) if found else None


def read_heading(content: str) -> StepHeading | None:
    """The step that a heading opens, or None."""
    if "\n" in content:
        return None
    strict = _STRICT.fullmatch(content)
    if strict:
        return _with_tags(content, strict[2], strict.start(4), drifted=False)
    loose = _LOOSE.fullmatch(content) or _NAMED.fullmatch(content)
    return _with_tags(content, loose[2], loose.start(3), drifted=True) if loose else None


def almost_heading(content: str) -> bool:
    """Whether the heading looks like a step's, though nothing in it can be an id."""
    return bool(_ALMOST.match(content))


def _with_tags(content: str, step_id: str, title_start: int, *, drifted: bool) -> StepHeading:
    tags: list[Tag] = []
    end = len(content)
    while len(tags) < MAX_TAGS and (tag := _last_tag(content, title_start, end)) is not None:
        tags.insert(0, tag)
        end = tag.start
    title = " ".join(content[title_start:end].strip("*_ \t").split())
    return StepHeading(id=step_id, title=title, end=len(content), tags=tuple(tags), drifted=drifted)


def _last_tag(content: str, begin: int, end: int) -> Tag | None:
    """The bracketed word that ends this part of the heading, taken from behind so that length costs nothing."""
    head = content[begin:end].rstrip("*_ \t")
    opening = head.rfind("[")
    if not head.endswith("]") or opening < 0 or "]" in head[opening:-1]:
        return None
    # Without a title, the blanks before the tag are those behind the id.
    start = len(content[: begin + opening].rstrip(" \t"))
    return Tag(
        text=head[opening + 1 : -1].strip(),
        written=content[start : begin + len(head)],
        start=start,
        inner=begin + opening + 1,
        end=begin + len(head),
    )
