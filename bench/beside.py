"""The same chain of nodes walked by ours and by other engines, in turns: what the interpreter costs, and what the disk.

An engine that cannot be measured leaves our figure without a reference, and the note says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.figures import MICROSECOND, MILLISECOND, Figure, clock, in_rounds, take_turns
from bench.flow import CHAIN, make_chain, walk_chain
from bench.flowruns import MEGABYTE, FlowRuns
from bench.peers.asking import PYTHON, Company, invite
from drumline.core.flow.chart import Chart

WARM = 5
TURNS = 8
"""Times that each engine gets its turn in one round."""
AT_ONCE = 4
"""Walks of one turn where nothing is written: they are too short to be timed one by one."""
LANGGRAPH, DBOS = "LangGraph", "DBOS"
GAINS = {LANGGRAPH: 3.0, DBOS: 5.0}
PURE_GAIN = 8.0

Work = Callable[[], float]


def measure_beside(folder: Path, *, rounds: int, python: Path = PYTHON) -> list[Figure]:
    """Ours beside every engine that is installed: without a disk, with it, and with a megabyte of state."""
    runs = FlowRuns(folder / "flows.db")
    try:
        with invite(folder, python=python) as company:
            _warm_up(runs, company)
            return [
                _compare_pure(company, rounds),
                *_compare_durable(runs, company, rounds),
                *_compare_heavy(runs, company, rounds),
            ]
    finally:
        runs.close()


def _warm_up(runs: FlowRuns, company: Company) -> None:
    for _ in range(WARM):
        runs.walk()
    for peer in company.peers.values():
        peer.ask("durable", walks=WARM)
    if LANGGRAPH in company.peers:
        company.peers[LANGGRAPH].ask("pure", walks=WARM)
        company.peers[LANGGRAPH].ask("heavy")


def _compare_pure(company: Company, rounds: int) -> Figure:
    chart = make_chain()
    works: list[Work] = [partial(_walk_pure, chart)]
    peer = company.peers.get(LANGGRAPH)
    if peer is not None:
        works.append(partial(peer.ask, "pure", walks=AT_ONCE))
    found = [in_rounds(seconds, TURNS, MICROSECOND) for seconds in take_turns(rounds * TURNS, *works)]
    return Figure(
        name=f"flow: {CHAIN} nodes, per node",
        unit="us",
        values=found[0],
        reference=f"{peer.name}, no checkpointer" if peer else "",
        references=found[1] if peer else (),
        least_gain=PURE_GAIN,
        note=f"{LANGGRAPH}: {company.absent[LANGGRAPH]}" if peer is None else "",
    )


def _walk_pure(chart: Chart) -> float:
    return clock(lambda: [walk_chain(chart, CHAIN) for _ in range(AT_ONCE)]) / (AT_ONCE * CHAIN)


def _compare_durable(runs: FlowRuns, company: Company, rounds: int) -> list[Figure]:
    peers = company.peers
    works: list[Work] = [lambda: runs.walk().whole, *(partial(peer.ask, "durable") for peer in peers.values())]
    ours, *theirs = (in_rounds(seconds, TURNS, MILLISECOND) for seconds in take_turns(rounds * TURNS, *works))
    references = dict(zip(peers, theirs, strict=True))
    return [
        Figure(
            name=f"durable flow: a run of {CHAIN} nodes, per node",
            unit="ms",
            values=ours,
            reference=peers[name].name if name in peers else "",
            references=references.get(name, ()),
            least_gain=gain,
            note=peers[name].note if name in peers else f"{name}: {company.absent[name]}",
        )
        for name, gain in GAINS.items()
    ]


def _compare_heavy(runs: FlowRuns, company: Company, rounds: int) -> list[Figure]:
    """Each engine with a megabyte of input beside itself without: how much of it is written again at every node."""
    works: list[Work] = [lambda: runs.walk().per_node, lambda: runs.walk(prompt=MEGABYTE).per_node]
    works += [lambda: runs.walk().whole, lambda: runs.walk(prompt=MEGABYTE).whole]
    peer = company.peers.get(LANGGRAPH)
    if peer is not None:
        works += [partial(peer.ask, "durable"), partial(peer.ask, "heavy")]
    found = [in_rounds(seconds, 1, MILLISECOND) for seconds in take_turns(rounds, *works)]
    names = ["ours, once begun", "ours, all of the run", *([f"{peer.name}, all of the run"] if peer else [])]
    return [
        Figure(
            name=f"1 MB of unchanged state, per node: {name}",
            unit="ms",
            values=heavy,
            reference="the same without",
            references=light,
        )
        for name, light, heavy in zip(names, found[::2], found[1::2], strict=True)
    ]
