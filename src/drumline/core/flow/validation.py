"""What is wrong with a flow as a graph. Everything is collected; nothing is repaired; the work is linear in the flow.

Errors keep a flow from being run unless it says `validate_before_run: false`; obeying that is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches

from drumline.core.flow.edges import Edge, EdgeKind, Place, edges_of, plain_cycles, reachable
from drumline.core.flow.ends import find_status
from drumline.core.flow.inspection import Inspection, Locate, Surroundings
from drumline.core.flow.model import (
    AgentNode,
    CheckNode,
    DocumentNode,
    EndNode,
    Flow,
    InputNode,
    LandNode,
    LlmNode,
    MapNode,
    Node,
    NodeId,
    PlanNode,
    RagNode,
    ScriptNode,
    SetNode,
    SettleNode,
    WorkspaceNode,
    is_for_runs,
    is_for_steps,
)
from drumline.core.flow.noderules import check_limits, check_nodes, check_skills
from drumline.core.flow.parallel import check_fan_outs, check_maps
from drumline.core.plaintext import name_some
from drumline.core.plan import Problem
from drumline.core.vocabulary import WalkEnd
from drumline.record import replace

MOST_NODES_FOR_SUGGESTIONS = 500
LONGEST_CYCLE_SHOWN = 12

_NEEDS_NEXT = (
    AgentNode,
    DocumentNode,
    InputNode,
    LandNode,
    LlmNode,
    MapNode,
    PlanNode,
    RagNode,
    SetNode,
    SettleNode,
    WorkspaceNode,
)
_NAMES = {
    EdgeKind.NEXT: "`next`",
    EdgeKind.FALLBACK: "`fallback`",
    EdgeKind.BRANCH: "`branch`",
    EdgeKind.ANSWER: "`routes`",
    EdgeKind.OTHER: "`on_other`",
    EdgeKind.CASE: "`cases`",
    EdgeKind.OTHERWISE: "`otherwise`",
    EdgeKind.PASSED: "`on_pass`",
    EdgeKind.FAILED: "`on_fail`",
    EdgeKind.REFUSED: "`on_refuse`",
}

_NOBODY = Surroundings()


def validate(flow: Flow, *, around: Surroundings = _NOBODY, locate: Locate | None = None) -> list[Problem]:
    """Every problem of the flow, rule by rule. `around` is what is known of scripts, agents, tools and conditions."""
    inspection = Inspection(flow=flow, around=around, locate=locate or _node_lines(flow))
    for rule in RULES:
        rule(inspection)
    return inspection.found


def _node_lines(flow: Flow) -> Locate:
    def locate(owner: str, _place: Place) -> int:
        node = flow.nodes.get(NodeId(owner))
        return node.line if node else 1

    return locate


def _check_targets(inspection: Inspection) -> None:
    nodes = inspection.flow.nodes
    for node in nodes.values():
        for edge in edges_of(node):
            if edge.target not in nodes:
                message = f"{_NAMES[edge.kind]} leads to {edge.target!r}, which is not a node; {_advise(edge, nodes)}"
                inspection.error(node, edge.place, code="unknown_node", message=message)


def _advise(edge: Edge, nodes: Mapping[NodeId, Node]) -> str:
    # Comparing with every name for every mistake would make a large broken flow quadratic.
    names = list(nodes) if len(nodes) <= MOST_NODES_FOR_SUGGESTIONS else []
    close = get_close_matches(edge.target, names, n=1)
    return f"did you mean {close[0]!r}?" if close else "add such a node, or lead to one there is"


def _check_cycles(inspection: Inspection) -> None:
    flow = inspection.flow
    for circle in plain_cycles(flow):
        node = flow.nodes[circle[0]]
        message = (
            f"these nodes follow each other for ever: {_drawn(circle)}; a loop needs somebody who decides about it: "
            "a `route`, `check` or `approval` in it, or a script that chooses by `_next`"
        )
        place = next(edge.place for edge in edges_of(node) if edge.plain and edge.target == circle[1])
        inspection.error(node, place, code="illegal_cycle", message=message)


def _drawn(circle: list[NodeId]) -> str:
    if len(circle) <= LONGEST_CYCLE_SHOWN:
        return " → ".join(circle)
    half = LONGEST_CYCLE_SHOWN // 2
    left_out = f"… {len(circle) - 2 * half:,} more …"
    return " → ".join([*circle[:half], left_out, *circle[-half:]])


def _check_reach(inspection: Inspection) -> None:
    flow = inspection.flow
    reached = reachable(flow)
    _warn_unreached(inspection, [node for node in flow.nodes.values() if node.id not in reached], reached)
    ends = [node.id for node in flow.nodes.values() if isinstance(node, EndNode)]
    if not ends and all(type(node) is not Node for node in flow.nodes.values()):
        message = "no node has `type: end`, so the flow can never be over; add one"
        inspection.error(None, ("nodes",), code="no_end", message=message)
    elif ends and not any(end in reached for end in ends):
        message = f"no declared edge leads to an end ({name_some(ends)}); fine if a script's `_next` does, else add one"
        inspection.warn(None, ("nodes",), code="end_unreachable", message=message)


def _warn_unreached(inspection: Inspection, nodes: list[Node], reached: Collection[NodeId]) -> None:
    """One line where scripts could lead to these nodes by `_next`; a line for each where nothing can."""
    known = inspection.flow.nodes
    scripted = any(isinstance(known[node], ScriptNode) for node in reached)
    if scripted and len(nodes) > 1:
        message = (
            f"no declared edge leads from the start to {len(nodes)} nodes ({name_some([node.id for node in nodes])}); "
            "correct if a script chooses them by `_next`, else remove them"
        )
        inspection.warn(None, ("nodes", nodes[0].id), code="unreachable", message=message)
        return
    for node in nodes:
        advice = "correct if a script chooses it by `_next`, else remove it" if scripted else "remove it"
        inspection.warn(node, (), code="unreachable", message=f"no declared edge leads here from the start; {advice}")


def _check_statuses(inspection: Inspection) -> None:
    """One line about the ends that do not state how the flow ended and are not done by their names or outputs."""
    ends = [node for node in inspection.flow.nodes.values() if isinstance(node, EndNode) and node.status is None]
    derived = {node.id: find_status(node) for node in ends if find_status(node) is not WalkEnd.DONE}
    if derived:
        told = name_some([f"{name} ({status})" for name, status in derived.items()])
        message = (
            f"ends without a `status:` have the one that their id or the first word of their output says: {told}; "
            "write `status:` into them to state it, or to choose another"
        )
        inspection.warn(None, ("nodes", next(iter(derived))), code="derived_status", message=message)


def _check_dead_ends(inspection: Inspection) -> None:
    nodes = inspection.flow.nodes
    branches = {node.branch for node in nodes.values() if isinstance(node, MapNode)}
    for node in nodes.values():
        if isinstance(node, _NEEDS_NEXT) and not node.next and node.id not in branches:
            message = "there is no `next`, so the flow fails after it; name the node that follows"
            inspection.warn(node, (), code="dead_end", message=message)


def _check_landing(inspection: Inspection) -> None:
    """A flow for steps begins with their workspace, and no declared way leads around `land` to an end that is done."""
    flow = inspection.flow
    if not is_for_steps(flow):
        return
    start = flow.nodes.get(flow.start)
    if start is not None and not isinstance(start, WorkspaceNode):
        message = f"a flow with `land` begins with a `workspace`; its start {flow.start!r} is another kind of node"
        inspection.error(start, (), code="no_workspace", message=message)
    cut = {name: node for name, node in flow.nodes.items() if not isinstance(node, LandNode)}
    for name in reachable(replace(flow, nodes=cut)):
        node = cut[name]
        if isinstance(node, EndNode) and find_status(node) is WalkEnd.DONE:
            message = "a way leads here that passes no `land` node; the step would be done without its work"
            inspection.error(node, (), code="unlanded_end", message=message)


def _check_run_flow(inspection: Inspection) -> None:
    """A flow that runs walk themselves lands nothing, and has a workspace before something acts in it."""
    flow = inspection.flow
    if not is_for_runs(flow):
        return
    for node in flow.nodes.values():
        if isinstance(node, LandNode):
            message = "a walk of the run itself lands nothing; only steps do. Remove this node"
            inspection.error(node, (), code="land_in_run_flow", message=message)
    cut = {name: node for name, node in flow.nodes.items() if not isinstance(node, WorkspaceNode)}
    for name in reachable(replace(flow, nodes=cut)):
        if isinstance(cut[name], ScriptNode | CheckNode | AgentNode):
            message = "a way leads here that passes no `workspace` node, so that there is no folder to act in; add one"
            inspection.error(cut[name], (), code="no_workspace", message=message)


RULES: tuple[Callable[[Inspection], None], ...] = (
    _check_targets,
    _check_cycles,
    _check_reach,
    _check_statuses,
    _check_dead_ends,
    check_nodes,
    check_skills,
    check_limits,
    check_maps,
    check_fan_outs,
    _check_landing,
    _check_run_flow,
)
"""The order in which problems are told: the graph, the nodes, then what happens at the same time."""
