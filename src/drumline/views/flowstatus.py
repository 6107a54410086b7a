"""`drumline status --json` of a run that walks a flow, and what it leaves its user with. Keys are only added."""

from __future__ import annotations

from shlex import quote

from drumline.core.flow.state import Key
from drumline.core.login import find_login
from drumline.views.causes import name_some
from drumline.views.cells import flatten
from drumline.views.cost import describe_usage, usage_json
from drumline.views.duration import duration
from drumline.views.flowplaces import Rest, describe_node, is_lost, list_held, list_maps, list_rests
from drumline.views.flowsnapshot import FlowSnapshot, Trace
from drumline.views.flowvisits import visit_name
from drumline.views.gates import answer_command, gate_json, retry_command
from drumline.views.states import elapsed, run_state

SCHEMA_VERSION = 1
LONGEST = 400


def flow_status_json(snapshot: FlowSnapshot) -> dict[str, object]:
    """The run, what is at work in it, its open gates, and how it ended."""
    run, pinned, end = snapshot.run, snapshot.pinned, snapshot.end
    root = snapshot.root
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.id,
        "state": run_state(snapshot),
        "reason": flow_reason(snapshot) or None,
        "flow": pinned.flow,
        "path": run.begun.plan,
        "status": end.status if end else "cancelled" if run_state(snapshot) == "cancelled" else None,
        "end": end.node or None if end else None,
        "output": end.output if end else None,
        "folder": pinned.folder,
        "branch": run.begun.branch or None,
        "agent": pinned.agent or None,
        "model": pinned.model or None,
        "started_at": snapshot.started_at,
        "seconds": round(elapsed(snapshot), 3),
        "drivers": list(snapshot.live),
        "at_work": [_work_json(snapshot, key, since) for key, since in snapshot.began.items()],
        "maps": [
            {"visit": found.name, "done": found.done, "running": found.running, "total": found.total}
            for found in list_maps(snapshot)
        ],
        "resting": [
            {"visit": visit_name(rest.key), "until": rest.until, "reason": rest.reason or None}
            for rest in list_rests(snapshot)
        ],
        "parked_until": run.parked_until if run.parked else None,
        "held": [{"visit": visit_name(held.key), "waits_for": list(held.others)} for held in list_held(snapshot)],
        "gates": [gate_json(snapshot, gate) for gate in run.open_gates],
        "visits": dict(root.visits) if root else {},
        "ended": len(snapshot.walked),
        "usage": usage_json(snapshot.usage),
        "unchanged": list_unchanged(snapshot),
        "recent": [trace_json(trace) for trace in snapshot.recent],
        "problem": snapshot.problem or None,
    }


def trace_json(trace: Trace) -> dict[str, object]:
    """A visit for programs; what it wrote is listed by key."""
    return {
        "visit": visit_name(trace.key),
        "node": trace.key.node,
        "scope": trace.key.scope,
        "number": trace.key.visit,
        "began": trace.began,
        "ended": trace.ended,
        "next": list(trace.next),
        "failure": trace.failure or None,
        "fell_back": trace.fell_back or None,
        "unchanged": trace.unchanged,
        "wrote": list(trace.wrote),
        "lost": trace.lost,
    }


def flow_reason(snapshot: FlowSnapshot) -> str:
    """Why the run is not running, or why it ended; empty if it runs or is done."""
    run = snapshot.run
    if run.ended is not None:
        return run.ended.reason
    match run_state(snapshot):
        case "parked":
            return " or ".join(_list_waits(snapshot))
        case "interrupted":
            return "no driver is running"
        case _:
            return ""


def _list_waits(snapshot: FlowSnapshot) -> list[str]:
    """What a parked run waits for: people, and the first time that comes by itself."""
    waits = [f"waiting for an answer to {name_some(snapshot.run.unanswered)}"] if snapshot.run.unanswered else []
    return [*waits, *(tell_rest(snapshot, rest) for rest in list_rests(snapshot)[:1])] or ["waiting to be resumed"]


def tell_rest(snapshot: FlowSnapshot, rest: Rest) -> str:
    """What a visit waits for that goes on at a time, in words."""
    left = rest.until - snapshot.now
    when = f"goes on in {duration(left)}" if left > 0 else "can go on now"
    return f"{visit_name(rest.key)} {when}: {flatten(rest.reason, LONGEST)}"


def list_unchanged(snapshot: FlowSnapshot) -> list[str]:
    """The visits whose agents called themselves done and had changed no file, by name."""
    return [visit_name(key) for key in snapshot.walked if snapshot.traces[key].unchanged]


def flow_summary_lines(snapshot: FlowSnapshot) -> list[str]:
    """What is said at the end: how the run is and why, what it took, and what to type next."""
    state, end = run_state(snapshot), snapshot.end
    where = f" at {end.node}" if end and end.node else ""
    status = f" ({end.status})" if end and end.status != state else ""
    reason = flow_reason(snapshot)
    why = f": {flatten(reason)}" if reason and reason != (end.status if end else "") else ""
    count = snapshot.visits
    visits = "1 visit" if count == 1 else f"{count:,} visits"
    took = [visits, duration(elapsed(snapshot)), *([describe_usage(snapshot.usage)] if snapshot.usage else [])]
    lines = [f"run {snapshot.run.id} {state}{status}{where}{why}", f"  {', '.join(took)}"]
    if unchanged := list_unchanged(snapshot):
        lines.append(f"  changed no file: {name_some(unchanged)}")
    if snapshot.run.begun.branch and state == "done":
        lines.append(f"  branch {snapshot.run.begun.branch}")
    return [*lines, *(f"  next: {command}" for command in _list_next(snapshot, state))]


def _list_next(snapshot: FlowSnapshot, state: str) -> list[str]:
    run = snapshot.run
    logs = f"drumline logs --run {run.id}"
    match state:
        case "parked" if run.open_gates:
            return [answer_command(gate.opened, driven=False) for gate in run.open_gates[:3]]
        case "parked" if (rests := list_rests(snapshot)) and rests[0].until > snapshot.now:
            return [retry_command(visit_name(rests[0].key)), logs]
        case "parked" | "interrupted" | "cancelled":
            return [f"drumline resume {run.id}", logs]
        case "blocked" if snapshot.end is None:
            return [resume_after_login(snapshot), logs]
        case "running":
            return [f"drumline attach {run.id}"]
        case _:
            return [begin, logs] if (begin := begin_after_login(snapshot)) else [logs]


def resume_after_login(snapshot: FlowSnapshot) -> str:
    """The command that resumes a blocked flow, after the login that it is blocked for."""
    login = find_login(flow_reason(snapshot))
    return f"{login} && drumline resume {snapshot.run.id}" if login else f"drumline resume {snapshot.run.id}"


def begin_after_login(snapshot: FlowSnapshot) -> str:
    """The command that begins a flow again which failed for want of a login; empty where that is not why."""
    login = find_login(flow_reason(snapshot))
    return f"{login} && drumline flow run {quote(snapshot.run.begun.plan)}" if login else ""


def _work_json(snapshot: FlowSnapshot, key: Key, since: float) -> dict[str, object]:
    return {
        "visit": visit_name(key),
        "node": key.node,
        "scope": key.scope,
        "number": key.visit,
        "doing": describe_node(snapshot, key) or None,
        "since": since,
        "seconds": round(max(0.0, snapshot.now - since), 3),
        "lost": is_lost(snapshot, key),
    }
