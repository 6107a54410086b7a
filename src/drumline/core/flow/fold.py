"""How the events of a walk change where it stands. Folding never fails because of what a flow says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from drumline.core.events import Event
from drumline.core.flow import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.merging import Result, merge_results
from drumline.core.flow.model import EndNode, MapNode, NodeId
from drumline.core.flow.scopes import call_scope, parent_scope
from drumline.core.flow.state import FlowState, Key, MapProgress, Visited
from drumline.core.flow.templates import resolve_raw
from drumline.core.flow.values import is_list, name_type
from drumline.core.flow.visitattempts import VisitAttempts, begin_attempt, end_attempt, lose_attempt, name_session
from drumline.core.reviewevents import REVIEWING
from drumline.core.stepevents import AttemptEnded, AttemptStarted, AttemptUsed, SessionOpened
from drumline.errors import InvalidInput, NotAllowed


def fold_flow(state: FlowState, events: Iterable[Event]) -> FlowState:
    """Apply events of this flow, its maps' items included, in order; returns the same object."""
    for event in events:
        _APPLY[type(event)](state, event)
    return state


def fold_flows(
    flows: dict[str, FlowState], events: Iterable[Event], *, find_chart: Callable[[ev.FlowStarted], Chart]
) -> dict[str, FlowState]:
    """Apply the events of a flow and of the flows it calls, each to its own state by scope; returns the same object."""
    for event in events:
        scope: str = event.scope  # type: ignore[attr-defined]  # every event of a flow has one
        if isinstance(event, ev.FlowStarted):
            flows[scope] = FlowState(chart=find_chart(event), scope=scope)
        fold_flow(flows[scope if scope in flows else parent_scope(scope)], (event,))
    return flows


def _flow_started(state: FlowState, event: ev.FlowStarted) -> None:
    flow = state.chart.flow
    if event.protocol > ev.PROTOCOL or event.digest != flow.digest:
        raise NotAllowed(
            f"flow {event.flow!r} was started with protocol {event.protocol} and digest {event.digest!r}; at hand are "
            f"{ev.PROTOCOL} and {flow.digest!r}",
            hint="restore the file as it was, or cancel the run and start a new one; nothing was changed",
        )
    state.started = event
    state.values = {**flow.initial_state, **event.values}
    _enter(state, (flow.start,))
    _settle(state)


def _node_started(state: FlowState, event: ev.NodeStarted) -> None:
    state.check_due(event)
    if event.scope == state.scope:
        del state.waiting[event.node]
        state.running[event.node] = None
    else:
        map_progress, index = state.find_item(event.scope)
        del map_progress.waiting[index]
        map_progress.running[index] = None


def _node_lost(state: FlowState, event: ev.NodeLost) -> None:
    state.check_due(event)
    state.spent += event.spent
    key = Key(event.scope, event.node, event.visit)
    _count(state, state.metered.pop(key, {}))
    if key in state.visit_attempts and not event.waits:
        lose_attempt(state.visit_attempts[key])
    _give_back(state, event)


def _node_blocked(state: FlowState, event: ev.NodeBlocked) -> None:
    state.check_due(event)
    state.spent += event.spent
    _count(state, event.usage)
    key = Key(event.scope, event.node, event.visit)
    state.metered.pop(key, None)
    if key in state.visit_attempts:
        state.visit_attempts[key].refresh()
    _give_back(state, event)


def _give_back(state: FlowState, event: Visited) -> None:
    """The same visit is due again."""
    if event.scope == state.scope:
        del state.running[event.node]
        state.waiting[event.node] = None
    else:
        map_progress, index = state.find_item(event.scope)
        del map_progress.running[index]
        map_progress.waiting[index] = None


def _attempt_started(state: FlowState, event: AttemptStarted) -> None:
    if not event.by_visit or not event.visit:  # the step decides about it
        return
    key = _find_key(event)
    state.check_due(key)
    begin_attempt(state.visit_attempts.setdefault(key, VisitAttempts()), event)
    if event.session:  # if this attempt is lost, nobody knows how far it came in the session
        state.sessions = {node: kept for node, kept in state.sessions.items() if kept.session != event.session}


def _session_opened(state: FlowState, event: SessionOpened) -> None:
    if _find_key(event) in state.visit_attempts:
        name_session(state.visit_attempts[_find_key(event)], event.session)


def _node_used(state: FlowState, event: ev.NodeUsed) -> None:
    state.check_due(event)
    state.metered[Key(event.scope, event.node, event.visit)] = event.usage


def _attempt_used(state: FlowState, event: AttemptUsed) -> None:
    if _find_key(event) in state.visit_attempts:
        state.metered[_find_key(event)] = event.usage


def _attempt_ended(state: FlowState, event: AttemptEnded) -> None:
    key = _find_key(event)
    if key not in state.visit_attempts:
        return
    state.check_due(key)
    state.spent += event.spent
    state.metered.pop(key, None)
    _count(state, event.usage)
    end_attempt(state.visit_attempts[key], event)
    if event.waits:
        _give_back(state, key)


def _find_key(event: AttemptStarted | SessionOpened | AttemptUsed | AttemptEnded) -> Key:
    return Key(event.scope, NodeId(event.node), event.visit)


def _session_kept(state: FlowState, event: ev.SessionKept) -> None:
    state.check_due(event)
    state.sessions[event.node] = event


def _count(state: FlowState, usage: Mapping[str, float]) -> None:
    for name, count in usage.items():
        state.usage[name] = state.usage.get(name, 0.0) + count


def _node_ended(state: FlowState, event: ev.NodeEnded) -> None:
    state.check_due(event)
    state.spent += event.spent
    state.login = event.login or state.login
    _count(state, event.usage)
    if state.visit_attempts or state.metered:
        key = Key(event.scope, event.node, event.visit)
        state.visit_attempts.pop(key, None)
        state.metered.pop(key, None)
    if event.scope != state.scope:
        _item_ended(state, event)
        return
    state.running.pop(event.node, None)
    state.waiting.pop(event.node, None)
    if event.failure:
        state.failures[event.node] = event.failure
        return
    state.results.append(Result(event.node, event.writes, event.next))
    _settle(state)


def _item_ended(state: FlowState, event: ev.NodeEnded) -> None:
    map_progress, index = state.find_item(event.scope)
    map_progress.running.pop(index, None)
    map_progress.waiting.pop(index, None)
    name = map_progress.node.id
    if event.failure:
        state.failures[f"{name}[{index}]"] = f"map node '{name}': sub-branch [{index}] failed: {event.failure}"
        return
    map_progress.results[index] = event.output
    if len(map_progress.results) == len(map_progress.items):
        _gathered(state, map_progress)
        _settle(state)


def _flow_ended(state: FlowState, event: ev.FlowEnded) -> None:
    state.ended = event
    state.values.update(event.writes)
    for map_progress in state.maps.values():
        map_progress.running.clear()
    state.running.clear()


def _gathered(state: FlowState, map_progress: MapProgress) -> None:
    """A map is over: results stand in the order of the items, whatever the order they came in."""
    node = map_progress.node
    state.maps.pop(call_scope(state.scope, node.id, map_progress.visit), None)
    collected = [map_progress.results[index] for index in range(len(map_progress.items))]
    state.results.append(Result(node.id, {node.collect_into: collected}, node.next))


def _settle(state: FlowState) -> None:
    """Close the round if nothing of it is left, and open the next; maps of nothing are over as they begin."""
    while state.results and not (state.waiting or state.running or state.maps or state.failures or state.broken):
        results, state.results = state.results, []
        try:
            merge_results(state.values, results, state.chart.reducers)
        except InvalidInput as error:
            state.broken = str(error)
            return
        if state.end is None:
            _enter(state, _collect_targets(state, results))


def _collect_targets(state: FlowState, results: Sequence[Result]) -> tuple[NodeId, ...]:
    if len(results) == 1 and not state.held:
        targets = results[0].next
        state.broken = "" if targets else f"node '{results[0].node}' has no `next`"
        return targets if len(targets) < 2 else tuple(dict.fromkeys(targets))
    stuck = [result.node for result in results if not result.next]
    if stuck:
        state.broken = f"node '{min(stuck)}' has no `next`"
    return tuple(dict.fromkeys((*(target for result in results for target in result.next), *state.held)))


def _enter(state: FlowState, targets: tuple[NodeId, ...]) -> None:
    """Open a round with these nodes, but for those that have to wait for another branch."""
    unknown = [target for target in targets if target not in state.chart.nodes]
    if unknown:
        state.broken = f"next node '{unknown[0]}' is not in the flow"
    if state.broken:
        return
    state.held = ()
    if len(targets) > 1:
        targets = _hold(state, targets)
    for node in targets:
        _visit(state, node)


def _hold(state: FlowState, targets: tuple[NodeId, ...]) -> tuple[NodeId, ...]:
    """Keep back what another target can still reach; the others, in the file's order. They never all wait."""
    ordered = sorted(targets, key=state.chart.order.__getitem__)
    active = set(targets)
    late = [node for node in ordered if not state.chart.find_sources(node).isdisjoint(active)]
    state.held = tuple(late)
    waiting = set(late)
    due = [node for node in ordered if node not in waiting]
    ends = [node for node in due if isinstance(state.chart.nodes[node], EndNode)]
    if len(ends) > 1:
        state.broken = f"multiple End targets ({', '.join(sorted(ends))})"
        return ()
    return tuple(due)


def _visit(state: FlowState, name: NodeId) -> None:
    node = state.chart.nodes[name]
    count = state.visits[name] = state.visits.get(name, 0) + 1
    limit = state.chart.flow.settings.max_loop_iterations
    if count > limit:
        state.broken = (
            f"node '{name}' was visited more than {limit} times (max_loop_iterations). Possible infinite loop"
        )
    elif isinstance(node, EndNode):
        state.end = name
    elif isinstance(node, MapNode):
        _gather(state, node, count)
    else:
        state.waiting[name] = None


def _gather(state: FlowState, node: MapNode, visit: int) -> None:
    try:
        items = resolve_raw(node.over, state.values)
    except InvalidInput as error:
        state.broken = f"map node '{node.id}': {error}"
        return
    if not is_list(items):
        state.broken = f"map node '{node.id}': `over` must be an array, got {name_type(items)}"
        return
    map_progress = MapProgress(node=node, visit=visit, items=items, waiting=dict.fromkeys(range(len(items))))
    if items:
        state.maps[call_scope(state.scope, node.id, visit)] = map_progress
    else:
        _gathered(state, map_progress)


_APPLY: dict[type[Event], Callable[[FlowState, Any], None]] = {
    ev.FlowStarted: _flow_started,
    ev.NodeStarted: _node_started,
    ev.NodeEnded: _node_ended,
    ev.NodeLost: _node_lost,
    ev.NodeBlocked: _node_blocked,
    AttemptStarted: _attempt_started,
    SessionOpened: _session_opened,
    AttemptUsed: _attempt_used,
    AttemptEnded: _attempt_ended,
    ev.NodeUsed: _node_used,
    ev.SessionKept: _session_kept,
    ev.FlowEnded: _flow_ended,
    **dict.fromkeys(REVIEWING, lambda state, event: None),
}
