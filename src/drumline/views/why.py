"""`drumline why STEP`: the owner, the timer or the blocker of a step, followed through its needs to the root."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.ids import DriverId, GateId, StepId
from drumline.core.plan import Step
from drumline.core.proof import Proof
from drumline.errors import InvalidInput
from drumline.record import Record, replace
from drumline.views.attempts import note_step
from drumline.views.causes import BLOCKER, Cause, cause, name_some
from drumline.views.cells import flatten
from drumline.views.gates import list_choices
from drumline.views.proofs import find_proof, proof_json
from drumline.views.snapshot import Snapshot
from drumline.views.states import step_state

_WORST_FIRST = ("failed", "blocked", "parked", "waiting", "ready", "running")
_LONGEST_CHAIN = 6


class Why(Record):
    """The answer: one sentence, what kind of reason it is, and the command to type next.

    `chain` leads from the step through unmet needs to the one everything hangs on. `notes` are what else is known of
    the work on it.
    """

    step: StepId
    state: str
    sentence: str
    kind: str
    owner: DriverId | None = None
    gate: GateId | None = None
    until: float | None = None
    hint: str = ""
    chain: tuple[StepId, ...] = ()
    notes: tuple[str, ...] = ()
    proof: Proof | None = None


def why(snapshot: Snapshot, step: StepId) -> Why:
    """Why the step is as it is; InvalidInput if the plan has no such step."""
    definition = snapshot.run.plan.by_id.get(step)
    if definition is None:
        known = name_some(snapshot.run.plan.by_id)
        raise InvalidInput(f"the plan has no step {step!r} (it has {known})", hint="drumline status")
    near = cause(snapshot, definition)
    chain = _chain(snapshot, definition) if near.steps else ()
    root = _from_root(snapshot, near, chain) if chain else _with_question(snapshot, near)
    state = step_state(snapshot, step)
    return Why(
        step=step,
        state=state,
        sentence=f"{step} is {state}: {root.text}",
        kind=root.kind,
        owner=root.owner,
        gate=root.gate,
        until=root.until,
        hint=root.hint,
        chain=(step, *chain) if chain else (),
        notes=note_step(snapshot.run, step, snapshot.steps.get(step)),
        proof=find_proof(snapshot.run, step),
    )


def why_json(answer: Why) -> dict[str, object]:
    """The answer for programs."""
    return {
        "schema_version": 1,
        "step": answer.step,
        "state": answer.state,
        "kind": answer.kind,
        "sentence": answer.sentence,
        "owner": answer.owner,
        "gate": answer.gate,
        "until": answer.until,
        "hint": answer.hint,
        "chain": list(answer.chain),
        "notes": list(answer.notes),
        "proof": proof_json(answer.proof),
    }


def _with_question(snapshot: Snapshot, near: Cause) -> Cause:
    gate = snapshot.run.unanswered.get(near.gate) if near.gate else None
    if gate is None or gate.opened.gate in snapshot.answers:
        return near
    asked = f"{near.text}: {flatten(gate.opened.question)} ({list_choices(gate.opened)})"
    return replace(near, text=asked)


def _chain(snapshot: Snapshot, step: Step) -> tuple[StepId, ...]:
    """The shortest way through unmet needs to the worst of the steps that wait for no other. Sees each step once."""
    by_id = snapshot.run.plan.by_id
    came: dict[StepId, StepId] = {}
    queue = [step.id]
    roots: list[StepId] = []
    for here in queue:
        needs = cause(snapshot, by_id[here]).steps if here in by_id else ()
        if not needs:
            roots.append(here)
        for need in needs:
            if need not in came:
                came[need] = here
                queue.append(need)
    worst = min(roots, key=lambda root: _badness(snapshot, root))
    path = [worst]
    while came[path[-1]] != step.id:
        path.append(came[path[-1]])
    return tuple(reversed(path))


def _badness(snapshot: Snapshot, step: StepId) -> int:
    if step not in snapshot.run.plan.by_id:
        return -1
    return _WORST_FIRST.index(step_state(snapshot, step))


def _from_root(snapshot: Snapshot, near: Cause, chain: Sequence[StepId]) -> Cause:
    """The root's hint, gate and time, told as a sentence about the step in question."""
    definition = snapshot.run.plan.by_id.get(chain[-1])
    if definition is None:
        return Cause(kind=BLOCKER, text=f"needs {chain[-1]}, which is not in the plan", hint="drumline validate")
    root = _with_question(snapshot, cause(snapshot, definition))
    state = step_state(snapshot, definition.id)
    text = f"{_links(near, chain)} is {state}: {root.text}"
    return Cause(kind=BLOCKER, text=text, hint=root.hint, gate=root.gate, until=root.until, owner=root.owner)


def _links(near: Cause, chain: Sequence[StepId]) -> str:
    """`needs b, which needs a, which`: the way to the root, shortened in its middle."""
    several = len(near.steps) > 1
    lead = f"{near.text}; {chain[0]}" if several else f"needs {chain[0]}"
    needs = [f"needs {step}" for step in chain[1:]]
    if len(needs) > _LONGEST_CHAIN:
        left_out = len(needs) - _LONGEST_CHAIN + 1
        needs = [*needs[:2], f"needs {left_out:,} steps in a row", *needs[-(_LONGEST_CHAIN - 3) :]]
    if several:
        return f"{lead} {', which '.join(needs)}, which" if needs else lead
    return ", which ".join([lead, *needs]) + ", which"
