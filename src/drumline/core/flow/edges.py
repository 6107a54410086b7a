"""The declared edges of a flow: who may follow whom, what can be reached, and which circles nothing ever leaves.

Where a script's `_next` leads is decided by the script and is not a declared edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from drumline.core.flow.model import (
    AgentNode,
    ApprovalNode,
    CheckNode,
    DocumentNode,
    Flow,
    LandNode,
    LlmNode,
    MapNode,
    Node,
    NodeId,
    PlanNode,
    RouteNode,
    ScriptNode,
)
from drumline.record import Record

Place = tuple[str | int, ...]
"""Where in a node's part of the file something is written, for example `("routes", "yes")`."""


class EdgeKind(Enum):
    """Why one node follows another."""

    NEXT = "next"
    FALLBACK = "fallback"
    BRANCH = "branch"
    ANSWER = "answer"
    OTHER = "other"
    CASE = "case"
    OTHERWISE = "otherwise"
    PASSED = "passed"
    FAILED = "failed"
    REFUSED = "refused"


PLAIN = frozenset({EdgeKind.NEXT, EdgeKind.FALLBACK, EdgeKind.BRANCH})
"""Edges that nobody decides about: a circle of these alone can only run until its budget is used up."""


class Edge(Record):
    """One way from a node to another; `label` is the answer, condition or verdict that chooses it."""

    source: NodeId
    target: NodeId
    kind: EdgeKind
    place: Place
    label: str = ""

    @property
    def plain(self) -> bool:
        """Whether nobody decides about it."""
        return self.kind in PLAIN


def edges_of(node: Node) -> list[Edge]:
    """The node's declared edges in the file's order. What the file left empty leads nowhere and is not an edge."""
    return [edge for edge in _declared(node) if edge.target]


def fan_out(node: Node) -> tuple[NodeId, ...]:
    """The nodes that follow at the same time; empty if only one does."""
    targets = tuple(dict.fromkeys(node.next))
    return targets if len(targets) > 1 else ()


def reachable(flow: Flow) -> dict[NodeId, None]:
    """Every node that declared edges lead to from the start, in the order they are met."""
    found = {flow.start: None} if flow.start in flow.nodes else {}
    waiting = list(found)
    for here in waiting:  # grows while it is walked
        for edge in edges_of(flow.nodes[here]):
            if edge.target in flow.nodes and edge.target not in found:
                found[edge.target] = None
                waiting.append(edge.target)
    return found


def plain_cycles(flow: Flow) -> list[list[NodeId]]:
    """Circles of plain edges, as ids with the first repeated at the end; no node is in two. Linear in the edges.

    Not every circle is listed, but if there are any, at least one is.
    """
    ahead = _stuck(flow)
    found: list[list[NodeId]] = []
    walked: dict[NodeId, NodeId] = {}
    for first in ahead:
        path: list[NodeId] = []
        here = first
        while here not in walked:
            walked[here] = first
            path.append(here)
            here = ahead[here]
        if walked[here] == first:
            found.append([*path[path.index(here) :], here])
    return found


def _stuck(flow: Flow) -> dict[NodeId, NodeId]:
    """Nodes from which plain edges lead on for ever, each with one successor that is such a node, too."""
    ahead: dict[NodeId, list[NodeId]] = {}
    behind: dict[NodeId, list[NodeId]] = {node: [] for node in flow.nodes}
    for node_id, node in flow.nodes.items():
        targets = (edge.target for edge in edges_of(node) if edge.plain)
        ahead[node_id] = [target for target in dict.fromkeys(targets) if target in flow.nodes]
        for target in ahead[node_id]:
            behind[target].append(node_id)
    left = {node_id: len(targets) for node_id, targets in ahead.items()}
    ending = [node_id for node_id, count in left.items() if count == 0]
    for node_id in ending:  # grows while it is walked
        for before in behind[node_id]:
            left[before] -= 1
            if left[before] == 0:
                ending.append(before)
    return {node: next(t for t in ahead[node] if left[t]) for node, count in left.items() if count}


def _declared(node: Node) -> Iterator[Edge]:
    yield from _own_edges(node)
    for place, target in enumerate(node.next):
        yield Edge(source=node.id, target=target, kind=EdgeKind.NEXT, place=("next", place))


def _own_edges(node: Node) -> Iterator[Edge]:
    if isinstance(node, ApprovalNode):
        yield from _answers(node.id, node.routes)
        yield Edge(source=node.id, target=node.on_other, kind=EdgeKind.OTHER, place=("on_other",), label="other")
    elif isinstance(node, RouteNode):
        for number, case in enumerate(node.cases):
            place = ("cases", number, "to")
            yield Edge(source=node.id, target=case.to, kind=EdgeKind.CASE, place=place, label=case.when)
        kind = EdgeKind.OTHERWISE
        yield Edge(source=node.id, target=node.otherwise, kind=kind, place=("otherwise",), label="otherwise")
    elif isinstance(node, CheckNode):
        yield Edge(source=node.id, target=node.passed, kind=EdgeKind.PASSED, place=("on_pass",), label="passed")
        yield Edge(source=node.id, target=node.failed, kind=EdgeKind.FAILED, place=("on_fail",), label="failed")
    elif isinstance(node, LandNode) and node.refused is not None:
        kind = EdgeKind.REFUSED
        yield Edge(source=node.id, target=node.refused, kind=kind, place=("on_refuse",), label="refused")
    elif isinstance(node, MapNode):
        yield Edge(source=node.id, target=node.branch, kind=EdgeKind.BRANCH, place=("branch",), label="each")
    elif isinstance(node, ScriptNode | LlmNode | AgentNode | PlanNode | DocumentNode) and node.fallback is not None:
        kind = EdgeKind.FALLBACK
        yield Edge(source=node.id, target=node.fallback, kind=kind, place=("fallback",), label="fallback")


def _answers(source: NodeId, routes: Mapping[str, NodeId]) -> Iterator[Edge]:
    for answer, target in routes.items():
        place = ("routes", answer)
        yield Edge(source=source, target=target, kind=EdgeKind.ANSWER, place=place, label=answer)
