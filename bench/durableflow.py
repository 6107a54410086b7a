"""Durable walks of a chain of nodes: beside raw appends, of many visits, and with a megabyte of state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.figures import MILLISECOND, Figure, in_rounds, take_turns
from bench.flow import CHAIN, VISITS
from bench.flowruns import AROUND, MEGABYTE, FlowRuns
from bench.transitions import Raw

WARM = 20
TURNS = 20
"""Times that each side gets its turn in one round."""


def measure_durable_flow(folder: Path, *, rounds: int, turns: int = TURNS, visits: int = VISITS) -> list[Figure]:
    """Milliseconds per node, from the first that begins to the end of the flow; what a whole run costs is beside it."""
    runs = FlowRuns(folder / "flows.db")
    for _ in range(WARM):
        runs.walk()
    raw = Raw(folder / "raw.db", runs.bytes_per_node())
    raw.append(WARM * CHAIN)
    try:
        short, whole, reference = take_turns(
            rounds * turns,
            lambda: runs.walk().per_node,
            lambda: runs.walk().whole,
            lambda: raw.append(CHAIN),
        )
        few, many, heavy = take_turns(
            rounds,
            lambda: median(runs.walk().per_node for _ in range(turns)),
            lambda: runs.walk(visits).per_node,
            lambda: median(runs.walk(prompt=MEGABYTE).per_node for _ in range(turns)),
        )
        kept = runs.grow(MEGABYTE) - runs.grow("")
    finally:
        runs.close()
        raw.close()
    times = [in_rounds(seconds, turns, MILLISECOND) for seconds in (short, whole, reference)]
    times += [in_rounds(seconds, 1, MILLISECOND) for seconds in (few, many, heavy)]
    return _make_figures(times, visits, size=raw.size, kept=kept)


def _make_figures(times: Sequence[Sequence[float]], visits: int, *, size: int, kept: int) -> list[Figure]:
    short, whole, raws, few, many, heavy = times
    against = f"raw append of {size} bytes"
    fifteen = f"{CHAIN} nodes, no state"
    around = f"{CHAIN + AROUND} commits: also pinned, claimed, begun, released"
    once = f"{kept / 1e6:.1f} MB more is kept, once per run"
    flow = "durable flow"
    return [
        _compare(f"{flow}: {CHAIN} nodes, per node", short, against, raws, target=1.5),
        _compare("the same, all of the run", whole, against, raws, note=around),
        _compare(f"{flow}: {visits:,} visits, per visit", many, fifteen, few, target=1.2),
        _compare(f"{flow}: 1 MB of state, per node", heavy, fifteen, few, note=once),
    ]


def _compare(
    name: str,
    values: Sequence[float],
    reference: str,
    references: Sequence[float],
    *,
    target: float | None = None,
    note: str = "",
) -> Figure:
    return Figure(
        name=name, unit="ms", values=values, reference=reference, references=references, target=target, note=note
    )
