"""What goes wrong when nodes run at the same time: branches of a map, and the nodes that one `next` lists together.

Only the nodes that follow at once are compared; what comes behind them is the run's to judge. A key that several may
write needs a reducer, and nobody may read what a sibling writes: what it would see depends on who is faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drumline.core.flow.edges import fan_out
from drumline.core.flow.inspection import Inspection
from drumline.core.flow.kinds import kind_name
from drumline.core.flow.model import (
    AgentNode,
    ApprovalNode,
    CheckNode,
    EndNode,
    InputNode,
    Json,
    LlmNode,
    MapNode,
    Node,
    NodeId,
    RagNode,
    ScriptNode,
    SetNode,
)
from drumline.core.flow.templates import list_references
from drumline.core.plaintext import name_some

BRANCHES = ("script", "agent", "llm", "rag")

_OWN_WORDS: Mapping[type[Node], frozenset[str]] = {
    AgentNode: frozenset({"output"}),
    LlmNode: frozenset({"output"}),
    RagNode: frozenset({"output"}),
    ApprovalNode: frozenset({"choice", "comment"}),
    InputNode: frozenset({"input"}),
}
"""The names by which a node's templates for updates call its own result."""


def check_maps(inspection: Inspection) -> None:
    """Each map with its branch: one node, by itself, that leaves its result under the map's `output_key`."""
    nodes = inspection.flow.nodes
    for node in nodes.values():
        branch = nodes.get(node.branch) if isinstance(node, MapNode) else None
        if not isinstance(node, MapNode) or branch is None or not kind_name(branch):
            continue
        if kind_name(branch) not in BRANCHES:
            message = (
                f"the branch {branch.id!r} is itself a {kind_name(branch)} node, which cannot be collected; "
                f"lead to one of type {', '.join(BRANCHES)}"
            )
            inspection.error(node, ("branch",), code="bad_map_branch", message=message)
            continue
        _check_branch(inspection, node, branch)


def check_fan_outs(inspection: Inspection) -> None:
    """The nodes that one `next` lists together."""
    nodes = inspection.flow.nodes
    told: set[NodeId] = set()
    for node in nodes.values():
        siblings = [nodes[target] for target in fan_out(node) if target in nodes]
        if len(siblings) < 2:
            continue
        for sibling in siblings:
            if sibling.id not in told:
                _check_sibling(inspection, sibling, node)
            told.add(sibling.id)
        _check_writes(inspection, node, siblings)
        _check_reads(inspection, siblings)


def _check_branch(inspection: Inspection, node: MapNode, branch: Node) -> None:
    if branch.next:
        message = f"it is atomic as the branch of the map {node.id!r}, so its `next` is never followed; remove it"
        inspection.error(branch, ("next",), code="map_branch_next", message=message)
    for key in branch.state_updates or ():
        if key != node.output_key:
            message = (
                f"it writes {key!r}, but the map {node.id!r} keeps only {node.output_key!r} of its branch; "
                f"write {node.output_key!r}, or set the map's `output_key`"
            )
            inspection.error(branch, ("state_updates", key), code="map_branch_writes", message=message)
    if names := _schema_keys(branch):
        message = (
            f"its `output_schema` has top-level properties ({name_some(names)}) that the map {node.id!r} throws away; "
            f"collect the whole answer instead: state_updates: {{{node.output_key}: '{{{{output}}}}'}}"
        )
        inspection.error(branch, ("output_schema",), code="map_branch_schema", message=message)


def _check_sibling(inspection: Inspection, sibling: Node, source: Node) -> None:
    if isinstance(sibling, ApprovalNode | InputNode):
        message = (
            f"it asks a person while others run beside it (listed under `next` of {source.id!r}); "
            "ask before them, or after they have come together"
        )
        inspection.error(sibling, (), code="gate_in_fan_out", message=message)
    elif isinstance(sibling, ScriptNode) and sibling.state_updates is None:
        message = (
            f"it runs beside others (listed under `next` of {source.id!r}) without saying what it writes; "
            "give it `state_updates`, which may be empty: {}"
        )
        inspection.error(sibling, (), code="script_in_fan_out", message=message)


def _check_writes(inspection: Inspection, source: Node, siblings: Sequence[Node]) -> None:
    for key, writers in _writers(siblings, with_collections=True).items():
        if len(writers) > 1 and key not in inspection.flow.reducers:
            message = (
                f"nodes [{name_some(writers)}] all write key {key!r} at the same time; give it a reducer, for example "
                f"reducers: {{{key}: append}}, or let each write a key of its own"
            )
            inspection.error(source, ("next",), code="parallel_writes", message=message)


def _check_reads(inspection: Inspection, siblings: Sequence[Node]) -> None:
    writers = _writers(siblings, with_collections=False)
    for sibling in siblings:
        for key in dict.fromkeys(_reads(sibling)):
            others = [writer for writer in writers.get(key, ())[:2] if writer != sibling.id]
            if others:
                message = (
                    f"it reads the key {key!r} while its sibling {others[0]!r} writes it; "
                    "read it in a node that follows both, or write another key"
                )
                inspection.error(sibling, (), code="parallel_read", message=message)


def _writers(siblings: Sequence[Node], *, with_collections: bool) -> dict[str, list[NodeId]]:
    found: dict[str, list[NodeId]] = {}
    for sibling in siblings:
        for key in dict.fromkeys(_writes(sibling, with_collections=with_collections)):
            found.setdefault(key, []).append(sibling.id)
    return found


def _writes(node: Node, *, with_collections: bool) -> Iterator[str]:
    """Keys that the file says a node writes. The format leaves a map's collection open to readers beside it."""
    yield from node.state_updates or ()
    yield from _schema_keys(node)
    if isinstance(node, SetNode):
        yield from node.values
    elif isinstance(node, CheckNode):
        yield node.into
    elif isinstance(node, MapNode) and with_collections:
        yield node.collect_into


def _schema_keys(node: Node) -> list[str]:
    schema = node.output_schema if isinstance(node, AgentNode | LlmNode) else None
    properties = schema.get("properties") if schema else None
    return list(properties) if isinstance(properties, Mapping) else []


def _reads(node: Node) -> Iterator[str]:
    """Keys that a node's templates take from the state; its own result does not come from there."""
    for text in _templates(node):
        yield from _roots(text)
    own = {*_OWN_WORDS.get(type(node), ())}
    if isinstance(node, AgentNode) and node.fallback is not None:
        own.add("failure")
    for text in (node.state_updates or {}).values():
        yield from (key for key in _roots(text) if key not in own)


def _roots(template: str) -> Iterator[str]:
    """The keys of the state that a template's references begin with."""
    for path in list_references(template):
        yield path.partition(".")[0].partition("[")[0]


def _templates(node: Node) -> Iterator[str]:
    if isinstance(node, AgentNode | LlmNode):
        yield node.prompt
    if isinstance(node, LlmNode):
        yield node.instructions or ""
    elif isinstance(node, ApprovalNode | InputNode):
        yield node.question
    elif isinstance(node, MapNode):
        yield node.over
    elif isinstance(node, RagNode):
        yield node.query or ""
    elif isinstance(node, EndNode):
        yield node.output
    elif isinstance(node, SetNode):
        yield from _texts(node.values)
    if isinstance(node, InputNode):
        yield node.default or ""


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts(part)
