"""A join waits while another active branch can still come to it, fires once, and again in a new round."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.unit.flows import end, ending, flow, printing, script, visited, walk

from drumline.core.flow.chart import Chart
from drumline.core.flow.model import ApprovalNode, Json, Node, NodeId
from drumline.core.flow.outcome import Outcome

DIAMOND = (script("s", "a b"), script("a", "j"), script("b", "j"), script("j", "end"), end())
UNEVEN = (script("s", "a b"), script("a", "a2"), script("a2", "j"), script("b", "j"), script("j", "end"), end())
DIRECT = (script("s", "j a"), script("a", "a2"), script("a2", "j"), script("j", "end"), end())
TO_END = (script("s", "a b"), script("a", "a2"), script("a2", "end"), script("b", "end"), end())
NESTED = (
    script("s", "a b"),
    script("a", "x y"),
    script("x", "k"),
    script("y", "y2"),
    script("y2", "k"),
    script("k", "j"),
    script("b", "j"),
    script("j", "end"),
    end(),
)


@pytest.mark.parametrize(
    ("nodes", "rounds"),
    [
        (DIAMOND, "s a b j"),
        (UNEVEN, "s a b a2 j"),
        (DIRECT, "s a a2 j"),
        (TO_END, "s a b a2"),
        (NESTED, "s a b x y y2 k j"),
    ],
    ids=["diamond", "uneven", "direct", "end", "nested"],
)
def test_a_join_fires_once_however_long_the_ways_are(nodes: Sequence[Node], rounds: str) -> None:
    state, events = walk(flow(*nodes))

    assert visited(events) == rounds.split()
    assert ending(state).status == "done"


def test_a_join_sees_what_all_branches_wrote() -> None:
    nodes = (*UNEVEN[:-1], end(output="{{log}}"))

    state, _ = walk(flow(*nodes, reducers={"log": "append"}), printing({n: {"log": n} for n in ("a", "a2", "b", "j")}))

    assert ending(state).output == '["a","b","a2","j"]'


def ask(node: str, *, yes: str, other: str) -> ApprovalNode:
    """A node that decides between two ways."""
    return ApprovalNode(
        id=NodeId(node), question="?", options=("yes",), routes={"yes": NodeId(yes)}, on_other=NodeId(other)
    )


def answers(*given: str) -> list[Json]:
    return list(given)


def walk_asking(chart: Chart, given: dict[str, list[Json]]) -> tuple[list[str], str]:
    """Walk with answers that each approval gives in turn; the nodes visited and the end."""
    state, events = walk(
        chart, lambda command, _: Outcome(output=given[command.node.id].pop(0) if command.node.id in given else {})
    )
    return visited(events), ending(state).node or ending(state).reason


def test_a_new_round_fires_the_join_again() -> None:
    chart = flow(
        script("s", "a b"),
        script("a", "a2"),
        script("a2", "j"),
        script("b", "j"),
        script("j", "check"),
        ask("check", yes="end", other="s"),
        end(),
    )

    found, at = walk_asking(chart, {"check": answers("no", "yes")})

    assert found == ["s", "a", "b", "a2", "j", "check"] * 2
    assert at == "end"


def test_a_loop_back_into_one_branch_does_not_hold_that_branch_at_the_first_fan_out() -> None:
    chart = flow(
        script("s", "a b"),
        script("a", "j"),
        script("b", "j"),
        script("j", "check"),
        ask("check", yes="end", other="a"),
        end(),
    )

    found, at = walk_asking(chart, {"check": answers("no", "yes")})

    assert found == ["s", "a", "b", "j", "check", "a", "j", "check"]
    assert at == "end"


def test_a_join_waits_for_a_branch_that_goes_round_in_circles_of_its_own() -> None:
    chart = flow(
        script("s", "a b"),
        script("a", "try"),
        ask("try", yes="j", other="fix"),
        script("fix", "a"),
        script("b", "j"),
        script("j", "again"),
        ask("again", yes="end", other="s"),
        end(),
    )

    found, at = walk_asking(chart, {"try": answers("no", "no", "yes"), "again": answers("yes")})

    assert found == ["s", "a", "b", "try", "fix", "a", "try", "fix", "a", "try", "j", "again"]
    assert at == "end"


def test_an_end_reached_by_failure_does_not_wait_for_branches_that_might_fail_too() -> None:
    chart = flow(
        script("s", "a b"),
        script("a", "j", fallback="sorry"),
        script("b", "b2", fallback="sorry"),
        script("b2", "j", fallback="sorry"),
        script("j", "end"),
        end(),
        end("sorry"),
    )

    state, events = walk(chart, lambda command, _: Outcome(failure="no" if command.node.id == "a" else "", output={}))

    assert ending(state).node == "sorry"
    assert visited(events) == ["s", "a", "b", "b2"]


def test_branches_that_lead_into_each_other_still_go_on() -> None:
    chart = flow(
        script("s", "p q"),
        ask("p", yes="end", other="q"),
        ask("q", yes="end", other="p"),
        end(),
    )

    found, at = walk_asking(chart, {"p": answers("yes", "yes"), "q": answers("yes", "yes")})

    assert at == "end"
    assert sorted(set(found)) == ["p", "q", "s"]


@settings(max_examples=some(300), deadline=None)
@given(data=st.data(), count=st.integers(2, 7))
def test_nodes_never_all_wait_for_each_other(data: st.DataObject, count: int) -> None:
    names = [f"n{i}" for i in range(count)]
    some = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    chart = flow(*(script(n, " ".join(data.draw(some))) for n in names))
    active = {NodeId(n) for n in data.draw(st.lists(st.sampled_from(names), min_size=2, unique=True))}

    free = [node for node in active if not chart.find_sources(node) & active]

    assert free


def test_a_branch_that_goes_back_to_the_fan_out_does_not_hold_the_others() -> None:
    chart = flow(
        script("s", "a b"), ask("a", yes="j", other="s"), ask("b", yes="j", other="s"), script("j", "end"), end()
    )

    found, at = walk_asking(chart, {"a": answers("no", "yes"), "b": answers("yes", "yes")})

    assert found == ["s", "a", "b", "s", "a", "b", "j"]
    assert at == "end"


@pytest.mark.long
def test_thousands_of_nodes_side_by_side_are_joined() -> None:
    names = [f"n{i}" for i in range(3_000)]
    chart = flow(script("s", " ".join(names)), *(script(n, "j") for n in names), script("j", "end"), end())

    state, events = walk(chart)

    assert visited(events)[-1] == "j"
    assert ending(state).status == "done"
