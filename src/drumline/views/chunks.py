"""What became of a step in the words of plans in waves, so that what reads their results reads ours. The rule: no prose
but what the step's agent says of its work.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core import events as ev
from drumline.core.recorded import Recorded
from drumline.core.routing import MODELS
from drumline.core.taskreport import read_words
from drumline.record import Record
from drumline.views.cells import flatten

MOST_SUMMARY = 300
"""Characters of an agent's words about its work."""
WAVES = "waves"
"""The format of plans whose models are words for tiers."""
_NAMES = {"chunk_id": "chunkId", "tests_passed": "testsPassed"}


class Chunk(Record, rename=_NAMES):
    """What became of one step. `chunk` and `chunkId` are its id; `model` that of its last attempt, null if unknown.

    In a plan in waves it is the word of that plan for the tier of the attempt.
    """

    chunk: str
    chunk_id: str
    status: str
    iterations: int
    files: tuple[str, ...]
    commit: str | None
    ok: bool
    attempts: int
    model: str | None
    summary: str
    tests_passed: bool | None


def find_tier(entries: Sequence[Recorded]) -> str | None:
    """The tier of the last attempt that worked; None if there was none."""
    started = (entry.event for entry in reversed(entries))
    worked = (event for event in started if isinstance(event, ev.AttemptStarted) and not event.reads)
    return next((event.tier or None for event in worked), None)


def find_model(last: ev.AttemptEnded | None) -> str | None:
    """The model that an attempt was made with; None if nobody asked for one, or if it is not known."""
    return (last.model or None) if last is not None else None


def name_tier(tier: str | None) -> str | None:
    """The word for a tier in plans in waves, which name no other models."""
    return next((model for model, meant in MODELS.items() if meant == tier), None)


def summarise(last: ev.AttemptEnded | None) -> str:
    """What the agent of a step says of its work, on one line; empty if it says nothing."""
    if last is None:
        return ""
    return flatten(read_words(last.message, last.report).strip().partition("\n\n")[0], MOST_SUMMARY)
