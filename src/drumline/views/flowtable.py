"""A flow as a table: one line per node, with the ways that lead from it. It fits a terminal, whatever its width."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.flow.edges import Edge, EdgeKind, edges_of
from drumline.core.flow.ends import find_status
from drumline.core.flow.kinds import kind_name
from drumline.core.flow.model import EndNode, Flow, Node
from drumline.views.cells import cut, fit, flatten, width

LABELS = range(60, 9, -2)
"""How long a condition may be; the longest with which a line fits is taken, none if no line fits."""
WORDS = {EdgeKind.FALLBACK: "fails", EdgeKind.OTHERWISE: "else"}


def flow_table(flow: Flow, *, columns: int) -> str:
    """The nodes in the order of the file; the ends, which lead nowhere, come last, by status."""
    inner = [node for node in flow.nodes.values() if not isinstance(node, EndNode)]
    ends = [node for node in flow.nodes.values() if isinstance(node, EndNode)]
    kinds = [kind_name(node) for node in inner]
    first = max((width(node.id) for node in inner), default=0)
    second = max((width(kind) for kind in kinds), default=0)
    lines = [f"{flatten(flow.name)}: {len(flow.nodes)} nodes, starts at {flow.start}"]
    for node, kind in zip(inner, kinds, strict=True):
        head = f"{fit(node.id, first)}  {fit(kind, second)}  "
        lines.append(head + _tell_ways(flow, node, room=columns - width(head)))
    lines += _list_ends(ends, columns)
    return "".join(f"{cut(line, columns)}\n" for line in lines)


def _list_ends(ends: Sequence[EndNode], columns: int) -> list[str]:
    """The ends by their status, in as few lines as they fit on."""
    told = (
        f"{status.value}: {', '.join(end.id for end in ends if find_status(end) is status)}"
        for status in dict.fromkeys(find_status(end) for end in ends)
    )
    lines = ["ends as"] if ends else []
    for word in "; ".join(told).split():
        if width(joined := f"{lines[-1]} {word}") <= columns:
            lines[-1] = joined
        else:
            lines.append(f"  {word}")
    return lines


def _tell_ways(flow: Flow, node: Node, *, room: int) -> str:
    """Where the node leads, with as much of the conditions as there is room for."""
    edges = [edge for edge in edges_of(node) if edge.target in flow.nodes]
    told = (_join(edges, longest) for longest in LABELS)
    targets = ", ".join(dict.fromkeys(edge.target for edge in edges))
    return next((text for text in told if width(text) <= room), f"→ {targets}")


def _join(edges: Sequence[Edge], longest: int) -> str:
    return ", ".join(_tell_way(edge, longest) for edge in edges)


def _tell_way(edge: Edge, longest: int) -> str:
    if edge.kind is EdgeKind.NEXT:
        return f"→ {edge.target}"
    return f"{flatten(WORDS.get(edge.kind, edge.label), longest)} → {edge.target}"
