"""What can happen in a flow: the events of one walk, keyed by scope, node and visit.

A flow's own scope is "" at the top, or that of the node it was called from; the items of a map have a scope each
(`scopes.py`). Events carry deltas. What each means for recovery:

- `FlowStarted`   the walk stands before its first node; nothing has to be made again.
- `NodeStarted`   intent, recorded before a node acts. Left open by a dead driver, it is closed by `NodeLost`. Nodes
                  that only compute (`set`, `route`, a map as a whole) have none: folding works them out again.
- `NodeEnded`     the node is over for good and is never repeated. Its writes count when the whole round is over, so
                  that a fan-out resumes with only its unfinished branches and they see what they would have seen.
- `NodeLost`      the same visit is due again; it costs no visit. The session that its agent had is not gone on with.
                  It is also recorded where a step is given back before the visit is over.
- `NodeBlocked`   this machine could not do what the node asks for, or no agent could go on. The same visit is due again
                  when the run is resumed; it costs no visit.
- `NodeUsed`      what models have used in a visit that acts; spent, should the visit be lost.
- `SessionKept`   a visit of an agent left a session that a later one continues with; recorded with `NodeEnded`.
- `FlowEnded`     nothing is due any more.

What agents do in a visit is recorded as at every step (`core/stepevents.py`): `AttemptStarted` before one acts, and
`AttemptEnded` when it concluded. Where that `waits`, the agent asked a person or cannot go on: the same visit is due
again, at once, at a time, or when there is an answer; it costs no visit, and another agent may act in it.

Everything else (which nodes are due, joins, merged values, collected items) follows from these by folding.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.event import Event
from drumline.core.flow.model import Json, NodeId
from drumline.core.ids import NO_DRIVER, DriverId
from drumline.core.vocabulary import WalkEnd
from drumline.record import field

PROTOCOL = 1
NO_NODE = NodeId("")


class FlowStarted(Event):
    """A walk began. The flow is pinned by its digest; `values` is what the caller adds to its initial state.

    `timeout` is how much working time the caller leaves it, beside the flow's own limit.
    """

    flow: str
    digest: str = ""
    path: str = ""
    scope: str = ""
    values: Mapping[str, Json] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)
    timeout: float | None = None
    protocol: int = PROTOCOL


class NodeStarted(Event):
    """Intent: this visit of the node acts from here on."""

    node: NodeId
    visit: int
    scope: str = ""


class NodeEnded(Event):
    """A visit is over: what it wrote and where it leads, or why it failed.

    `output` is what a map collects from an item, or the answer or verdict that chose the way. `fell_back` says why the
    node went to its fallback instead of where it would have led. `spent` is the working time since the event before,
    which is what time budgets count: waiting for a person is not in it. `usage` is what models and agents counted,
    `notices` what was remarkable about the agent, `unchanged` that it called itself done and no file had
    changed. `login` is what to type if the agent of one that failed is not logged in.
    """

    node: NodeId
    visit: int
    scope: str = ""
    writes: Mapping[str, Json] = field(default_factory=dict)
    next: tuple[NodeId, ...] = ()
    output: Json = None
    failure: str = ""
    fell_back: str = ""
    spent: float = 0.0
    usage: Mapping[str, int | float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    unchanged: bool = False
    login: str = ""


class NodeLost(Event):
    """Recovery closed a visit that a dead driver had left open. With `waits` its step was given back in it."""

    node: NodeId
    visit: int
    scope: str = ""
    driver: DriverId = NO_DRIVER
    spent: float = 0.0
    waits: bool = False


class NodeBlocked(Event):
    """A visit could not be done on this machine, or by no agent: the class of the failure, and why."""

    node: NodeId
    visit: int
    scope: str = ""
    failure: str = ""
    reason: str = ""
    spent: float = 0.0
    usage: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


class NodeUsed(Event):
    """What models have used so far in the visit under way, all of it."""

    node: NodeId
    visit: int
    usage: Mapping[str, int | float]
    scope: str = ""


class SessionKept(Event):
    """The session in which an agent ended its visit, for a node that continues with it."""

    node: NodeId
    visit: int
    session: str
    scope: str = ""
    agent: str = ""


class FlowEnded(Event):
    """The walk is over, with the output of the end it came to.

    `failed` are the nodes whose failures are the `reason` that it came to none, `login` what to type if one of them
    failed because its agent is not logged in.
    """

    status: WalkEnd
    scope: str = ""
    node: NodeId = NO_NODE
    output: str = ""
    reason: str = ""
    writes: Mapping[str, Json] = field(default_factory=dict)
    failed: tuple[str, ...] = ()
    login: str = ""
