"""A walk from node to node: fan-out, maps, loops, budgets, failures and ends."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.unit.flows import begin, drive, each, end, ending, flow, printing, quiet, script, visited, walk

from drumline.core.flow.events import FlowStarted, NodeEnded
from drumline.core.flow.fold import fold_flow, fold_flows
from drumline.core.flow.model import Case, FlowSettings, Json, NodeId, RouteNode, SetNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.state import FlowState, Key
from drumline.core.flow.walk import (
    Finish,
    RunNode,
    begin_flow,
    close_lost,
    conclude,
    next_nodes,
    start_node,
    walk_on,
)
from drumline.errors import NotAllowed


def due(state: FlowState) -> list[str]:
    """What may begin now: `node`, or `scope:node` for items of a map."""
    commands = [command for command in next_nodes(state) if isinstance(command, RunNode)]
    return [f"{c.key.scope}:{c.key.node}" if c.key.scope else str(c.key.node) for c in commands]


def start_all(state: FlowState) -> list[RunNode]:
    """Start everything that is due."""
    commands = [command for command in next_nodes(state) if isinstance(command, RunNode)]
    fold_flow(state, [start_node(command) for command in commands])
    return commands


def give(state: FlowState, command: RunNode, outcome: Outcome) -> None:
    """Let one visit end."""
    fold_flow(state, conclude(state, command.key, outcome))


@pytest.mark.parametrize(
    ("output", "updates", "expected"),
    [
        ("done: {{name}}", None, "done: alice"),
        ("RESULT: {{summary}}", {"summary": "completed for {{name}}"}, "RESULT: completed for alice"),
        ("", None, ""),
        ("hello {{unknown}}!", None, "hello !"),
        ("{{initial_prompt}}", None, "go"),
    ],
)
def test_an_end_updates_first_and_then_says_its_output_leniently(
    output: str, updates: Mapping[str, str] | None, expected: str
) -> None:
    state, _ = walk(flow(end(output=output, updates=updates), state={"name": "alice"}))

    assert ending(state).output == expected
    assert ending(state).status == "done"
    assert set(updates or {}) <= set(state.values)


def test_what_the_caller_says_overrules_the_initial_state() -> None:
    state, _ = walk(flow(end(output="{{initial_prompt}}"), state={"initial_prompt": "from the file"}))

    assert ending(state).output == "go"


def test_branches_of_a_fan_out_join_their_writes_by_reducer() -> None:
    chart = flow(
        script("dispatch", "worker_a worker_b"),
        script("worker_b", "end"),
        script("worker_a", "end"),
        end(output="{{results}}"),
        reducers={"results": "append"},
    )

    state, events = walk(chart, printing({"worker_a": {"results": "alpha"}, "worker_b": {"results": "beta"}}))

    assert ending(state).output == '["alpha","beta"]'
    assert visited(events) == ["dispatch", "worker_b", "worker_a"]


def test_branches_see_the_values_from_before_the_fan_out() -> None:
    chart = flow(script("start", "a b"), script("a", "end"), script("b", "end"), end())
    state = begin(chart)
    give(state, start_all(state)[0], Outcome(output={"k": 1}))
    first, second = start_all(state)

    give(state, first, Outcome(output={"k": 2}))

    assert state.view(second.key)["k"] == 1


def test_two_branches_that_write_a_key_without_reducer_fail_the_flow() -> None:
    chart = flow(script("start", "a b"), script("a", "end"), script("b", "end"), end())

    state, _ = walk(chart, printing({"a": {"k": 1}, "b": {"k": 2}}))

    assert ending(state).status == "failed"
    assert "Key 'k' was written by 2 parallel branches but has no reducer declared" in ending(state).reason


def test_a_branch_that_fails_ends_the_flow_when_the_others_are_over() -> None:
    chart = flow(script("start", "bad good"), script("bad", "end"), script("good", "end"), end())
    state = begin(chart)
    give(state, start_all(state)[0], Outcome(output={}))
    bad, good = start_all(state)

    give(state, bad, Outcome(failure="exit code 1"))
    meanwhile = next_nodes(state)
    give(state, good, Outcome(output={}))

    assert meanwhile == []
    assert next_nodes(state) == [Finish(reason="node 'bad': exit code 1", failed=("bad",))]


def test_after_a_failure_nothing_new_begins() -> None:
    chart = flow(
        script("start", "a b"),
        script("a", "end"),
        script("b", "end"),
        end(),
        settings=FlowSettings(max_concurrency=1),
    )
    state = begin(chart)
    give(state, start_all(state)[0], Outcome(output={}))

    give(state, start_all(state)[0], Outcome(failure="no"))

    assert next_nodes(state) == [Finish(reason="node 'a': no", failed=("a",))]


def test_two_ends_at_once_are_refused() -> None:
    state, _ = walk(flow(script("start", "end_b end_a"), end("end_a"), end("end_b")))

    assert ending(state).status == "failed"
    assert ending(state).reason == "multiple End targets (end_a, end_b)"


def test_one_end_waits_for_its_round_and_targets_of_the_others_are_dropped() -> None:
    chart = flow(script("start", "end work"), script("work", "never"), script("never", "other"), end(), end("other"))

    state, events = walk(chart, printing({"work": {"k": 1}}))

    assert visited(events) == ["start", "work"]
    assert (ending(state).node, state.values["k"]) == ("end", 1)


def test_a_script_chooses_its_way_and_a_loop_ends_at_its_budget() -> None:
    chart = flow(script("a", "a2"), script("a2"), end(), settings=FlowSettings(max_loop_iterations=3))

    state, events = walk(chart, printing({"a2": {"_next": "a"}}))

    assert visited(events) == ["a", "a2"] * 3
    assert "node 'a' was visited more than 3 times" in ending(state).reason
    assert "Possible infinite loop" in ending(state).reason


@pytest.mark.parametrize(
    ("printed", "said"),
    [({"a": {"_next": "ghost"}}, "next node 'ghost' is not in the flow"), ({}, "node 'a' has no `next`")],
)
def test_a_way_that_leads_nowhere_fails_the_flow(printed: dict[str, dict[str, Json]], said: str) -> None:
    state, _ = walk(flow(script("a"), end()), printing(printed))

    assert ending(state).reason == said


def test_a_fallback_is_taken_instead_of_failing() -> None:
    chart = flow(script("a", "end", fallback="rescue"), script("rescue", "end"), end())

    state, events = walk(chart, lambda command, _: Outcome(failure="no" if command.node.id == "a" else "", output={}))

    assert visited(events) == ["a", "rescue"]
    assert ending(state).status == "done"


def test_a_map_collects_in_the_order_of_the_items() -> None:
    chart = flow(
        each("m", "{{items}}", branch="double"),
        script("double"),
        end(output="{{all}}"),
        state={"items": [1, 2, 3, 4, 5]},
    )
    state = begin(chart)

    def double(command: RunNode, values: Mapping[str, Json]) -> Outcome:
        item = values["item"]
        assert isinstance(item, int)
        return Outcome(output={"output": item * 2, "other": "dropped", "_next": "nowhere"})

    drive(state, double, order=lambda commands: commands[::-1])

    assert ending(state).output == "[2,4,6,8,10]"
    assert set(state.values) == {"items", "initial_prompt", "all"}


def test_a_map_keeps_its_cap() -> None:
    chart = flow(each("m", "{{items}}", branch="w", cap=2), script("w"), end(), state={"items": [1, 2, 3]})
    state = begin(chart)
    running = start_all(state)

    assert [command.key.scope for command in running] == ["m#1[0]", "m#1[1]"]
    assert due(state) == []

    give(state, running[1], Outcome(output={"output": 1}))

    assert due(state) == ["m#1[2]:w"]


def test_a_flow_keeps_its_cap() -> None:
    chart = flow(
        script("s", "a b c"),
        *(script(n, "end") for n in "abc"),
        end(),
        settings=FlowSettings(max_concurrency=2),
    )
    state = begin(chart)
    give(state, start_all(state)[0], Outcome(output={}))

    running = start_all(state)

    assert [command.node.id for command in running] == ["a", "b"]
    assert due(state) == []

    give(state, running[0], Outcome(output={}))

    assert due(state) == ["c"]


def test_a_map_of_nothing_is_over_at_once_even_at_the_start() -> None:
    state, _ = walk(flow(each("m", "{{items}}", branch="w"), script("w"), end(output="{{all}}"), state={"items": []}))

    assert ending(state).output == "[]"


@pytest.mark.parametrize(
    ("items", "said"),
    [({"items": "abc"}, "map node 'm': `over` must be an array, got string"), ({}, "map node 'm': Template")],
)
def test_a_map_over_no_list_fails_the_flow(items: dict[str, Json], said: str) -> None:
    state, _ = walk(flow(each("m", "{{items}}", branch="w"), script("w"), end(), state=items))

    assert ending(state).reason.startswith(said)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(failure="exit code 1"), "map node 'm': sub-branch [0] failed: exit code 1"),
        (Outcome(output={"x": 1}), "map node 'm': sub-branch [0] failed: it wrote no 'output' (output_key)"),
    ],
)
def test_an_item_that_fails_or_yields_nothing_fails_the_map(outcome: Outcome, said: str) -> None:
    chart = flow(each("m", "{{items}}", branch="w"), script("w"), end(), state={"items": [1], "output": "stale"})

    state, _ = walk(chart, lambda command, values: outcome)

    assert said in ending(state).reason


def test_nodes_that_only_compute_need_no_act() -> None:
    chart = flow(
        SetNode(id=NodeId("set"), values={"n": 5, "m": "{{n0}}"}, next=(NodeId("route"),)),
        RouteNode(id=NodeId("route"), cases=(Case(when="n > 3", to=NodeId("big")),), otherwise=NodeId("small")),
        end("big", "big {{n}} {{m}}"),
        end("small"),
        state={"n0": [1]},
    )
    state = begin(chart)

    walk_batch = walk_on(state, lambda text, values: text == "n > 3" and values["n"] == 5)

    assert walk_batch.due == ()
    assert ending(state).output == "big 5 [1]"
    assert [type(event).__name__ for event in walk_batch.events] == ["NodeEnded", "NodeEnded", "FlowEnded"]


def test_time_budgets_count_work_and_cut_a_nodes_own() -> None:
    chart = flow(script("a", "b"), script("b", "end"), end(), settings=FlowSettings(timeout=10.0))
    state = begin(chart)
    first = start_all(state)[0]
    give(state, first, Outcome(output={}, spent=7.5))
    second = start_all(state)[0]

    assert (first.timeout, second.timeout) == (10.0, 2.5)

    give(state, second, Outcome(output={}, spent=3.0))

    assert next_nodes(state) == [Finish(reason="timed out after 10s")]


def test_a_node_that_the_flows_budget_cut_short_is_named_and_the_budget_is_the_reason() -> None:
    state = begin(flow(script("sleeper", "end"), end(), settings=FlowSettings(timeout=1.0)))
    command = start_all(state)[0]

    give(state, command, Outcome(failure="script 'sleeper.sh': timed out after 1s", spent=1.1))

    assert next_nodes(state) == [Finish(reason="timed out after 1s during super-step (sleeper)")]


def test_a_nodes_own_timeout_counts_without_a_budget_for_the_flow() -> None:
    assert start_all(begin(flow(script("a", "end"), end())))[0].timeout == 30.0


def test_an_outcome_counts_once() -> None:
    chart = flow(script("a", "b"), script("b", "end"), end())
    state = begin(chart)
    command = start_all(state)[0]
    give(state, command, Outcome(output={}))

    with pytest.raises(NotAllowed, match="not due"):
        conclude(state, command.key, Outcome(output={}))
    with pytest.raises(NotAllowed, match="not due"):
        fold_flow(state, [NodeEnded(node=NodeId("a"), visit=1)])
    with pytest.raises(NotAllowed, match="nothing is at work"):
        conclude(state, Key("m#1[0]", NodeId("a"), 1), Outcome(output={}))


def test_what_a_dead_driver_left_open_is_due_again_and_what_was_finished_is_not() -> None:
    chart = flow(script("s", "a b"), script("a", "end"), script("b", "end"), end())
    state = begin(chart)
    give(state, start_all(state)[0], Outcome(output={}))
    first, _ = start_all(state)
    give(state, first, Outcome(output={}))

    fold_flow(state, close_lost(state))

    assert due(state) == ["b"]
    assert state.visits == {"s": 1, "a": 1, "b": 1}


def test_a_flow_is_not_continued_with_another_file() -> None:
    chart = flow(end())

    with pytest.raises(NotAllowed, match="digest"):
        fold_flow(FlowState(chart=chart), [FlowStarted(flow="sample", digest="other")])
    with pytest.raises(NotAllowed, match="protocol 2"):
        fold_flow(FlowState(chart=chart), [FlowStarted(flow="sample", protocol=2)])


def test_flows_that_call_each_other_are_folded_apart() -> None:
    outer = flow(each("m", "{{items}}", branch="call"), script("call"), end(), state={"items": [1]})
    inner = flow(script("work", "end"), end(output="inner"))
    called = begin_flow(inner, scope="m#1[0]/call#1")
    states: dict[str, FlowState] = {}

    fold_flows(states, [begin_flow(outer), called], find_chart=lambda e: inner if e.scope else outer)
    fold_flows(
        states,
        [start_node(c) for s in list(states.values()) for c in next_nodes(s) if isinstance(c, RunNode)],
        find_chart=lambda e: inner if e.scope else outer,
    )

    assert [key for state in states.values() for key in state.acting] == [
        Key("m#1[0]", NodeId("call"), 1),
        Key("m#1[0]/call#1", NodeId("work"), 1),
    ]


def test_a_thousand_visits_leave_no_trace_but_the_count() -> None:
    chart = flow(script("a", "b"), script("b"), end(), settings=FlowSettings(max_loop_iterations=1000))

    state, _ = walk(chart, printing({"b": {"_next": "a"}}))

    assert (state.results, state.held, state.running) == ([], (), {})
    assert state.visits[NodeId("b")] == 1000


def test_quiet_nodes_write_nothing() -> None:
    state, _ = walk(flow(script("a", "end"), end()), quiet)

    assert state.values == {"initial_prompt": "go"}
