"""Where a walk stands, round by round: `fold.py` computes it from its events.

A round is the set of nodes that run at the same time. They all see the values as they were when it began; when the
last has ended, their writes are merged and their targets become the next round. Folding never fails because of what a
flow says: it records why the walk cannot go on, and the next command ends it. Values are never copied as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from drumline.core.flow import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.merging import Result
from drumline.core.flow.model import Json, MapNode, NodeId
from drumline.core.flow.scopes import item_scope, split_item
from drumline.core.flow.values import overlay
from drumline.core.flow.visitattempts import VisitAttempts
from drumline.errors import NotAllowed
from drumline.record import State, field


class Key(NamedTuple):
    """What an act in a walk is known by."""

    scope: str
    node: NodeId
    visit: int


class Visited(Protocol):
    """What names a visit: its key, and every event of it."""

    @property
    def scope(self) -> str: ...
    @property
    def node(self) -> NodeId: ...
    @property
    def visit(self) -> int: ...


class MapProgress(State):
    """A map at work: which items wait, run, and what came of the others."""

    node: MapNode
    visit: int
    items: Sequence[Json]
    waiting: dict[int, None]
    running: dict[int, None] = field(default_factory=dict)
    results: dict[int, Json] = field(default_factory=dict)


class FlowState(State):
    """Everything the events of one flow say; `walk.py` reads it, only `fold_flow` changes it.

    `visit_attempts` has the visits of agents that are not over, `metered` what visits at work have used so far,
    `sessions` those that a node's last visit left.
    """

    chart: Chart
    scope: str = ""
    started: ev.FlowStarted | None = None
    values: dict[str, Json] = field(default_factory=dict)
    visits: dict[NodeId, int] = field(default_factory=dict)
    waiting: dict[NodeId, None] = field(default_factory=dict)
    running: dict[NodeId, None] = field(default_factory=dict)
    maps: dict[str, MapProgress] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    held: tuple[NodeId, ...] = ()
    end: NodeId | None = None
    failures: dict[str, str] = field(default_factory=dict)
    broken: str = ""
    login: str = ""
    spent: float = 0.0
    usage: dict[str, float] = field(default_factory=dict)
    ended: ev.FlowEnded | None = None
    visit_attempts: dict[Key, VisitAttempts] = field(default_factory=dict)
    metered: dict[Key, Mapping[str, float]] = field(default_factory=dict)
    sessions: dict[NodeId, ev.SessionKept] = field(default_factory=dict)

    @property
    def acting(self) -> list[Key]:
        """The visits that were started and have not ended."""
        found = [Key(self.scope, node, self.visits[node]) for node in self.running]
        for scope, map_progress in self.maps.items():
            found.extend(Key(item_scope(scope, index), map_progress.node.branch, 1) for index in map_progress.running)
        return found

    @property
    def limit(self) -> float | None:
        """How much working time the walk may take: its own limit or its caller's, whichever is shorter."""
        own = self.chart.flow.settings.timeout
        given = self.started.timeout if self.started else None
        if own is None or given is None:
            return given if own is None else own
        return min(own, given)

    @property
    def reason(self) -> str:
        """Which nodes failed, and why; empty if none did."""
        return "; ".join(f"node '{node}': {why}" for node, why in sorted(self.failures.items()))

    def find_item(self, scope: str) -> tuple[MapProgress, int]:
        """The map and the index that an item's scope names; NotAllowed if that map is not at work."""
        place = split_item(scope)
        if place is None or place[0] not in self.maps:
            raise NotAllowed(f"nothing is at work in {scope!r} of flow {self.chart.flow.name!r}", hint="drumline logs")
        return self.maps[place[0]], place[1]

    def check_due(self, key: Visited) -> None:
        """NotAllowed unless this visit waits or is at work: an outcome that comes twice must not count twice."""
        if key.scope == self.scope:
            due = self.visits.get(key.node) == key.visit and (key.node in self.running or key.node in self.waiting)
        else:
            map_progress, index = self.find_item(key.scope)
            due = index in map_progress.running or index in map_progress.waiting
        if not due:
            raise NotAllowed(
                f"visit {key.visit} of node {key.node!r} in {key.scope!r} is not due in flow {self.chart.flow.name!r}",
                hint="drumline logs",
            )

    def view(self, key: Key) -> Mapping[str, Json]:
        """The values as a visit sees them, to be read only."""
        if key.scope == self.scope:
            return self.values
        map_progress, index = self.find_item(key.scope)
        return overlay({map_progress.node.item: map_progress.items[index]}, self.values)
