"""`drumline status --json`: the contract that scripts read. Keys are only ever added."""

from __future__ import annotations

from drumline.core.ids import StepId
from drumline.core.plan import Step
from drumline.core.routing import spell_agent
from drumline.views.activity import activity, attempts, checks, fixes, lost
from drumline.views.attempts import list_notices
from drumline.views.causes import cause, name_some
from drumline.views.cost import usage_json
from drumline.views.duration import duration
from drumline.views.gates import gate_json
from drumline.views.proofs import find_proof, proof_json
from drumline.views.snapshot import Snapshot
from drumline.views.states import EXIT_CODES, elapsed, run_state, step_state
from drumline.views.usage import sum_agents, sum_run, sum_step

__all__ = ["EXIT_CODES", "run_reason", "run_state", "status_json", "step_reason", "step_state"]

SCHEMA_VERSION = 1


def status_json(snapshot: Snapshot) -> dict[str, object]:
    """The run, its steps in plan order, and its open gates."""
    run = snapshot.run
    begun = run.begun
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.id,
        "state": run_state(snapshot),
        "reason": run_reason(snapshot) or None,
        "plan": begun.plan,
        "title": run.plan.title or begun.plan_name,
        "branch": begun.branch,
        "mode": run.mode,
        "autonomy": begun.autonomy,
        "rigor": begun.rigor,
        "agent": begun.agent,
        "started_at": snapshot.started_at,
        "seconds": round(elapsed(snapshot), 3),
        "drivers": list(snapshot.live),
        "parked_until": run.parked_until if run.parked else None,
        "fallback": list(begun.fallback),
        "budget_usd": begun.budget,
        "usage": usage_json(sum_run(snapshot)),
        "agents": {name: usage_json(usage) for name, usage in sum_agents(snapshot).items()},
        "steps": [_step_json(snapshot, step) for step in run.plan.steps],
        "gates": [gate_json(snapshot, gate) for gate in run.open_gates],
        "problems": [
            {"code": p.code, "severity": p.severity.value, "where": p.where, "message": p.message}
            for p in snapshot.problems
        ],
    }


def run_reason(snapshot: Snapshot) -> str:
    """Why the run is not running, or why it ended; empty if it runs or is done."""
    run = snapshot.run
    if run.ended is not None:
        return run.ended.reason
    match run_state(snapshot):
        case "parked":
            return _parked_for(snapshot)
        case "interrupted":
            return "no driver is running"
        case _:
            return ""


def _parked_for(snapshot: Snapshot) -> str:
    run = snapshot.run
    if run.parked_for:
        return run.parked_for
    waits = [f"waiting for an answer to {name_some(run.unanswered)}"] if run.unanswered else []
    if run.parked_until is not None:
        left = run.parked_until - snapshot.now
        waits.append(f"waiting for a quota, {f'for another {duration(left)}' if left > 0 else 'which has reset'}")
    return "; ".join(waits) or "waiting for an answer to an answered gate"


def step_reason(snapshot: Snapshot, step: StepId) -> str:
    """Why an unfinished step is not running, or why it ended; empty if it runs or is done and proved."""
    finished = snapshot.run.finished.get(step)
    if step in snapshot.owners and finished is None:
        return ""
    if finished is not None and (finished.is_proved or finished.state != "done"):
        return finished.reason
    return cause(snapshot, snapshot.run.plan.by_id[step]).text


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
        "notices": list(list_notices(snapshot.run, step.id, snapshot.steps.get(step.id))),
    }


def _agent(snapshot: Snapshot, step: Step) -> str:
    """Who works on the step or did so last, as far as its stream was read; else who would be asked first."""
    state = snapshot.steps.get(step.id)
    name = state.agent if state is not None and state.asked is not None else step.agent
    return spell_agent(snapshot.run, name)


def _until(snapshot: Snapshot, step: Step) -> float | None:
    deferred = snapshot.run.deferred.get(step.id)
    until = deferred.until if deferred is not None else None
    return until if until is not None and until > snapshot.now else None
