"""Visits by the names people type: `implement`, `implement#2`, `coder#1/implement`, `each#1[3]/one`."""

from __future__ import annotations

from collections.abc import Iterator

from drumline.core.flow.model import MapNode, NodeId
from drumline.core.flow.questions import question_id
from drumline.core.flow.scopes import call_scope, parent_scope, split_item
from drumline.core.flow.state import FlowState, Key
from drumline.errors import InvalidInput
from drumline.views.causes import name_some
from drumline.views.flowsnapshot import FlowSnapshot

NEVER = 0
"""The visit of a place nobody has come to."""


def visit_name(key: Key) -> str:
    """What people call a visit; the first has no number."""
    return str(question_id(key))


def find_flow_of(snapshot: FlowSnapshot, key: Key) -> FlowState | None:
    """The flow in which a visit happens, if it is being walked."""
    scope = key.scope if key.scope in snapshot.flows else parent_scope(key.scope)
    return snapshot.flows.get(scope)


def find_place(snapshot: FlowSnapshot, name: str) -> Key:
    """The visit that a name means, the last if it names a node; InvalidInput if there is nothing of that name.

    A whole name comes before a node of the same id in a called flow, and a place where somebody was before others.
    """
    best: Key | None = None
    rank = (-1, False)
    for key in _list_places(snapshot):
        found = _match(key, name)
        if found is None:
            continue
        score = (found[0], found[1].visit != NEVER)
        if score >= rank:
            best, rank = found[1], score
    if best is None:
        raise _refuse(snapshot, name)
    return best


def find_visits(snapshot: FlowSnapshot, name: str = "") -> list[Key]:
    """The visits a name covers, in the order they began: with those of the flows and items inside them."""
    keys = list(snapshot.traces)
    if not name:
        return keys
    found = [key for key in keys if name in _list_names(key)]
    if not found:
        find_place(snapshot, name)
    return found


def list_path(snapshot: FlowSnapshot) -> Iterator[str]:
    """The way through the flow itself, newest first; the items of a map count as the map."""
    before = ""
    for key in reversed(snapshot.walked):
        item = split_item(key.scope)
        if parent_scope(key.scope) or (key.scope and item is None):
            continue
        name = item[0].removesuffix("#1") if item else visit_name(key)
        if name != before:
            yield name
        before = name


def _list_places(snapshot: FlowSnapshot) -> Iterator[Key]:
    """Every node of every flow at hand with its last visit, then the visits of flows that are over."""
    for scope, state in snapshot.flows.items():
        branches = {node.branch for node in state.chart.nodes.values() if isinstance(node, MapNode)}
        for node in state.chart.nodes:
            count = state.visits.get(node, NEVER)
            if count or node not in branches:
                yield Key(scope, node, count)
    latest = {(key.scope, key.node): key for key in snapshot.traces}
    for key in latest.values():
        if key.scope not in snapshot.flows:
            yield key
    for scope, state in snapshot.flows.items():
        yield from (
            Key(scope, node.branch, NEVER)
            for node in state.chart.nodes.values()
            if isinstance(node, MapNode) and not any(place[1] == node.branch for place in latest)
        )


def _match(key: Key, name: str) -> tuple[int, Key] | None:
    """How well a name fits a place, and the visit it means there."""
    place = call_scope(key.scope, key.node, 0).removesuffix("#0")
    if name == place:
        return 2, key
    stem, _, number = name.rpartition("#")
    if stem == place and number.isdecimal() and 1 <= int(number) <= key.visit:
        return 2, Key(key.scope, key.node, int(number))
    return (1, key) if name == key.node else None


def _list_names(key: Key) -> set[str]:
    """Every name that covers a visit: its own, and those of the visits around it."""
    parts = call_scope(*key).split("/")
    names: set[str] = {key.node}
    for number, part in enumerate(parts):
        before = "".join(f"{one}/" for one in parts[:number])
        for text in (part, part.partition("[")[0], part.rpartition("#")[0]):
            names |= {before + text, text}
    return names


def _refuse(snapshot: FlowSnapshot, name: str) -> InvalidInput:
    root = snapshot.root
    nodes: list[NodeId] = list(root.chart.nodes) if root else [key.node for key in snapshot.traces]
    known = name_some(dict.fromkeys(nodes)) or "none yet"
    return InvalidInput(
        f"the flow of run {snapshot.run.id} has no node or visit {name!r} (nodes: {known})", hint="drumline status"
    )
