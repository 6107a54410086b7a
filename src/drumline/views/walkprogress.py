"""A walk told as it happens. Values never go into a line: what a node wrote is listed by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from drumline.core.events import AttemptEnded, AttemptStarted, Event, StepFinished, StepStarted
from drumline.core.flow import events as fev
from drumline.core.flow.model import NodeId
from drumline.core.flow.state import Key
from drumline.core.plan import RUN_WALKS
from drumline.core.vocabulary import StepEnd
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.places import visit_name
from drumline.views.told import Told, tell_notices

LONGEST_REASON = 400
Visited = fev.NodeStarted | fev.NodeEnded | fev.NodeLost | fev.NodeBlocked | AttemptStarted | AttemptEnded


@dataclass(kw_only=True, slots=True)
class WalkScene:
    """Where an event of a walk happened: since when visits act, when it was recorded, whether the run is over.

    `lead` names the step, in a run that has more than the walk.
    """

    began: dict[Key, float]
    at: float
    over: bool
    lead: str


def tell_run_walk(event: StepStarted | StepFinished) -> Told:
    """That a walk of the run itself has begun, or how it ended. It is not a step: nothing counts it."""
    data: dict[str, object] = {"walk": event.step}
    if isinstance(event, StepStarted):
        text = f"{event.step} started: {RUN_WALKS[event.step].title}"
        return Told(event="walk_started", text=text, data={**data, "round": event.round})
    why = "" if event.state == StepEnd.DONE else f": {flatten(event.reason, LONGEST_REASON)} → drumline resume"
    data |= {"reason": event.reason, "checks": {"passed": event.checks_passed, "total": event.checks_total}}
    return Told(event=f"walk_{event.state}", text=f"{event.step} {event.state}{why}", data=data)


def _node_started(scene: WalkScene, event: fev.NodeStarted) -> Told:
    scene.began[_key(event)] = scene.at
    return _told(scene, "node_started", f"node {visit_name(_key(event))} started", **_where(event))


def _node_ended(scene: WalkScene, event: fev.NodeEnded) -> Told:
    began = scene.began.pop(_key(event), None)
    seconds = event.spent if began is None else scene.at - began
    name = visit_name(_key(event))
    took = f" ({duration(seconds)})" if seconds else ""
    data = {**_where(event), "seconds": round(seconds, 3), **_list(event.notices)}
    remarks = f"; {tell_notices(event.notices)}" if event.notices else ""
    if event.failure:
        reason = flatten(event.failure, LONGEST_REASON)
        return _told(scene, "node_failed", f"{name} failed: {reason}{took}{remarks}", **data, reason=event.failure)
    leads = f" → {', '.join(event.next)}" if event.next else ""
    text = f"{name} ended{leads}{took}"
    if event.fell_back:
        text = f"{name} fell back{leads}: {flatten(event.fell_back, LONGEST_REASON)}{took}"
        data["fell_back"] = event.fell_back
    return _told(scene, "node_ended", text + remarks, **data, next=list(event.next), wrote=list(event.writes))


def _node_lost(scene: WalkScene, event: fev.NodeLost) -> Told | None:
    """Other lines say what a visit waits for."""
    if event.waits:
        return None
    again = "" if scene.over else "; it is begun again and costs no visit"
    return _told(scene, "node_lost", f"{visit_name(_key(event))} was cut short with its driver{again}", **_where(event))


def _node_blocked(scene: WalkScene, event: fev.NodeBlocked) -> Told:
    remarks = f"; {tell_notices(event.notices)}" if event.notices else ""
    text = f"{visit_name(_key(event))} is blocked: {flatten(event.reason, LONGEST_REASON)}{remarks}"
    data = {**_where(event), "failure": event.failure, "reason": event.reason}
    return _told(scene, "node_blocked", text, **data, **_list(event.notices))


def _attempt_started(scene: WalkScene, event: AttemptStarted) -> Told | None:
    """Only what is not usual is worth a line."""
    if not event.by_visit:
        return None
    name = visit_name(_key(event))
    words = [f"{flatten(event.agent)} takes over at {name}"] if event.agent else []
    words += [f"{name} continues with session {flatten(event.session)}"] if event.session else []
    if not words:
        return None
    data = {**_where(event), "agent": event.agent or None, "session": event.session or None}
    return _told(scene, "agent_asked", "; ".join(words), **data)


def _attempt_ended(scene: WalkScene, event: AttemptEnded) -> Told | None:
    """The end of a visit tells what became of an attempt after which it is over."""
    if not event.waits:
        return None
    name = visit_name(_key(event))
    scene.began.pop(_key(event), None)
    data = {**_where(event), "failure": event.failure or None, "until": event.until, "message": event.message or None}
    timer = f"waits for {duration(event.until - scene.at)}" if event.until is not None else "is cut short"
    text = f"{name} {timer}: {flatten(event.message, LONGEST_REASON)}"
    if event.question:
        text = f"{name} waits: its agent asks a person"
    remarks = f"; {tell_notices(event.notices)}" if event.notices else ""
    return _told(scene, "node_suspended", text + remarks, **data, **_list(event.notices))


def _flow_started(scene: WalkScene, event: fev.FlowStarted) -> Told:
    name = flatten(event.flow)
    text = f"{event.scope} calls flow {name}" if event.scope else f"flow {name} started"
    return _told(scene, "flow_started", text, flow=event.flow, path=event.path, scope=event.scope)


def _flow_ended(scene: WalkScene, event: fev.FlowEnded) -> Told:
    who = f"flow of {event.scope}" if event.scope else "flow"
    where = f" at {event.node}" if event.node else ""
    told = not event.scope and bool(event.failed)  # as these nodes failed
    why = f": {flatten(event.reason, LONGEST_REASON)}" if event.reason and not told else ""
    data = {"scope": event.scope, "status": event.status, "node": event.node or None, "reason": event.reason or None}
    return _told(scene, "flow_ended", f"{who} {event.status}{where}{why}", **data, wrote=list(event.writes))


def _key(event: Visited) -> Key:
    return Key(event.scope, NodeId(event.node), event.visit)


def _where(event: Visited) -> dict[str, object]:
    return {"node": event.node, "scope": event.scope, "visit": event.visit, "name": visit_name(_key(event))}


def _list(notices: tuple[str, ...]) -> dict[str, object]:
    return {"notices": list(notices)} if notices else {}


def _told(scene: WalkScene, event: str, text: str, **data: object) -> Told:
    return Told(event=event, text=scene.lead + text, data=data)


WALKED: Mapping[type[Event], Callable[[WalkScene, Any], Told | None]] = MappingProxyType(
    {
        fev.FlowStarted: _flow_started,
        fev.NodeStarted: _node_started,
        fev.NodeEnded: _node_ended,
        AttemptStarted: _attempt_started,
        AttemptEnded: _attempt_ended,
        fev.NodeLost: _node_lost,
        fev.NodeBlocked: _node_blocked,
        fev.FlowEnded: _flow_ended,
    }
)
