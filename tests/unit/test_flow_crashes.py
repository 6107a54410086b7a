"""Whatever the graph: a walk ends or hits its budget, and ends the same wherever it is cut off and taken up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.unit.flows import begin, drive, each, end, ending, flow, script, walk

from drumline.core.codec import decode, encode
from drumline.core.events import Event
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowEnded, NodeEnded
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.model import ApprovalNode, FlowSettings, Json, Node, NodeId
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.state import FlowState
from drumline.core.flow.walk import RunNode, close_lost

BUDGET = 4


def act(command: RunNode, values: Mapping[str, Json]) -> Outcome:
    """The same visit always comes to the same: what a node does must not depend on when it does it."""
    name, visit = command.key.node, command.key.visit
    if isinstance(command.node, ApprovalNode):
        return Outcome(output="back" if visit < 3 else "on")
    if "item" in values:
        return Outcome(output={"output": f"{values['item']}!"})
    return Outcome(output={"log": f"{name}#{visit}", "seen": len(str(values.get("log", "")))}, spent=0.5)


@st.composite
def charts(draw: st.DrawFn) -> Chart:
    """Forward edges with fan-outs and joins, decisions that lead back, and maps."""
    count = draw(st.integers(2, 7))
    names = [f"n{i}" for i in range(count)]
    nodes: list[Node] = []
    for place, name in enumerate(names):
        ahead = [*names[place + 1 :], "end"]
        kind = draw(st.sampled_from(["script", "script", "script", "ask", "map"]))
        targets = draw(st.lists(st.sampled_from(ahead), min_size=1, max_size=3, unique=True))
        if kind == "ask" and place:
            back = NodeId(draw(st.sampled_from(names[: place + 1])))
            on = NodeId(targets[0])
            nodes.append(ApprovalNode(id=NodeId(name), question="?", options=("on",), routes={"on": on}, on_other=back))
        elif kind == "map":
            nodes.append(each(name, "{{items}}", branch="item", into="log", to=" ".join(targets)))
        else:
            nodes.append(script(name, " ".join(targets)))
    return flow(
        *nodes,
        script("item"),
        end(output="{{log}} {{seen}}"),
        reducers={"log": "append", "seen": "sum"},
        state={"items": ["x", "y"], "log": [], "seen": 0},
        settings=FlowSettings(max_loop_iterations=BUDGET, max_concurrency=draw(st.integers(1, 3))),
    )


def take_up(chart: Chart, prefix: Sequence[Event]) -> tuple[FlowState, list[Event]]:
    """Fold what a dead driver left behind, as it comes out of the journal, and go on."""
    state = FlowState(chart=chart)
    fold_flow(state, [decode(type(event).__name__, 1, encode(event)) for event in prefix])
    fold_flow(state, close_lost(state))
    return state, drive(state, act)


def finished(events: Sequence[Event]) -> list[tuple[str, str, int]]:
    """The visits that ended."""
    return [(event.scope, event.node, event.visit) for event in events if isinstance(event, NodeEnded)]


@settings(max_examples=some(60), deadline=None)
@given(chart=charts())
def test_every_walk_ends_or_hits_its_budget(chart: Chart) -> None:
    state, events = walk(chart, act)

    assert ending(state).status == "done" or "Possible infinite loop" in ending(state).reason
    assert len(finished(events)) == len(set(finished(events)))
    assert max(state.visits.values()) <= BUDGET + 1


@settings(max_examples=some(25), deadline=None)
@given(chart=charts())
def test_a_walk_ends_the_same_wherever_it_was_cut_off(chart: Chart) -> None:
    whole, events = walk(chart, act)

    for cut in range(1, len(events) + 1):
        state, rest = take_up(chart, events[:cut])

        assert state.ended == whole.ended
        assert state.values == whole.values
        assert state.visits == whole.visits
        assert not set(finished(events[:cut])) & set(finished(rest))


@settings(max_examples=some(40), deadline=None)
@given(chart=charts(), data=st.data())
def test_the_order_in_which_branches_end_does_not_matter(chart: Chart, data: st.DataObject) -> None:
    whole, _ = walk(chart, act)
    state = begin(chart)

    drive(state, act, order=lambda commands: data.draw(st.permutations(commands)) if len(commands) > 1 else commands)

    assert state.ended == whole.ended
    assert state.values == whole.values


def test_a_finished_walk_stays_finished() -> None:
    chart = flow(script("a", "end"), end(output="x"))
    _, events = walk(chart, act)

    state, rest = take_up(chart, events)

    assert rest == []
    assert isinstance(events[-1], FlowEnded)
    assert ending(state) == events[-1]
