"""A flow prepared for walking: its nodes, and for each node which others may still lead to it.

The rule of joins is here: a node that is due waits while another active branch can reach it by declared edges. A way
that goes round a circle in which the node itself lies does not count, for that is a new round and fires the node
again; and a fallback into an end does not count, for an end reached by failure need not wait for further failures.
"""

from __future__ import annotations

from collections.abc import Iterator

from drumline.core.flow.edges import Edge, EdgeKind, edges_of
from drumline.core.flow.model import EndNode, Flow, NodeId


class Chart:
    """One flow with what walking it asks again and again; worked out when first asked, then kept."""

    __slots__ = ("_before", "_bodies", "_circling", "_sources", "flow", "nodes", "order", "reducers")

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.nodes = flow.nodes
        self.reducers = flow.reducers
        self.order = {node: place for place, node in enumerate(flow.nodes)}
        self._before: dict[NodeId, list[NodeId]] | None = None
        self._circling: set[tuple[NodeId, NodeId]] = set()
        self._bodies: dict[tuple[NodeId, NodeId], frozenset[NodeId]] = {}
        self._sources: dict[NodeId, frozenset[NodeId]] = {}

    def find_sources(self, node: NodeId) -> frozenset[NodeId]:
        """The nodes from which a branch can still come to `node` in this round."""
        found = self._sources.get(node)
        if found is None:
            found = self._sources[node] = self._search(node)
        return found

    def _search(self, node: NodeId) -> frozenset[NodeId]:
        found: set[NodeId] = set()
        waiting = [before for before in self._predecessors(node) if not self._is_new_round(before, node, node)]
        if isinstance(self.nodes[node], EndNode):
            waiting = [before for before in waiting if not self._only_falls_back(before, node)]
        while waiting:
            here = waiting.pop()
            if here in found or here == node:
                continue
            found.add(here)
            ways = self._predecessors(here)
            waiting.extend(before for before in ways if not self._is_new_round(before, here, node))
        return frozenset(found)

    def _only_falls_back(self, before: NodeId, node: NodeId) -> bool:
        kinds = [edge.kind for edge in _ways(self.flow, before) if edge.target == node]
        return all(kind is EdgeKind.FALLBACK for kind in kinds)

    def _is_new_round(self, before: NodeId, head: NodeId, node: NodeId) -> bool:
        """Whether the edge closes a circle in which `node` lies."""
        back = (before, head)
        if back not in self._circling:
            return False
        if back not in self._bodies:
            self._bodies[back] = self._circle(before, head)
        return node in self._bodies[back]

    def _circle(self, tail: NodeId, head: NodeId) -> frozenset[NodeId]:
        """The nodes of the circle that the edge from `tail` back to `head` closes."""
        found = {head}
        waiting = [tail]
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting.extend(self._predecessors(here))
        return frozenset(found)

    def _predecessors(self, node: NodeId) -> list[NodeId]:
        if self._before is None:
            self._before = {known: [] for known in self.nodes}
            for source in self.nodes:
                for target in _targets(self.flow, source):
                    self._before[target].append(source)
            self._circling = _find_circling(self.flow)
        return self._before[node]


def _ways(flow: Flow, node: NodeId) -> Iterator[Edge]:
    """The edges a walk can take: a map's branch runs inside the map and leads nowhere."""
    for edge in edges_of(flow.nodes[node]):
        if edge.kind is not EdgeKind.BRANCH and edge.target in flow.nodes:
            yield edge


def _targets(flow: Flow, node: NodeId) -> dict[NodeId, None]:
    return {edge.target: None for edge in _ways(flow, node)}


def _find_circling(flow: Flow) -> set[tuple[NodeId, NodeId]]:
    """Edges that lead back to a node on the way they came, seen from the start; without them there is no circle."""
    found: set[tuple[NodeId, NodeId]] = set()
    done: set[NodeId] = set()
    for root in (flow.start, *flow.nodes):
        if root in done:
            continue
        path = {root: iter(_targets(flow, root))}
        while path:
            here, ahead = next(reversed(path.items()))
            target = next(ahead, None)
            if target is None:
                done.add(here)
                del path[here]
            elif target in path:
                found.add((here, target))
            elif target not in done:
                path[target] = iter(_targets(flow, target))
    return found
