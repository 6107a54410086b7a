"""A walk told as it happens, one line per thing worth telling, for people and as data. Values never go into a line:
what a node wrote is listed by key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from drumline.core import events as ev
from drumline.core.flow import events as fev
from drumline.core.flow.state import Key
from drumline.record import replace
from drumline.views.causes import name_some
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.flowvisits import visit_name
from drumline.views.gates import tell_gate
from drumline.views.progress import Line

LONGEST_REASON = 400
LONGEST_NOTICE = 200
MOST_NOTICES = 3
Visited = fev.NodeStarted | fev.NodeEnded | fev.NodeLost | fev.NodeBlocked | fev.AgentAsked | fev.NodeSuspended


@dataclass(kw_only=True, slots=True)
class FlowProgress:
    """Follows one walk; remembers only since when visits act, and whether it was cancelled."""

    _began: dict[Key, float] = field(default_factory=dict)
    _cancelled: bool = False

    def feed(self, events: Sequence[ev.Event], *, at: float | None = None) -> list[Line]:
        """The lines for events in order; `at` is when they were recorded, if the caller knows.

        Without it a visit took the working time its end records, which is less where several were at work.
        """
        self._cancelled |= any(isinstance(event, ev.CancelRequested) for event in events)
        ends = any(isinstance(event, ev.RunEnded | fev.FlowEnded) and not _scope(event) for event in events)
        over = ends or self._cancelled
        lines = [line for event in events if (line := self._tell(event, at)) is not None]
        return [_lose_for_good(line) if over and line.event == "node_lost" else line for line in lines]

    def _tell(self, event: ev.Event, at: float | None) -> Line | None:
        if isinstance(event, fev.NodeStarted) and at is not None:
            self._began[_key(event)] = at
        if isinstance(event, fev.NodeEnded):
            return _remark(_node_ended(event, self._measure(event, at)), event.notices)
        if isinstance(event, fev.NodeSuspended):
            self._began.pop(_key(event), None)
            return _remark(_node_suspended(event, at), event.notices)
        teller = _TELL.get(type(event))
        return teller(event) if teller else None

    def _measure(self, event: fev.NodeEnded, at: float | None) -> float:
        began = self._began.pop(_key(event), None)
        return event.spent if began is None or at is None else at - began


def _remark(line: Line, notices: Sequence[str]) -> Line:
    """The line with what was remarkable about the agent."""
    if not notices:
        return line
    told = "; ".join(flatten(notice, LONGEST_NOTICE) for notice in notices[:MOST_NOTICES])
    text = f"{line.text}; {told}"
    return replace(line, text=text, data={**line.data, "notices": list(notices), "text": text})


def _node_started(event: fev.NodeStarted) -> Line:
    return _line("node_started", f"node {visit_name(_key(event))} started", **_where(event))


def _node_ended(event: fev.NodeEnded, seconds: float) -> Line:
    name = visit_name(_key(event))
    took = f" ({duration(seconds)})" if seconds else ""
    data = {**_where(event), "seconds": round(seconds, 3)}
    if event.failure:
        reason = flatten(event.failure, LONGEST_REASON)
        return _line("node_failed", f"{name} failed: {reason}{took}", **data, reason=event.failure)
    leads = f" → {', '.join(event.next)}" if event.next else ""
    text = f"{name} ended{leads}{took}"
    if event.fell_back:
        text = f"{name} fell back{leads}: {flatten(event.fell_back, LONGEST_REASON)}{took}"
        data["fell_back"] = event.fell_back
    return _line("node_ended", text, **data, next=list(event.next), wrote=list(event.writes))


def _node_lost(event: fev.NodeLost) -> Line:
    text = f"{visit_name(_key(event))} was cut short with its driver; it is begun again and costs no visit"
    return _line("node_lost", text, **_where(event))


def _node_blocked(event: fev.NodeBlocked) -> Line:
    text = f"{visit_name(_key(event))} is blocked: {flatten(event.reason, LONGEST_REASON)}"
    return _line("node_blocked", text, **_where(event), failure=event.failure, reason=event.reason)


def _lose_for_good(line: Line) -> Line:
    """What is lost as its flow ends is not begun again."""
    return replace(line, text=line.text.partition(";")[0])


def _agent_asked(event: fev.AgentAsked) -> Line | None:
    """Only what is not usual is worth a line."""
    name = visit_name(_key(event))
    words = [f"{flatten(event.agent)} takes over at {name}"] if event.agent else []
    words += [f"{name} goes on with session {flatten(event.session)}"] if event.session else []
    if not words:
        return None
    data = {**_where(event), "agent": event.agent or None, "session": event.session or None}
    return _line("agent_asked", "; ".join(words), **data)


def _node_suspended(event: fev.NodeSuspended, at: float | None) -> Line:
    name = visit_name(_key(event))
    data = {**_where(event), "failure": event.failure or None, "until": event.until, "message": event.message or None}
    if event.question:
        return _line("node_suspended", f"{name} waits: its agent asks a person", **data)
    rest = f" waits for {duration(event.until - at)}" if event.until is not None and at is not None else " is cut short"
    return _line("node_suspended", f"{name}{rest}: {flatten(event.message, LONGEST_REASON)}", **data)


def _flow_started(event: fev.FlowStarted) -> Line:
    name = flatten(event.flow)
    text = f"{event.scope} calls flow {name}" if event.scope else f"flow {name} started"
    return _line("flow_started", text, flow=event.flow, path=event.path, scope=event.scope)


def _flow_ended(event: fev.FlowEnded) -> Line:
    who = f"flow of {event.scope}" if event.scope else "flow"
    where = f" at {event.node}" if event.node else ""
    told = not event.scope and event.reason.startswith("node '")  # as that node failed
    why = f": {flatten(event.reason, LONGEST_REASON)}" if event.reason and not told else ""
    data = {"scope": event.scope, "status": event.status, "node": event.node or None, "reason": event.reason or None}
    return _line("flow_ended", f"{who} {event.status}{where}{why}", **data, wrote=list(event.writes))


def _gate(event: ev.GateOpened) -> Line:
    text, data = tell_gate(event)
    return _line("gate", text, **data)


def _answered(event: ev.GateAnswered) -> Line:
    who = f" by {flatten(event.by)}" if event.by else ""
    comment = f": {flatten(event.comment)}" if event.comment else ""
    text = f"{event.gate} answered {flatten(event.choice, 80)!r}{who}{comment}"
    return _line("answered", text, gate=event.gate, choice=event.choice, comment=event.comment, by=event.by)


def _parked(event: ev.RunParked) -> Line:
    waits = [f"{name_some(event.gates)} is answered"] if event.gates else []
    waits += ["a quota resets"] if event.until is not None else []
    text = f"parked: nothing can go on until {' or '.join(waits)}"
    return _line("parked", text, gates=list(event.gates), until=event.until)


def _resumed(event: ev.RunResumed) -> Line:
    return _line("resumed", f"resumed by driver {event.driver}", driver=event.driver)


def _cancelled(event: ev.CancelRequested) -> Line:
    who = f" by {flatten(event.by)}" if event.by else ""
    why = f": {flatten(event.reason, LONGEST_REASON)}" if event.reason else ""
    return _line("cancelled", f"cancelled{who}{why}", by=event.by, reason=event.reason)


def _scope(event: ev.RunEnded | fev.FlowEnded) -> str:
    return event.scope if isinstance(event, fev.FlowEnded) else ""


def _key(event: Visited) -> Key:
    return Key(event.scope, event.node, event.visit)


def _where(event: Visited) -> dict[str, object]:
    return {"node": event.node, "scope": event.scope, "visit": event.visit, "name": visit_name(_key(event))}


def _line(event: str, text: str, **data: object) -> Line:
    return Line(event=event, text=text, data={"event": event, **data, "text": text})


_TELL: Mapping[type[ev.Event], Callable[[Any], Line | None]] = MappingProxyType(
    {
        fev.FlowStarted: _flow_started,
        fev.NodeStarted: _node_started,
        fev.NodeLost: _node_lost,
        fev.NodeBlocked: _node_blocked,
        fev.AgentAsked: _agent_asked,
        fev.FlowEnded: _flow_ended,
        ev.GateOpened: _gate,
        ev.GateAnswered: _answered,
        ev.RunParked: _parked,
        ev.RunResumed: _resumed,
        ev.CancelRequested: _cancelled,
    }
)
