"""What a walk does next, and what an outcome means for it. Pure: the same events give the same commands.

The shell's part is small: fold, ask `next_nodes`, record `NodeStarted` before an act, act, and record what `conclude`
returns. `walk_on` does all of it for nodes that only compute. Time is data: commands carry how long an act may take,
outcomes how long the work took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from drumline.core.events import Event
from drumline.core.flow import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.ends import find_status
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.model import ASKING, COMPUTING, EndNode, Json, Node, NodeId, RouteNode
from drumline.core.flow.outcome import Conclusion, Outcome, apply_updates, choose_case, draw_conclusion
from drumline.core.flow.scopes import item_scope, split_item
from drumline.core.flow.state import FlowState, Key, MapProgress
from drumline.core.flow.templates import render_lenient
from drumline.core.flow.values import overlay
from drumline.core.ids import NO_DRIVER, DriverId
from drumline.core.money import compare_dollars
from drumline.core.vocabulary import WalkEnd
from drumline.record import Record, replace

Evaluate = Callable[[str, Mapping[str, Json]], Json]


class RunNode(NamedTuple):
    """Let this visit of a node happen, in at most `timeout` seconds of work (None: no limit)."""

    key: Key
    node: Node
    timeout: float | None = None


class Finish(Record):
    """End the walk: at an end node, or because it cannot go on; `failed` are the nodes that are why, if any are."""

    node: NodeId = ev.NO_NODE
    reason: str = ""
    failed: tuple[str, ...] = ()


class WalkBatch(NamedTuple):
    """A batch of a walk: events to record, already folded, and the acts that are due then."""

    events: tuple[Event, ...]
    due: tuple[RunNode, ...]


def begin_flow(
    chart: Chart,
    *,
    prompt: str = "",
    scope: str = "",
    variables: Mapping[str, Json] | None = None,
    timeout: float | None = None,
    values: Mapping[str, Json] | None = None,
) -> ev.FlowStarted:
    """The first event of a walk, with the caller's text as `initial_prompt`, beside the `values` it gives."""
    flow = chart.flow
    return ev.FlowStarted(
        flow=flow.name,
        digest=flow.digest,
        path=flow.path,
        scope=scope,
        values={"initial_prompt": prompt, **(values or {})},
        variables=variables or {},
        timeout=timeout,
    )


def next_nodes(state: FlowState) -> list[RunNode | Finish]:
    """What may begin now, within the caps on concurrency; nothing while it is up to the acts under way.

    After a failure nothing new begins; when the last act under way has ended, so does the walk.
    """
    if state.ended is not None or state.started is None:
        return []
    if reason := state.broken or _overdue(state):
        return [] if state.acting else [Finish(reason=reason)]
    if state.failures:
        return [] if state.acting else [Finish(reason=state.reason, failed=tuple(sorted(state.failures)))]
    if state.waiting or state.maps:
        if reason := _overspent(state):
            return [] if state.acting else [Finish(reason=reason)]
        return list(_list_due(state))
    return [Finish(node=state.end)] if state.end is not None and not state.running else []


def start_node(command: RunNode) -> ev.NodeStarted:
    """The intent to record before a node acts."""
    return ev.NodeStarted(node=command.key.node, visit=command.key.visit, scope=command.key.scope)


def conclude(state: FlowState, key: Key, outcome: Outcome, *, spent: float = 0.0) -> list[Event]:
    """What to record when a visit is over. InvalidInput if a person's answer is refused: ask again.

    `spent` is the working time since the event before, as far as the outcome does not say it.
    """
    if outcome.waits:  # the end of its attempt, which is recorded with it, has given it back
        return []
    state.check_due(key)
    if outcome.blocked:
        return [_block(key, outcome, spent=spent)]
    if outcome.leaves is not None:
        return [ev.NodeLost(node=key.node, visit=key.visit, scope=key.scope, spent=outcome.spent or spent, waits=True)]
    node = state.chart.nodes[key.node]
    drawn = draw_conclusion(node, state.view(key), outcome)
    if key.scope != state.scope:
        return [_collect(state, key, outcome, drawn=drawn, spent=spent)]
    return [
        ev.NodeEnded(
            node=key.node,
            visit=key.visit,
            scope=key.scope,
            writes=drawn.writes,
            next=drawn.next,
            output=drawn.said,
            failure=drawn.failure,
            fell_back=drawn.fell_back,
            spent=outcome.spent or spent,
            usage=outcome.usage,
            notices=outcome.notices,
            unchanged=outcome.unchanged,
            login=outcome.login if drawn.failure else "",
        )
    ]


def finish(state: FlowState, command: Finish) -> ev.FlowEnded:
    """The last event: an end node's updates first, then its output; or a failure with its reason."""
    node = state.chart.nodes.get(command.node)
    if not isinstance(node, EndNode):
        ended = ev.FlowEnded(status=WalkEnd.FAILED, scope=state.scope, reason=command.reason)
        return replace(ended, failed=command.failed, login=state.login if command.failed else "")
    writes = apply_updates(node.state_updates, state.values, {})
    output = render_lenient(node.output, overlay(writes, state.values) if writes else state.values)
    status = find_status(node, output)
    return ev.FlowEnded(status=status, scope=state.scope, node=node.id, output=output, writes=writes)


def close_lost(state: FlowState, *, driver: DriverId = NO_DRIVER) -> list[ev.NodeLost]:
    """What recovery records: every visit that a dead driver left open becomes due again."""
    return [ev.NodeLost(node=key.node, visit=key.visit, scope=key.scope, driver=driver) for key in state.acting]


def compute(state: FlowState, command: RunNode, evaluate: Evaluate) -> Outcome:
    """The outcome of a node that needs nothing but the values."""
    if isinstance(command.node, RouteNode):
        return choose_case(command.node, state.view(command.key), evaluate)
    return Outcome()


def count_left(state: FlowState) -> float | None:
    """Dollars that the flow may still spend; None without a budget."""
    allowed = state.chart.flow.settings.max_cost
    return None if allowed is None else max(0.0, allowed - state.usage.get("cost_usd", 0.0))


def walk_on(state: FlowState, evaluate: Evaluate) -> WalkBatch:
    """Go on until something has to act or the walk is over. The state is folded: record the events before acting."""
    events: list[Event] = []
    while True:
        due: list[RunNode] = []
        computed: list[Event] = []
        for command in next_nodes(state):
            if isinstance(command, Finish):
                computed.append(finish(state, command))
            elif isinstance(command.node, COMPUTING):
                computed += conclude(state, command.key, compute(state, command, evaluate))
            else:
                due.append(command)
        if not computed:
            return WalkBatch(tuple(events), tuple(due))
        fold_flow(state, computed)
        events += computed


def _list_due(state: FlowState) -> Iterator[RunNode]:
    remaining = _remaining(state)
    places = max(1, state.chart.flow.settings.max_concurrency) - len(state.running)
    for name in state.waiting:
        node = state.chart.nodes[name]
        key = Key(state.scope, name, state.visits[name])
        # A question takes no place: the nodes beside it need not wait for its answer.
        asking = isinstance(node, ASKING) or (bool(state.visit_attempts) and _is_held(state, key))
        places -= not asking
        if places >= 0 or asking:
            yield RunNode(key, node, _limit(node, remaining))
    for scope, map_progress in state.maps.items():
        yield from _list_items(state, scope, map_progress, remaining=remaining)


def _list_items(
    state: FlowState, scope: str, map_progress: MapProgress, *, remaining: float | None
) -> Iterator[RunNode]:
    node = state.chart.nodes[map_progress.node.branch]
    cap = max(1, map_progress.node.max_concurrency or state.chart.flow.settings.max_concurrency)
    held = _list_held(state, scope) if state.visit_attempts else []
    able = (index for index in map_progress.waiting if index not in held) if held else map_progress.waiting
    for index in (*held, *islice(able, max(0, cap - len(map_progress.running)))):
        yield RunNode(key=Key(item_scope(scope, index), node.id, 1), node=node, timeout=_limit(node, remaining))


def _is_held(state: FlowState, key: Key) -> bool:
    """Whether the agent of a visit waits for an answer or a time."""
    attempts = state.visit_attempts.get(key)
    return attempts is not None and attempts.is_held


def _list_held(state: FlowState, scope: str) -> list[int]:
    """The items of a map whose agents wait for an answer or a time; they take no place either."""
    places = [split_item(key.scope) for key, attempts in state.visit_attempts.items() if attempts.is_held]
    return [place[1] for place in places if place is not None and place[0] == scope]


def _limit(node: Node, remaining: float | None) -> float | None:
    own: float | None = getattr(node, "timeout", None)
    if own is None or remaining is None:
        return remaining if own is None else own
    return min(own, remaining)


def _remaining(state: FlowState) -> float | None:
    limit = state.limit
    return None if limit is None else max(0.0, limit - state.spent)


def _overdue(state: FlowState) -> str:
    """Why the walk has no time left. Nodes that it cut short are named: their failures are only what came of it."""
    limit = state.limit
    if limit is None or state.spent < limit:
        return ""
    during = f" during super-step ({', '.join(sorted(state.failures))})" if state.failures else ""
    return f"timed out after {limit:g}s{during}"


def _overspent(state: FlowState) -> str:
    """Why nothing may begin any more: models and agents have used up what the flow allows them."""
    settings, usage = state.chart.flow.settings, state.usage
    if settings.max_tokens is not None:
        tokens = usage.get("input", 0.0) + usage.get("output", 0.0)
        if tokens >= settings.max_tokens:
            return f"its budget is used up: {tokens:,.0f} tokens of {settings.max_tokens:,} (max_tokens)"
    if settings.max_cost is not None and usage.get("cost_usd", 0.0) >= settings.max_cost:
        used, given = compare_dollars(usage["cost_usd"], settings.max_cost)
        return f"its budget is used up: {used} of {given} (max_cost)"
    return ""


def _block(key: Key, outcome: Outcome, *, spent: float) -> ev.NodeBlocked:
    return ev.NodeBlocked(
        node=key.node,
        visit=key.visit,
        scope=key.scope,
        failure=outcome.failure_class,
        reason=outcome.blocked,
        spent=outcome.spent or spent,
        usage=outcome.usage,
        notices=outcome.notices,
    )


def _collect(state: FlowState, key: Key, outcome: Outcome, *, drawn: Conclusion, spent: float) -> ev.NodeEnded:
    """An item's end: of all it wrote only what the map collects is kept; where it leads does not count."""
    wanted = state.find_item(key.scope)[0].node.output_key
    output: Json = None
    failure = drawn.failure
    if wanted in drawn.writes:
        output = drawn.writes[wanted]
    elif wanted == "output" and drawn.bound is not None:
        output = drawn.bound
    elif not failure:
        failure = outcome.failure or f"it wrote no '{wanted}' (output_key)"
    return ev.NodeEnded(
        node=key.node,
        visit=key.visit,
        scope=key.scope,
        output=output,
        failure=failure,
        spent=outcome.spent or spent,
        usage=outcome.usage,
        notices=outcome.notices,
        unchanged=outcome.unchanged,
        login=outcome.login if failure else "",
    )
