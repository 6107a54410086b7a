"""What a check printed, cut to what decides. The rule: what is left out is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drumline.core.events import CheckEnded
from drumline.core.plaintext import strip_controls
from drumline.views.cells import flatten
from drumline.views.duration import duration

MOST_LINES = 30
"""Lines of a log that are shown; longer ones are cut."""
_DECIDES = re.compile(
    r"\b(?:error|errors|exception|fail|failed|failure|failures|failing|panic|fatal|assert\w*|expected|undefined"
    r"|not ok|no such|cannot|traceback)\b|^E\s|✗|✖|×|●|^---? FAIL",
    re.IGNORECASE,
)
LAST = 5
_AROUND = 1


def describe_check(ended: CheckEnded) -> list[str]:
    """The check for people: its command, how it ended, and the line that says why it failed."""
    code = ended.exit_code
    how = (
        "not run on the work"
        if ended.outside
        else "could not be run"
        if code is None
        else "passed"
        if code == 0
        else f"failed with exit code {code}"
    )
    told = [f"$ {flatten(ended.command)}", f"{how} in {duration(ended.seconds)}"]
    return [*told, *([f"{ended.failure}: {flatten(ended.evidence)}"] if ended.failure and ended.evidence else [])]


def cut_log(text: str, *, failed: bool) -> list[str]:
    """The lines that decide, of a check that failed; else the last ones. A short log is shown whole."""
    lines = [strip_controls(line) for line in text.rstrip("\n").split("\n")] if text.strip("\n") else []
    if len(lines) <= MOST_LINES:
        return lines
    last = range(len(lines) - (LAST if failed else MOST_LINES), len(lines))
    found = [number for number, line in enumerate(lines) if _DECIDES.search(line[:2_000])] if failed else []
    near = {place for number in found for place in range(number - _AROUND, number + _AROUND + 1) if place >= 0}
    chosen = sorted({*sorted(near)[: MOST_LINES - LAST], *last} if near else range(len(lines) - MOST_LINES, len(lines)))
    return _show_gaps(lines, [place for place in chosen if place < len(lines)])


def _show_gaps(lines: Sequence[str], chosen: Sequence[int]) -> list[str]:
    """The chosen lines, and how many are left out between them."""
    shown: list[str] = []
    before = -1
    for place in chosen:
        if place - before > 1:
            shown.append(f"… {place - before - 1} lines left out; --raw shows them")
        shown.append(lines[place])
        before = place
    return shown
