"""What an agent did, as a person reads it: what it said, each use of a tool with its result, and what it edited.

The rule: a use of a tool is one line; what came back is shown only where it failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from drumline.core.plaintext import strip_controls
from drumline.record import Record
from drumline.views.cells import flatten
from drumline.views.duration import duration

CALLS = ("tool", "command")
SPOKEN = ("text", "edit", *CALLS)
"""What makes a transcript: one who does none of it is shown by its log."""
MOST_CALL = 160
MOST_DIFFERENCE = 40
"""Lines of an edit that are shown."""
MOST_OUTPUT = 8
"""Lines of what a failing tool printed that are shown."""
MARGIN = " " * 10
_SIGNS = {"command": "$ ", "tool": "", "edit": "edits "}

Clock = Callable[[float], str]


class Happened(Record):
    """One line of the file of happenings."""

    at: float
    kind: str
    text: str = ""
    call: str = ""
    failed: bool = False
    detail: str = ""


class Shown(Record):
    """A line for people, and the word for its style."""

    text: str
    style: str = ""


def read_happened(lines: Iterable[str]) -> list[Happened]:
    """What the lines of a file of happenings say; one that was cut off, or is damaged, says nothing."""
    return [found for line in lines if (found := _read_line(line)) is not None]


def is_transcript(told: Iterable[Happened]) -> bool:
    """Whether the agent told what it does, so that its log need not be shown."""
    return any(one.kind in SPOKEN for one in told)


def transcript_lines(told: Sequence[Happened], clock: Clock) -> list[Shown]:
    """All that happened, each use of a tool with what came of it."""
    results = {one.call: one for one in told if one.kind == "result" and one.call}
    edited = {one.call for one in told if one.kind == "edit" and one.call}
    shown = [one for one in told if one.kind != "result" and not (one.kind == "tool" and one.call in edited)]
    return [line for one in shown for line in _show(one, results.get(one.call) if one.kind in CALLS else None, clock)]


def live_lines(told: Sequence[Happened], calls: dict[str, Happened], clock: Clock) -> list[Shown]:
    """What has happened since the last look; a result has a line of its own. `calls` remembers what is under way."""
    found: list[Shown] = []
    for one in told:
        if one.kind != "result":
            calls.update({one.call: one} if one.call else {})
            found += _show(one, None, clock)
        elif (call := calls.pop(one.call, None)) is not None and call.kind != "edit":
            found += _show(call, one, clock, at=one.at)
    return found


def happened_json(one: Happened) -> dict[str, object]:
    """What happened, for programs."""
    return {
        "at": one.at,
        "kind": one.kind,
        "text": one.text,
        "call": one.call or None,
        "failed": one.failed if one.kind == "result" else None,
        "detail": one.detail,
    }


def _read_line(line: str) -> Happened | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping) or not isinstance(at := value.get("at"), int | float):
        return None
    words = {name: value[name] for name in ("kind", "text", "call", "detail") if isinstance(value.get(name), str)}
    return Happened(at=float(at), failed=value.get("failed") is True, **{"kind": "", **words})


def _show(one: Happened, result: Happened | None, clock: Clock, *, at: float | None = None) -> Iterator[Shown]:
    time = f"{clock(one.at if at is None else at):<8}  "
    if one.kind == "text":
        first, *more = _split(one.text) or [""]
        yield Shown(text=f"{time}{first}")
        yield from (Shown(text=f"{MARGIN}{line}") for line in more)
    elif one.kind == "notice":
        yield Shown(text=f"{time}note: {flatten(one.text)}", style="notice")
    else:
        failed = result is not None and result.failed
        ending = "" if result is None else f"  {'✗' if failed else '✓'} {duration(result.at - one.at)}"
        yield Shown(
            text=f"{time}{_SIGNS.get(one.kind, '')}{flatten(one.text, MOST_CALL)}{ending}",
            style="failed" if failed else "act",
        )
        yield from _cut(_split(one.detail), MOST_DIFFERENCE) if one.kind == "edit" else ()
        yield from _cut_front(_split(result.detail)) if result is not None and failed else ()


def _cut(lines: Sequence[str], most: int) -> Iterator[Shown]:
    """The beginning of a difference."""
    for line in lines[:most]:
        yield Shown(text=f"{MARGIN}{line}", style={"+": "added", "-": "removed"}.get(line[:1], "detail"))
    if len(lines) > most:
        yield Shown(text=f"{MARGIN}… and {len(lines) - most} more lines", style="detail")


def _cut_front(lines: Sequence[str]) -> Iterator[Shown]:
    """The end of what was printed: there it says what is wrong."""
    if len(lines) > MOST_OUTPUT:
        yield Shown(text=f"{MARGIN}… {len(lines) - MOST_OUTPUT} lines before", style="detail")
    yield from (Shown(text=f"{MARGIN}{line}", style="detail") for line in lines[-MOST_OUTPUT:])


def _split(text: str) -> list[str]:
    """The lines of a text, without what would command a terminal."""
    return [strip_controls(line).rstrip() for line in text.strip("\n").split("\n")] if text.strip() else []
