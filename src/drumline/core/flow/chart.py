"""A flow prepared for walking: its nodes, and for each node which others may still lead to it.

The rule of joins is here: a node that is due waits while another active branch can reach it by declared edges. A way
that goes round a circle in which the node itself lies does not count, for that is a new round and fires the node
again; and a fallback into an end does not count, for an end reached by failure need not wait for further failures.
Nodes never wait for each other in a ring: the node of such a ring that is met first from the start is the head of a
circle around all of them, and the way into it is the one that does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from drumline.core.flow.edges import Edge, EdgeKind, edges_of
from drumline.core.flow.model import EndNode, Flow, NodeId


class Chart:
    """One flow with what walking it asks again and again; worked out when first asked, then kept."""

    __slots__ = ("_before", "_circles", "_circling", "_sources", "flow", "nodes", "order", "reducers")

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.nodes = flow.nodes
        self.reducers = flow.reducers
        self.order = {node: place for place, node in enumerate(flow.nodes)}
        self._before: dict[NodeId, list[NodeId]] | None = None
        self._circling: dict[NodeId, set[NodeId]] = {}
        self._circles: dict[NodeId, frozenset[NodeId]] = {}
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
        """Whether the edge goes back to the head of circles in one of which `node` lies."""
        tails = self._circling.get(head, ())
        if before not in tails:
            return False
        if head not in self._circles:
            self._circles[head] = self._surround(head, tails)
        return node in self._circles[head]

    def _surround(self, head: NodeId, tails: Collection[NodeId]) -> frozenset[NodeId]:
        """The nodes of all circles that edges from `tails` back to `head` close."""
        found = {head}
        waiting = list(tails)
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


def _find_circling(flow: Flow) -> dict[NodeId, set[NodeId]]:
    """Heads of circles, seen from the start, each with the nodes that lead straight back to it."""
    found: dict[NodeId, set[NodeId]] = {}
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
                found.setdefault(target, set()).add(here)
            elif target not in done:
                path[target] = iter(_targets(flow, target))
    return found
