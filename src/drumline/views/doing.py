"""What an agent does at this moment, beside what the journal says of its step: a few words that fit a board's row.

The rule: what the agent told last is shown as it told it, cut, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core import spending
from drumline.core.ids import StepId
from drumline.core.life import Phase
from drumline.core.money import dollars
from drumline.core.spending import COST, add_up, count_attempt
from drumline.views.activity import Activity, activity
from drumline.views.cells import cut, flatten, width
from drumline.views.duration import duration
from drumline.views.snapshot import Snapshot
from drumline.views.transcript import Happened
from drumline.views.usage import sum_step

MOST_TOLD = 120
LEAST_TOLD = 12
"""Cells that what an agent told needs to say anything."""
_SIGNS = {"command": "$ ", "edit": "edits ", "text": "says "}


def describe_doing(snapshot: Snapshot, step: StepId, room: int) -> str:
    """The node, what its agent does, what the step has used, and since when: as much of it as there is room for."""
    doing = activity(snapshot, step)
    if doing is None:
        return ""
    since = f"{duration(snapshot.now - doing.since)}" if doing.since is not None and doing.until is None else ""
    last = snapshot.happened.get(step)
    if last is not None and doing.since is not None and last.at < doing.since:
        last = None  # the attempt before told it
    told, used = tell_happened(last), describe_used(sum_so_far(snapshot, step))
    if not _is_agents(doing) or not told:
        whole = _join(doing.words, used, since)
        return whole if width(whole) <= room else _join(cut(doing.words, room - width(since) - 1), "", since)
    for words in (doing.words, doing.node):
        whole = _join(f"{words}: {told}", used, since)
        if width(whole) <= room:
            return whole
    left = room - width(_join(f"{doing.node}: ", "", since))
    short = f"{doing.node}: {cut(told, left)}" if left >= LEAST_TOLD else cut(doing.words, room - width(since) - 1)
    return _join(short, "", since)


def tell_happened(last: Happened | None) -> str:
    """The last thing that an agent told, in a few words; empty if it told nothing."""
    if last is None or last.kind not in ("text", "tool", "edit", "command"):
        return ""
    return f"{_SIGNS.get(last.kind, '')}{flatten(last.text, MOST_TOLD)}"


def sum_so_far(snapshot: Snapshot, step: StepId) -> Mapping[str, float]:
    """What a step has used, with the attempt that is under way."""
    state = snapshot.steps.get(step)
    if step in snapshot.walks or state is None or state.metered is None or state.phase is not Phase.WORKING:
        return sum_step(snapshot, step)
    return add_up((spending.sum_step(snapshot.run, step), count_attempt(state.metered.usage)))


def describe_used(usage: Mapping[str, float]) -> str:
    """`12k tokens $0.03`; empty if nobody counted anything."""
    tokens = usage.get("input", 0) + usage.get("output", 0)
    parts = [f"{_shorten(tokens)} tokens"] if tokens else []
    return " ".join([*parts, dollars(usage[COST])] if usage.get(COST) else parts)


def _is_agents(doing: Activity) -> bool:
    """Whether an agent is at work, and not a check or a landing after it."""
    return doing.node not in ("check", "land", "prepare", "wait")


def _join(words: str, used: str, since: str) -> str:
    return " · ".join(filter(None, (words, used, since))) if used else f"{words} {since}".rstrip()


def _shorten(number: float) -> str:
    if number < 1_000:
        return f"{number:.0f}"
    return f"{number / 1_000:.0f}k" if number < 999_500 else f"{number / 1_000_000:.1f}M"
