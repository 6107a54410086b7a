"""Small flows and a driver without IO, for the tests of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from drumline.core.events import Event
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.model import EndNode, Flow, FlowSettings, Json, MapNode, Node, NodeId, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.state import FlowState
from drumline.core.flow.walk import RunNode, begin_flow, conclude, start_node, walk_on

Act = Callable[[RunNode, Mapping[str, Json]], Outcome]


def name(text: str) -> tuple[NodeId, ...]:
    """Node ids, parted by spaces."""
    return tuple(NodeId(word) for word in text.split())


def script(node: str, to: str = "", *, fallback: str = "", updates: Mapping[str, str] | None = None) -> ScriptNode:
    """A script node; the tests say what it prints."""
    back = NodeId(fallback) if fallback else None
    return ScriptNode(id=NodeId(node), script=f"{node}.sh", next=name(to), fallback=back, state_updates=updates)


def end(node: str = "end", output: str = "", *, updates: Mapping[str, str] | None = None) -> EndNode:
    """An end node."""
    return EndNode(id=NodeId(node), output=output, state_updates=updates)


def each(node: str, over: str, *, branch: str, into: str = "all", cap: int | None = None, to: str = "end") -> MapNode:
    """A map node over `over`, item by item as `item`."""
    return MapNode(
        id=NodeId(node),
        over=over,
        item="item",
        branch=NodeId(branch),
        collect_into=into,
        max_concurrency=cap,
        next=name(to),
    )


def flow(
    *nodes: Node,
    reducers: Mapping[str, str] | None = None,
    state: Mapping[str, Json] | None = None,
    settings: FlowSettings | None = None,
) -> Chart:
    """A flow that begins at the first node, prepared for walking."""
    made = Flow(
        name="sample",
        start=nodes[0].id,
        nodes={node.id: node for node in nodes},
        reducers=reducers or {},
        initial_state=state or {},
        settings=settings or FlowSettings(),
    )
    return Chart(made)


def refuse(text: str, values: Mapping[str, Json]) -> Json:
    """An evaluator for flows without conditions."""
    raise AssertionError(f"nothing should be evaluated: {text!r}")


def quiet(command: RunNode, values: Mapping[str, Json]) -> Outcome:
    """Every node succeeds and writes nothing."""
    return Outcome(output={})


def begin(chart: Chart) -> FlowState:
    """A state with its first event folded."""
    return fold_flow(FlowState(chart=chart), [begin_flow(chart, prompt="go")])


def walk(chart: Chart, act: Act = quiet) -> tuple[FlowState, list[Event]]:
    """Walk to the end, one round at a time; the state and all events."""
    state = begin(chart)
    return state, [begin_flow(chart, prompt="go"), *drive(state, act)]


def drive(state: FlowState, act: Act = quiet, *, order: Callable[[list[RunNode]], list[RunNode]] = list) -> list[Event]:
    """Go on from where the state stands; what is due is started together and ends in the given order."""
    events: list[Event] = []
    while state.ended is None:
        walk_batch = walk_on(state, refuse)
        events.extend(walk_batch.events)
        started = [start_node(command) for command in walk_batch.due]
        fold_flow(state, started)
        events.extend(started)
        for command in order(list(walk_batch.due)):
            concluded = conclude(state, command.key, act(command, state.view(command.key)))
            fold_flow(state, concluded)
            events.extend(concluded)
    return events


def printing(printed: Mapping[str, Mapping[str, Json]]) -> Act:
    """Scripts that print the given objects; others print nothing of interest."""

    def act(command: RunNode, values: Mapping[str, Json]) -> Outcome:
        return Outcome(output=printed.get(command.node.id, {}))

    return act


def ending(state: FlowState) -> FlowEnded:
    """How the walk ended."""
    assert state.ended is not None
    return state.ended


def visited(events: Sequence[Event]) -> list[str]:
    """The nodes that were started, in order."""
    return [str(getattr(event, "node", "")) for event in events if type(event).__name__ == "NodeStarted"]
