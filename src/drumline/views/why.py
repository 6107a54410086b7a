"""`drumline why [PLACE]`: the owner, the timer or the blocker of a step, followed through its needs to the root, of a
place in a step's walk, or of the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.acceptance import find_question
from drumline.core.ids import RunId, StepId
from drumline.core.mutants import Mutation
from drumline.core.nearest import did_you_mean
from drumline.core.overstep import Culprit, list_culprits
from drumline.core.plaintext import name_some
from drumline.core.plan import Step
from drumline.core.vocabulary import STUCK, RunStanding, StepEnd, StepStanding
from drumline.errors import InvalidInput
from drumline.record import replace
from drumline.views.attempts import note_step
from drumline.views.causes import BLOCKER, FINISHED, OWNER, Cause, cause
from drumline.views.cells import flatten
from drumline.views.evidence import evidence_json, list_evidence
from drumline.views.gates import answer_command, ask_shortly, list_asking, list_choices, split_question
from drumline.views.mutants import mutants_json
from drumline.views.places import split_place
from drumline.views.proofs import find_proof, proof_json
from drumline.views.snapshot import Snapshot, Walk
from drumline.views.standing import Why, explain_place, explain_walk
from drumline.views.states import run_state, step_state
from drumline.views.status import run_reason

SHORT = 9

__all__ = ["Why", "why", "why_json"]

_WORST_FIRST = ("failed", "rejected", "blocked", "parked", "waiting", "ready", "running")
_LONGEST_CHAIN = 6


def why(snapshot: Snapshot, name: str = "") -> Why:
    """Why a step, a place of a walk or, without a name, the run is as it is; InvalidInput if there is no such thing."""
    flow_walk = snapshot.flow_walk
    step, place = split_place(snapshot.run, name) or (None, "")
    if not name or (flow_walk is not None and not place):
        return explain_walk(flow_walk, run_reason(snapshot)) if flow_walk is not None else _explain_run(snapshot)
    if step is None:
        known = name_some(snapshot.run.plan.by_id)
        meant = did_you_mean(name, snapshot.run.plan.by_id)
        raise InvalidInput(f"the plan has no step {name!r} (it has {known}){meant}", hint="drumline status")
    if not place:
        return _explain_step(snapshot, snapshot.run.define(step))
    found = explain_place(_walk_of(snapshot, step), place)
    name = found.name if flow_walk is not None else f"{step}/{found.name}"
    return replace(found, name=name, step=step)


def _walk_of(snapshot: Snapshot, step: StepId) -> Walk:
    if step not in snapshot.walks:
        raise InvalidInput(f"nobody has worked on {step} yet", hint=f"drumline why {step}")
    return snapshot.walks[step]


def why_json(run: RunId, answer: Why) -> dict[str, object]:
    """The answer for programs."""
    return {
        "schema_version": 1,
        "run": run,
        "step": answer.step,
        "visit": None if answer.name == answer.step else answer.name,
        "state": answer.state,
        "kind": answer.kind,
        "sentence": answer.sentence,
        "owner": answer.owner,
        "gate": answer.gate,
        "since": answer.since,
        "until": answer.until,
        "hint": answer.hint,
        "chain": list(answer.chain),
        "notes": list(answer.notes),
        "proof": proof_json(answer.proof),
        "checks": [evidence_json(check) for check in answer.checks],
        "mutants": mutants_json(answer.mutants) if answer.mutants.tried else None,
        "worktree": answer.worktree or None,
    }


def _explain_step(snapshot: Snapshot, definition: Step) -> Why:
    step = definition.id
    near = cause(snapshot, definition)
    chain = _chain(snapshot, definition) if near.steps else ()
    root = _from_root(snapshot, near, chain) if chain else _with_question(snapshot, near)
    root = _await_acceptance(snapshot, root, step)
    return Why(
        name=step,
        step=step,
        state=step_state(snapshot, step),
        text=root.text,
        kind=root.kind,
        owner=root.owner,
        gate=root.gate,
        until=root.until,
        hint=root.hint,
        chain=(step, *chain) if chain else (),
        notes=(
            *_note_question(snapshot, near),
            *_note_culprits(snapshot, definition),
            *note_step(snapshot.run, step, snapshot.steps.get(step)),
        ),
        proof=find_proof(snapshot.run, step),
        checks=() if _is_healed(snapshot, step) else list_evidence(snapshot.run, definition, snapshot.steps.get(step)),
        mutants=finished.mutants if (finished := snapshot.run.finished.get(step)) is not None else Mutation(),
        worktree=_find_worktree(snapshot, step),
    )


def _is_healed(snapshot: Snapshot, step: StepId) -> bool:
    """Whether its own work came to nothing, and that of a corrective step landed: the evidence is there."""
    finished = snapshot.run.finished.get(step)
    return finished is not None and bool(finished.landed_by)


def _find_worktree(snapshot: Snapshot, step: StepId) -> str:
    """Where the step is worked on; empty if nobody works there any more, or nobody has begun."""
    finished, state = snapshot.run.finished.get(step), snapshot.steps.get(step)
    over = finished is not None and finished.state in (StepEnd.DONE, StepEnd.SKIPPED)
    return "" if over or state is None else state.workspace


def _explain_run(snapshot: Snapshot) -> Why:
    """The whole run of a plan: what its drivers have in work, or what it waits for."""
    run, state = snapshot.run, run_state(snapshot)
    said = Why(name=f"run {run.id}", state=state, text=flatten(run_reason(snapshot)))
    if state is RunStanding.RUNNING:
        text = f"in work: {name_some(snapshot.owners)}" if snapshot.owners else "a driver is about to go on"
        return replace(said, text=text, kind=OWNER, owner=snapshot.live[0])
    if state is RunStanding.PARKED and run.unanswered:
        first = next(iter(run.unanswered.values())).opened
        hint = answer_command(first, driven=bool(snapshot.live))
        notes = tuple(split_question(first)[1])
        return replace(said, text=f"{said.text}: {ask_shortly(first)}", gate=first.gate, hint=hint, notes=notes)
    if state in (RunStanding.PARKED, RunStanding.INTERRUPTED, RunStanding.CANCELLED):
        return replace(said, hint=f"drumline resume {run.id}", until=run.parked_until)
    if asking := list_asking(run):
        first = asking[0].opened
        hint = answer_command(first, driven=bool(snapshot.live))
        stuck = _with_question(snapshot, cause(snapshot, run.define(first.step))).text if first.step else said.text
        text = f"{first.step}: {stuck}" if first.step else stuck
        return replace(
            said, text=text, kind=FINISHED, gate=first.gate, hint=hint, notes=tuple(split_question(first)[1])
        )
    done = sum(1 for step in snapshot.selected if step_state(snapshot, step) is StepStanding.DONE)
    return replace(said, kind=FINISHED, text=said.text or f"{done:,} of {len(snapshot.selected):,} steps are done")


def _await_acceptance(snapshot: Snapshot, found: Cause, step: StepId) -> Cause:
    """The same cause, with the question of a person's yes if the step waits for one."""
    gate = find_question(snapshot.run)
    if gate is None or gate.answer is not None or step not in [doubt.step for doubt in gate.opened.doubts]:
        return found
    name = gate.opened.gate
    hint = answer_command(gate.opened, driven=bool(snapshot.live))
    return replace(found, text=f"{found.text}; gate {name} asks whether that is accepted", gate=name, hint=hint)


def _with_question(snapshot: Snapshot, near: Cause) -> Cause:
    gate = snapshot.run.unanswered.get(near.gate) if near.gate else None
    if gate is None or gate.opened.gate in snapshot.answers:
        return near
    if gate.opened.kind in STUCK:  # its question begins with the reason, which the text has already
        return replace(near, text=f"{near.text}; gate {near.gate} asks what to do: {list_choices(gate.opened)}")
    return replace(near, text=f"{near.text}: {ask_shortly(gate.opened)}")


def _note_question(snapshot: Snapshot, near: Cause) -> tuple[str, ...]:
    """What there is to judge by where the step waits for an answer."""
    gate = snapshot.run.unanswered.get(near.gate) if near.gate else None
    return tuple(split_question(gate.opened)[1]) if gate is not None else ()


def _chain(snapshot: Snapshot, step: Step) -> tuple[StepId, ...]:
    """The shortest way through unmet needs to the worst of the steps that wait for no other. Sees each step once."""
    find = snapshot.run.find_step
    came: dict[StepId, StepId] = {}
    queue = [step.id]
    roots: list[StepId] = []
    for here in queue:
        definition = find(here)
        needs = cause(snapshot, definition).steps if definition is not None else ()
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
    if snapshot.run.find_step(step) is None:
        return -1
    return _WORST_FIRST.index(step_state(snapshot, step))


def _from_root(snapshot: Snapshot, near: Cause, chain: Sequence[StepId]) -> Cause:
    """The root's hint, gate and time, told as a sentence about the step in question."""
    definition = snapshot.run.find_step(chain[-1])
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


def _note_culprits(snapshot: Snapshot, victim: Step) -> tuple[str, ...]:
    """A sentence for each step that changed files of this one; nothing for a step that names no files."""
    if not victim.files:
        return ()
    told = [_tell(culprit) for culprit in list_culprits(snapshot.run, victim)]
    for step, state in snapshot.steps.items():
        theirs = [file.path for file in (*state.strayed.foreign, *state.strayed.noted) if file.owner == victim.id]
        if step not in snapshot.run.finished and theirs:
            told.append(f"{step} has changed its {name_some(map(flatten, theirs))} in a workspace of its own")
    return tuple(told)


def _tell(culprit: Culprit) -> str:
    named = name_some(map(flatten, culprit.paths))
    if culprit.commit:
        return f"{culprit.step} has changed its {named} (git show {culprit.commit[:SHORT]})"
    return f"{culprit.step} wants to change its {named}: gate {culprit.gate} asks whether it may"
