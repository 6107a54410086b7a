"""`drumline status --json`: the contract that scripts read. Keys are only ever added.

A run of a flow is a run of one step: what its walk tells stands at the top as well.
"""

from __future__ import annotations

from drumline.core.acceptance import tell_red
from drumline.core.flow.state import Key
from drumline.core.ids import StepId
from drumline.core.plaintext import name_some
from drumline.core.plan import Step
from drumline.core.routing import name_agent, spell_agent
from drumline.core.vocabulary import RunStanding, StepEnd
from drumline.views.activity import activity, attempts, checks, fixes, lost
from drumline.views.attempts import list_notices
from drumline.views.causes import cause
from drumline.views.cells import flatten
from drumline.views.cost import usage_json
from drumline.views.duration import duration
from drumline.views.gates import gate_json
from drumline.views.mutants import mutants_json
from drumline.views.places import Timer, describe_node, is_lost, list_held, list_maps, list_timers, visit_name
from drumline.views.proofs import find_proof, proof_json
from drumline.views.snapshot import Snapshot, Trace, Walk
from drumline.views.states import EXIT_CODES, elapsed, run_state, step_state
from drumline.views.usage import sum_agents, sum_run, sum_step

__all__ = ["EXIT_CODES", "run_reason", "run_state", "status_json", "step_reason", "step_state"]

SCHEMA_VERSION = 1
LONGEST = 400


def status_json(snapshot: Snapshot) -> dict[str, object]:
    """The run, its steps in plan order, and its open gates."""
    run = snapshot.run
    begun = run.begun
    data: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "run": run.id,
        "state": run_state(snapshot),
        "reason": run_reason(snapshot) or None,
        "plan": begun.plan,
        "title": run.plan.title or begun.plan_name,
        "branch": begun.branch or None,
        "folder": run.folder or None,
        "mode": run.mode,
        "autonomy": begun.autonomy,
        "rigor": begun.rigor,
        "require": begun.require,
        "agent": begun.agent or None,
        "model": run.model or None,
        "started_at": snapshot.started_at,
        "seconds": round(elapsed(snapshot), 3),
        "drivers": list(snapshot.live),
        "parked_until": run.parked_until if run.parked else None,
        "fallback": list(begun.fallback),
        "budget_usd": begun.budget,
        "usage": usage_json(sum_run(snapshot)),
        "agents": {name: usage_json(usage) for name, usage in sum_agents(snapshot).items()},
        "steps": [_step_json(snapshot, step) for step in run.plan.steps],
        "run_walks": [_run_walk_json(snapshot, step) for step in run.list_own_walks()],
        "gates": [gate_json(snapshot, gate) for gate in run.open_gates],
        "problems": [
            {"code": p.code, "severity": p.severity.value, "where": p.where, "message": p.message}
            for p in snapshot.problems
        ],
    }
    return data if snapshot.flow_walk is None else data | walk_json(snapshot.flow_walk)


def walk_json(walk: Walk) -> dict[str, object]:
    """A walk for programs: what is at work in it, what waits, and how it ended."""
    end, root = walk.end, walk.root
    return {
        "flow": walk.run.flow_of(walk.run.define(walk.step)),
        "path": walk.run.begun.plan,
        "status": end.status if end else "cancelled" if run_state(walk) == RunStanding.CANCELLED else None,
        "end": end.node or None if end else None,
        "output": end.output if end else None,
        "at_work": [_work_json(walk, key, since) for key, since in walk.began.items()],
        "maps": [
            {"visit": found.name, "done": found.done, "running": found.running, "total": found.total}
            for found in list_maps(walk)
        ],
        "timers": [
            {"visit": visit_name(timer.key), "until": timer.until, "reason": timer.reason or None}
            for timer in list_timers(walk)
        ],
        "held": [{"visit": visit_name(held.key), "waits_for": list(held.others)} for held in list_held(walk)],
        "visits": dict(root.visits) if root else {},
        "ended": len(walk.walked),
        "unchanged": list_unchanged(walk),
        "recent": [trace_json(trace) for trace in walk.recent],
        "problem": walk.problem or None,
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


def run_reason(snapshot: Snapshot) -> str:
    """Why the run is not running, or why it ended; empty if it runs or is done."""
    run = snapshot.run
    if run.ended is not None:
        return run.ended.reason
    if run.parked:
        return _parked_for(snapshot)
    return "" if snapshot.live else "no driver is running"


def _parked_for(snapshot: Snapshot) -> str:
    run = snapshot.run
    if run.parked_for:
        return run.parked_for
    waits = [f"waiting for an answer to {name_some(run.unanswered)}"] if run.unanswered else []
    timers = list_timers(snapshot.flow_walk)[:1] if snapshot.flow_walk else []
    if timers:
        waits.append(tell_timer(timers[0], snapshot.now))
    elif run.parked_until is not None:
        left = run.parked_until - snapshot.now
        waits.append(f"waiting for a quota, {f'for another {duration(left)}' if left > 0 else 'which has reset'}")
    return "; ".join(waits) or "waiting to be resumed"


def tell_timer(timer: Timer, now: float) -> str:
    """What a visit waits for that goes on at a time, in words."""
    return f"{visit_name(timer.key)} {tell_wait(timer, now)}"


def tell_wait(timer: Timer, now: float) -> str:
    """When a visit goes on, and why it waits."""
    left = timer.until - now
    when = f"goes on in {duration(left)}" if left > 0 else "can go on now"
    return f"{when}: {flatten(timer.reason, LONGEST)}"


def list_unchanged(walk: Walk) -> list[str]:
    """The visits whose agents called themselves done and had changed no file, by name."""
    return [visit_name(key) for key in walk.walked if walk.traces[key].unchanged]


def step_reason(snapshot: Snapshot, step: StepId) -> str:
    """Why an unfinished step is not running, or why it ended; empty if it runs or is done and proved."""
    finished = snapshot.run.finished.get(step)
    if step in snapshot.owners and finished is None:
        return ""
    if finished is not None and (finished.is_proved or finished.state != StepEnd.DONE):
        return "; ".join(filter(None, (finished.reason, tell_red(snapshot.run, snapshot.run.define(step)))))
    return cause(snapshot, snapshot.run.define(step)).text


def _step_json(snapshot: Snapshot, step: Step) -> dict[str, object]:
    finished = snapshot.run.finished.get(step.id)
    passed, total = checks(snapshot, step)
    doing = activity(snapshot, step.id) if finished is None else None
    return {
        "id": step.id,
        "title": step.title,
        "state": step_state(snapshot, step.id),
        "attempts": attempts(snapshot, step.id),
        "fixes": fixes(snapshot, step.id),
        "lost": lost(snapshot, step.id),
        "owner": snapshot.owners.get(step.id) if finished is None else None,
        "commit": finished.commit if finished else None,
        "landed_by": finished.landed_by or None if finished else None,
        "reason": step_reason(snapshot, step.id) or None,
        "proved": bool(finished and finished.is_proved),
        "proof": proof_json(find_proof(snapshot.run, step.id)),
        "declared": step.id in snapshot.run.declared,
        "checks": {"passed": passed, "total": total},
        "files": list(finished.files) if finished else [],
        "manual": list(step.manual),
        "agent": _agent(snapshot, step),
        "until": _until(snapshot, step),
        "usage": usage_json(sum_step(snapshot, step.id)),
        "node": doing.node if doing else None,
        "doing": doing.text if doing else None,
        "mutants": mutants_json(finished.mutants) if finished and finished.mutants.tried else None,
        "notices": list(list_notices(snapshot.run, step.id, snapshot.steps.get(step.id))),
        "walk": walk_json(snapshot.walks[step.id]) if step.id in snapshot.walks else None,
    }


def _run_walk_json(snapshot: Snapshot, step: Step) -> dict[str, object]:
    """A walk of the run itself: of a step, what it has too."""
    told = _step_json(snapshot, step)
    kept = ("id", "title", "state", "owner", "reason", "checks", "until", "usage", "node", "doing", "notices", "walk")
    return {key: told[key] for key in kept}


def _agent(snapshot: Snapshot, step: Step) -> str:
    """Who works on the step or did so last, as far as its stream was read; else who would be asked first."""
    state = snapshot.steps.get(step.id)
    name = (
        state.agent if state is not None and state.asked is not None else name_agent(step, snapshot.run.begun.profiles)
    )
    return spell_agent(snapshot.run, name)


def _until(snapshot: Snapshot, step: Step) -> float | None:
    deferred = snapshot.run.deferred.get(step.id)
    until = deferred.until if deferred is not None else None
    return until if until is not None and until > snapshot.now else None


def _work_json(walk: Walk, key: Key, since: float) -> dict[str, object]:
    return {
        "visit": visit_name(key),
        "node": key.node,
        "scope": key.scope,
        "number": key.visit,
        "doing": describe_node(walk, key) or None,
        "since": since,
        "seconds": round(max(0.0, walk.now - since), 3),
        "lost": is_lost(walk, key),
    }
