"""How steps came to land: how long they waited, how often checks ran, who was sent away for another one's fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from drumline.core import events as ev
from drumline.core.ids import StepId
from drumline.core.plaintext import count_noun, name_some
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.core.vocabulary import DropCause
from drumline.record import Record
from drumline.views.cells import flatten
from drumline.views.duration import duration


class Landings(Record):
    """Figures of the steps that landed; times are in seconds, null where none did.

    A step waits from when its work is ready to land until it has landed, what its agent is asked meanwhile included.
    `dropped` counts candidates that left the landing queue, `innocent_evictions` those of them that landed later
    without any further attempt.
    """

    landed: int
    wait_p50: float | None
    wait_p95: float | None
    check_runs_per_step: float | None
    dropped: int
    innocent_evictions: int


def measure_landings(own: Sequence[Recorded], streams: Mapping[StepId, Sequence[Recorded]]) -> Landings:
    """The figures of a run, from its stream and those of its steps."""
    landed = {step: entry for step, entries in streams.items() for entry in entries if _is(entry, ev.StepLanded)}
    ready: dict[StepId, float] = {}
    for step in landed:
        asked = [entry for entry in own if isinstance(entry.event, ev.TicketTaken) and entry.event.step == step]
        began = [entry for entry in streams[step] if _is(entry, ev.LandingStarted)]
        ready[step] = min((entry.at for entry in (*asked, *began)), default=landed[step].at)
    waits = sorted(max(0.0, entry.at - ready[step]) for step, entry in landed.items())
    runs = sum(_is(entry, ev.CheckStarted) for step in landed for entry in streams[step])
    dropped = [
        (entry.event.step, entry.seq)
        for entry in own
        if isinstance(entry.event, ev.CandidateDropped) and entry.event.cause is not DropCause.LOST
    ]
    return Landings(
        landed=len(landed),
        wait_p50=_rank(waits, 0.5),
        wait_p95=_rank(waits, 0.95),
        check_runs_per_step=round(runs / len(landed), 2) if landed else None,
        dropped=len(dropped),
        innocent_evictions=sum(
            step in landed and _is_innocent(streams[step], seq, landed[step].seq) for step, seq in dropped
        ),
    )


def tell_landings(landings: Mapping[str, Any]) -> str:
    """The figures in one sentence, from what `report --json` prints; empty if nothing landed."""
    if not landings["landed"]:
        return ""
    p50, p95 = (duration(landings[key]) for key in ("wait_p50", "wait_p95"))
    again = landings["innocent_evictions"]
    evicted = f"; sent back to the queue {count_noun(again, 'time')} because of the work of others" if again else ""
    runs = f"{landings['check_runs_per_step']:g}"
    noun = "check run" if runs == "1" else "check runs"
    return f"Finished work waited to land: median {p50}, 95% within {p95}; {runs} {noun} per step{evicted}."


def _is_innocent(entries: Sequence[Recorded], dropped: int, landed: int) -> bool:
    """Whether nothing was asked of its agent between a candidate's leaving and the landing."""
    return not any(dropped < entry.seq < landed and _is(entry, ev.AttemptStarted) for entry in entries)


def _is(entry: Recorded, kind: type[ev.Event]) -> bool:
    return isinstance(entry.event, kind)


def _rank(values: Sequence[float], share: float) -> float | None:
    """The value that this share of the sorted values does not exceed."""
    return round(values[max(0, ceil(share * len(values)) - 1)], 3) if values else None


def list_coming(run: RunState) -> tuple[str, ...]:
    """The conflicts that were foreseen while steps were in work: each pair once, with its files."""
    pairs: dict[tuple[StepId, ...], dict[str, None]] = {}
    for finished in run.finished.values():
        for file in finished.coming:
            pairs.setdefault(tuple(sorted((finished.step, file.owner))), {})[file.path] = None
    return tuple(f"{' and '.join(pair)}: {flatten(name_some(list(paths)))}" for pair, paths in pairs.items())
