"""The interpreter by itself: what deciding about one visit costs, and that it does not grow with visits or values."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

from bench.figures import Figure, clock, take_turns
from drumline.core.flow.chart import Chart
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.model import EndNode, Flow, FlowSettings, Json, NodeId, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.state import FlowState
from drumline.core.flow.walk import RunNode, begin_flow, conclude, finish, next_nodes, start_node

CHAIN = 15
VISITS = 1_500
MEGABYTE: dict[str, Json] = {"big": ["x" * 1_000] * 1_000}
TARGET = 1.2
END = NodeId("end")
LAST = NodeId(f"n{CHAIN - 1}")
QUIET, AGAIN, OVER = Outcome(output={}), Outcome(output={"_next": "n0"}), Outcome(output={"_next": "end"})


def measure_flow(folder: Path, *, rounds: int) -> list[Figure]:
    """Microseconds per visit: a chain of nodes, the same walked round and round, and with a megabyte of state."""
    chain = make_chain()
    loaded = make_chain(MEGABYTE)
    short, long, heavy = take_turns(
        rounds,
        partial(per_visit, chain, CHAIN),
        partial(per_visit, chain, VISITS),
        partial(per_visit, loaded, CHAIN),
    )
    name = f"{CHAIN} visits"
    return [
        Figure(name=f"flow: {CHAIN} visits, per visit", unit="us", values=short),
        Figure(
            name=f"flow: {VISITS:,} visits, per visit",
            unit="us",
            values=long,
            reference=name,
            references=short,
            target=TARGET,
        ),
        Figure(
            name="flow: 1 MB of state, per visit",
            unit="us",
            values=heavy,
            reference=name,
            references=short,
            target=TARGET,
        ),
    ]


def make_chain(state: dict[str, Json] | None = None) -> Chart:
    """Nodes in a row; the last decides by itself whether to begin again."""
    names = [NodeId(f"n{place}") for place in range(CHAIN)]
    nodes = {here: ScriptNode(id=here, script="noop.sh", next=(after,)) for here, after in pairwise(names)}
    nodes[names[-1]] = ScriptNode(id=names[-1], script="noop.sh")
    flow = Flow(
        name="chain",
        start=names[0],
        nodes={**nodes, END: EndNode(id=END)},
        initial_state=state or {},
        settings=FlowSettings(max_loop_iterations=VISITS),
    )
    return Chart(flow)


def walk_chain(chart: Chart, visits: int) -> FlowState:
    """Walk until so many visits are over, then end; every event is made and folded as a driver would."""
    state = fold_flow(FlowState(chart=chart), [begin_flow(chart)])
    done = 0
    while state.ended is None:
        for command in next_nodes(state):
            if not isinstance(command, RunNode):
                fold_flow(state, [finish(state, command)])
                continue
            done += 1
            fold_flow(state, [start_node(command)])
            fold_flow(state, conclude(state, command.key, choose_outcome(command.key.node, done, visits)))
    return state


def choose_outcome(node: NodeId, done: int, visits: int) -> Outcome:
    """What a node that does nothing returns: the last one leads on to the start until there were enough visits."""
    if node != LAST:
        return QUIET
    return OVER if done >= visits else AGAIN


def per_visit(chart: Chart, visits: int) -> float:
    """Microseconds for one visit; short walks are repeated so that all take about the same time."""
    repeats = max(1, VISITS // visits)
    return clock(lambda: [walk_chain(chart, visits) for _ in range(repeats)]) / (repeats * visits) * 1_000_000
