"""How one place of a walk is: at work, asking, waiting for others, over, lost, or never reached, and since when.

Board, status and `why` all ask here, so that they cannot disagree.
"""

from __future__ import annotations

from drumline.core.flow.model import ASKING, AgentNode, CheckNode, LlmNode, Node, NodeId, ScriptNode
from drumline.core.flow.questions import find_question_id, question_id
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import FlowState, Gathering, Key
from drumline.core.ids import GateId
from drumline.record import Record
from drumline.views.cells import flatten
from drumline.views.flowsnapshot import FlowSnapshot
from drumline.views.flowvisits import find_flow_of
from drumline.views.states import run_state


class MapProgress(Record):
    """A map at work: how many of its items are over."""

    scope: str
    done: int
    running: int
    total: int

    @property
    def name(self) -> str:
        """What people call this visit of the map."""
        return self.scope.removesuffix("#1")


class Held(Record):
    """A node that is due once the others of its round are over."""

    key: Key
    others: tuple[NodeId, ...]


class Rest(Record):
    """A visit whose agent goes on at a time, and why it waits."""

    key: Key
    until: float
    reason: str


def list_maps(snapshot: FlowSnapshot) -> list[MapProgress]:
    """The maps at work in all flows."""
    return [
        measure_map(scope, gathering) for state in snapshot.flows.values() for scope, gathering in state.maps.items()
    ]


def measure_map(scope: str, gathering: Gathering) -> MapProgress:
    """How far a map is."""
    return MapProgress(
        scope=scope, done=len(gathering.results), running=len(gathering.running), total=len(gathering.items)
    )


def list_held(snapshot: FlowSnapshot) -> list[Held]:
    """The nodes that wait for other branches, each with those it waits for."""
    return [
        Held(key=Key(scope, node, state.visits.get(node, 0) + 1), others=find_others(state, node))
        for scope, state in snapshot.flows.items()
        if state.ended is None
        for node in state.held
    ]


def list_due(snapshot: FlowSnapshot) -> list[Key]:
    """The visits that may begin but have not, and that nobody has to answer."""
    return [
        Key(scope, node, state.visits[node])
        for scope, state in snapshot.flows.items()
        if state.ended is None
        for node in state.waiting
        if not isinstance(state.chart.nodes[node], ASKING) and not is_held(state, Key(scope, node, state.visits[node]))
    ]


def list_rests(snapshot: FlowSnapshot) -> list[Rest]:
    """The visits whose agents wait for a time, the first to go on first."""
    found = [
        Rest(key=key, until=relay.until, reason=relay.cut_short)
        for state in snapshot.flows.values()
        if state.ended is None
        for key, relay in state.relays.items()
        if relay.until is not None
    ]
    return sorted(found, key=lambda rest: rest.until)


def is_held(state: FlowState, key: Key) -> bool:
    """Whether the agent of a visit waits for an answer or a time."""
    return key in state.relays and state.relays[key].is_held


def find_others(state: FlowState, node: NodeId) -> tuple[NodeId, ...]:
    """The nodes of the round at work that a held node waits for."""
    sources = state.chart.find_sources(node)
    return tuple(name for name in list_round(state) if name in sources)


def list_round(state: FlowState) -> list[NodeId]:
    """The nodes of a flow's round that are not over: at work, waiting, and maps; then those held back."""
    maps = [gathering.node.id for gathering in state.maps.values()]
    return [*state.running, *state.waiting, *maps, *state.held]


def find_gate(snapshot: FlowSnapshot, key: Key) -> GateId | None:
    """The open gate at which a visit waits."""
    state = find_flow_of(snapshot, key)
    gate = question_id(key) if state is None else find_question_id(state, key)
    return gate if gate in snapshot.run.unanswered else None


def find_callee(snapshot: FlowSnapshot, key: Key) -> FlowState | None:
    """The flow that a visit has called and waits for."""
    return snapshot.flows.get(call_scope(*key))


def is_driven(snapshot: FlowSnapshot) -> bool:
    """Whether what was started is at work; without a driver it is lost."""
    return run_state(snapshot) == "running"


def is_lost(snapshot: FlowSnapshot, key: Key) -> bool:
    """Whether a visit that was begun has to be begun again; one that called a flow goes on waiting for it."""
    return not is_driven(snapshot) and find_callee(snapshot, key) is None


def describe_node(snapshot: FlowSnapshot, key: Key) -> str:
    """What a visit does, in a few words."""
    called = find_callee(snapshot, key)
    if called is not None:
        return f"calls flow {flatten(called.chart.flow.name)}"
    state = find_flow_of(snapshot, key)
    return describe_kind(state.chart.nodes[key.node]) if state else ""


def describe_kind(node: Node) -> str:
    """What kind of node it is, and who or what it needs."""
    match node:
        case AgentNode():
            return f"agent {flatten(node.agent)}"
        case ScriptNode():
            return f"script {flatten(node.script)}"
        case LlmNode():
            return f"model {flatten(node.model)}" if node.model else "model"
        case CheckNode():
            return f"check {flatten(', '.join(node.checks))}"
        case _:
            return type(node).__name__.removesuffix("Node").lower()
