"""The places of a walk: the names people type (`implement`, `implement#2`, `coder#1/implement`, `each#1[3]/one`), and
how each is: at work, asking, waiting for others, over, lost, or never reached.

Board, status and `why` all ask here, so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator

from drumline.core.flow.model import ASKING, AgentNode, CheckNode, LlmNode, MapNode, Node, NodeId, ScriptNode
from drumline.core.flow.questions import find_question_id, question_id
from drumline.core.flow.scopes import call_scope, parent_scope, split_item
from drumline.core.flow.state import FlowState, Key, MapProgress
from drumline.core.ids import GateId, StepId
from drumline.core.plaintext import name_some
from drumline.core.plan import RUN_WALKS
from drumline.core.state import RunState
from drumline.core.vocabulary import RunStanding
from drumline.errors import InvalidInput
from drumline.record import Record
from drumline.views.cells import flatten
from drumline.views.snapshot import Walk
from drumline.views.states import run_state

NEVER = 0
"""The visit of a place nobody has come to."""


def visit_name(key: Key) -> str:
    """What people call a visit; the first has no number."""
    return str(question_id(key))


def find_flow_of(walk: Walk, key: Key) -> FlowState | None:
    """The flow in which a visit happens, if it is being walked."""
    scope = key.scope if key.scope in walk.flows else parent_scope(key.scope)
    return walk.flows.get(scope)


def split_place(run: RunState, name: str) -> tuple[StepId, str] | None:
    """The step and the place in its walk that a name means; None if there is no such step.

    `step-3/implement#2` is a place of step-3. Where a plan is one step that walks a flow, its name can be left out.
    `@final` is the walk of the run after its last step.
    """
    own, _, inner = name.partition("/")
    if StepId(own) in RUN_WALKS:
        return StepId(own), inner
    plan = run.plan
    alone = plan.steps[0] if len(plan.steps) == 1 and run.names_flow(plan.steps[0].id) else None
    if alone is not None:
        return alone.id, "" if name == alone.id else name.removeprefix(f"{alone.id}/")
    if StepId(name) in plan.by_id:
        return StepId(name), ""
    step, _, place = name.partition("/")
    found = plan.by_id.get(StepId(step))
    return (found.id, place) if found is not None and run.names_flow(found.id) and place else None


def find_place(walk: Walk, name: str) -> Key:
    """The visit that a name means, the last if it names a node; InvalidInput if there is nothing of that name.

    A whole name comes before a node of the same id in a called flow, and a place where somebody was before others.
    """
    best: Key | None = None
    rank = (-1, False)
    for key in _list_places(walk):
        found = _match(key, name)
        if found is None:
            continue
        score = (found[0], found[1].visit != NEVER)
        if score >= rank:
            best, rank = found[1], score
    if best is None:
        raise _refuse(walk, name)
    return best


def find_visits(walk: Walk, name: str = "") -> list[Key]:
    """The visits a name covers, in the order they began: with those of the flows and items inside them."""
    keys = list(walk.traces)
    if not name:
        return keys
    found = [key for key in keys if name in _list_names(key)]
    if not found:
        find_place(walk, name)
    return found


def list_path(walk: Walk) -> Iterator[str]:
    """The way through the flow itself, newest first; the items of a map count as the map."""
    before = ""
    for key in reversed(walk.walked):
        item = split_item(key.scope)
        if parent_scope(key.scope) or (key.scope and item is None):
            continue
        name = item[0].removesuffix("#1") if item else visit_name(key)
        if name != before:
            yield name
        before = name


def _list_places(walk: Walk) -> Iterator[Key]:
    """Every node of every flow at hand with its last visit, then the visits of flows that are over."""
    for scope, state in walk.flows.items():
        branches = {node.branch for node in state.chart.nodes.values() if isinstance(node, MapNode)}
        for node in state.chart.nodes:
            count = state.visits.get(node, NEVER)
            if count or node not in branches:
                yield Key(scope, node, count)
    latest = {(key.scope, key.node): key for key in walk.traces}
    for key in latest.values():
        if key.scope not in walk.flows:
            yield key
    for scope, state in walk.flows.items():
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


def _refuse(walk: Walk, name: str) -> InvalidInput:
    root = walk.root
    nodes: list[NodeId] = list(root.chart.nodes) if root else [key.node for key in walk.traces]
    known = name_some(dict.fromkeys(nodes)) or "none yet"
    return InvalidInput(
        f"the flow of run {walk.run.id} has no node or visit {name!r} (nodes: {known})", hint="drumline status"
    )


# --- how a place is ----------------------------------------------------------------------------------------------


class MapFigures(Record):
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


class Timer(Record):
    """A visit whose agent goes on at a time, and why it waits."""

    key: Key
    until: float
    reason: str


def list_maps(walk: Walk) -> list[MapFigures]:
    """The maps at work in all flows."""
    return [
        measure_map(scope, map_progress) for state in walk.flows.values() for scope, map_progress in state.maps.items()
    ]


def measure_map(scope: str, map_progress: MapProgress) -> MapFigures:
    """How far a map is."""
    return MapFigures(
        scope=scope, done=len(map_progress.results), running=len(map_progress.running), total=len(map_progress.items)
    )


def list_held(walk: Walk) -> list[Held]:
    """The nodes that wait for other branches, each with those it waits for."""
    return [
        Held(key=Key(scope, node, state.visits.get(node, 0) + 1), others=find_others(state, node))
        for scope, state in walk.flows.items()
        if state.ended is None
        for node in state.held
    ]


def list_due(walk: Walk) -> list[Key]:
    """The visits that may begin but have not, and that nobody has to answer."""
    return [
        Key(scope, node, state.visits[node])
        for scope, state in walk.flows.items()
        if state.ended is None
        for node in state.waiting
        if not isinstance(state.chart.nodes[node], ASKING) and not is_held(state, Key(scope, node, state.visits[node]))
    ]


def list_timers(walk: Walk) -> list[Timer]:
    """The visits whose agents wait for a time, the first to go on first."""
    found = [
        Timer(key=key, until=attempts.until, reason=attempts.cut_short)
        for state in walk.flows.values()
        if state.ended is None
        for key, attempts in state.visit_attempts.items()
        if attempts.until is not None
    ]
    return sorted(found, key=lambda timer: timer.until)


def is_held(state: FlowState, key: Key) -> bool:
    """Whether the agent of a visit waits for an answer or a time."""
    return key in state.visit_attempts and state.visit_attempts[key].is_held


def find_others(state: FlowState, node: NodeId) -> tuple[NodeId, ...]:
    """The nodes of the round at work that a held node waits for."""
    sources = state.chart.find_sources(node)
    return tuple(name for name in list_round(state) if name in sources)


def list_round(state: FlowState) -> list[NodeId]:
    """The nodes of a flow's round that are not over: at work, waiting, and maps; then those held back."""
    maps = [map_progress.node.id for map_progress in state.maps.values()]
    return [*state.running, *state.waiting, *maps, *state.held]


def find_gate(walk: Walk, key: Key) -> GateId | None:
    """The open gate at which a visit waits."""
    state = find_flow_of(walk, key)
    gate = question_id(key) if state is None else find_question_id(state, key)
    return gate if gate in walk.run.unanswered else None


def find_callee(walk: Walk, key: Key) -> FlowState | None:
    """The flow that a visit has called and waits for."""
    return walk.flows.get(call_scope(*key))


def is_driven(walk: Walk) -> bool:
    """Whether what was started is at work; without a driver it is lost."""
    return run_state(walk) == RunStanding.RUNNING


def is_lost(walk: Walk, key: Key) -> bool:
    """Whether a visit that was begun has to be begun again; one that called a flow goes on waiting for it."""
    return not is_driven(walk) and find_callee(walk, key) is None


def describe_node(walk: Walk, key: Key) -> str:
    """What a visit does, in a few words."""
    called = find_callee(walk, key)
    if called is not None:
        return f"calls flow {flatten(called.chart.flow.name)}"
    state = find_flow_of(walk, key)
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
