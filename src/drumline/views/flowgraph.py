"""A flow drawn: as a mermaid flowchart or in DOT. No text of the file can break out of its label."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.flow.edges import Edge, EdgeKind, edges_of
from drumline.core.flow.ends import find_status
from drumline.core.flow.kinds import kind_name
from drumline.core.flow.model import EndNode, Flow, Node, NodeId
from drumline.core.vocabulary import WalkEnd

LONGEST_LABEL = 80

MERMAID_SHAPES: Mapping[str, tuple[str, str]] = {
    "script": ("[", "]"),
    "agent": ("[[", "]]"),
    "llm": ("([", "])"),
    "approval": ("{{", "}}"),
    "input": ("[/", "/]"),
    "rag": ("[(", ")]"),
    "map": ("[\\", "\\]"),
    "check": ("{", "}"),
    "route": ("{", "}"),
    "set": ("[", "]"),
    "end": ("((", "))"),
}
"""What a node of each kind is drawn with."""

DOT_SHAPES: Mapping[str, str] = {
    "script": "box",
    "agent": "component",
    "llm": "ellipse",
    "approval": "hexagon",
    "input": "parallelogram",
    "rag": "cylinder",
    "map": "folder",
    "check": "diamond",
    "route": "diamond",
    "set": "note",
    "end": "doublecircle",
}


def flow_mermaid(flow: Flow) -> str:
    """The flow as a flowchart; the start is drawn bold, and ways taken when a node fails are dotted."""
    names = {node_id: f"n{place}" for place, node_id in enumerate(flow.nodes)}
    lines = ["flowchart TD"]
    for node in flow.nodes.values():
        opening, closing = MERMAID_SHAPES.get(kind_name(node), ("[", "]"))
        bold = ":::start" if node.id == flow.start else ""
        lines.append(f'    {names[node.id]}{opening}"{_mermaid_text(_words(node))}"{closing}{bold}')
    for edge in _edges(flow):
        arrow = "-.->" if edge.kind is EdgeKind.FALLBACK else "-->"
        label = f'|"{_mermaid_text(_label(edge))}"|' if _label(edge) else ""
        lines.append(f"    {names[edge.source]} {arrow}{label} {names[edge.target]}")
    lines.append("    classDef start stroke-width:3px")
    return "\n".join(lines) + "\n"


def flow_dot(flow: Flow) -> str:
    """The flow in the language of Graphviz, drawn by the same rules."""
    lines = ["digraph flow {", "  node [shape=box];"]
    for node in flow.nodes.values():
        shape = DOT_SHAPES.get(kind_name(node), "box")
        bold = ", penwidth=3" if node.id == flow.start else ""
        lines.append(f"  {_quoted(node.id)} [label={_quoted(_flat(_words(node)))}, shape={shape}{bold}];")
    for edge in _edges(flow):
        style = ", style=dashed" if edge.kind is EdgeKind.FALLBACK else ""
        label = _quoted(_flat(_label(edge)))
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [label={label}{style}];")
    return "\n".join([*lines, "}", ""])


def flow_json(flow: Flow) -> dict[str, object]:
    """The flow's shape as scripts read it."""
    nodes = [{"id": node.id, "type": kind_name(node), "line": node.line} for node in flow.nodes.values()]
    edges = [
        {"from": edge.source, "to": edge.target, "kind": edge.kind.value, "label": edge.label} for edge in _edges(flow)
    ]
    return {"name": flow.name, "start": flow.start, "nodes": nodes, "edges": edges}


def _edges(flow: Flow) -> list[Edge]:
    """Edges between nodes that exist, each target once per reason."""
    known: Mapping[NodeId, Node] = flow.nodes
    return [edge for node in flow.nodes.values() for edge in edges_of(node) if edge.target in known]


def _label(edge: Edge) -> str:
    return "" if edge.kind is EdgeKind.NEXT else edge.label


def _words(node: Node) -> str:
    found = find_status(node) if isinstance(node, EndNode) else WalkEnd.DONE
    status = f" ({found})" if found is not WalkEnd.DONE else ""
    kind = kind_name(node)
    return f"{node.id}: {kind}{status}" if kind and kind != node.id else f"{node.id}{status}"


def _flat(text: str) -> str:
    flat = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return flat if len(flat) <= LONGEST_LABEL else flat[: LONGEST_LABEL - 1] + "…"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _mermaid_text(text: str) -> str:
    """Letters, digits and plain punctuation stay; anything mermaid could read as syntax becomes a character code."""
    return "".join(c if c.isalnum() or c in " _.,:/-…" else f"#{ord(c)};" for c in _flat(text))
