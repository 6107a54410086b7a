"""Which steps may be driven now, in which order, and what keeps the others back.

Needs have AND semantics. Sequential mode drives one step at a time in plan order; parallel mode fills its slots with
the steps at the head of the longest remaining chain first. `obstacle` is both the scheduler's rule and the answer to
"why is this step not running", so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from drumline.core import gates
from drumline.core.branch import Branch
from drumline.core.graph import ranks
from drumline.core.ids import GateId, StepId
from drumline.core.ownership import shared
from drumline.core.plan import WAITING, Marks, Status, Step
from drumline.core.state import Gate, RunState
from drumline.core.trust import Brought
from drumline.record import Record, field

STUCK = frozenset({Status.CLAIMED, Status.BLOCKED, Status.FAILED})
"""What the plan says of a step that somebody has begun and not finished."""


class Obstacle(Record):
    """What keeps a step back: a kind for programs, a sentence for people, a gate or a time where there is one."""

    kind: str
    text: str
    gate: GateId | None = None
    until: float | None = None
    steps: tuple[StepId, ...] = ()


class Surroundings(Record):
    """What the world says at this moment: claims held, marks in the files, the time, and how old a claim may get.

    `patience` is how many seconds a driver stays for a quota if there is nothing else to do. `untrusted` are commands
    of steps that a person has to accept first. `unmerged` are steps that another live run landed on the branch that is
    named, which ours does not contain. `gone` is for how many seconds the plan's files have been gone, if they are.
    `branch` is the run branch as it was seen last; `quiet` says that nothing of ours was at work before that. `called`
    are steps that a person does not want to wait for.
    """

    claimed: frozenset[StepId]
    marks: Mapping[StepId, Marks]
    now: float
    stale_after: float
    claim_times: Mapping[StepId, float | None]
    patience: float = inf
    untrusted: Mapping[StepId, Sequence[Brought]] = field(default_factory=dict)
    unmerged: Mapping[StepId, str] = field(default_factory=dict)
    gone: float | None = None
    branch: Branch | None = None
    quiet: bool = False
    called: frozenset[StepId] = frozenset()


def is_skipped(run: RunState, step: StepId) -> bool:
    """Whether the step was left out: it holds up nothing, and is not done."""
    finished = run.finished.get(step)
    return finished is not None and finished.state == "skipped"


def satisfied(run: RunState, need: StepId) -> bool:
    """Whether a need counts as met: landed, declared done in the plan, skipped by a person, or left to others.

    A step of another repository is left to others unless the plan says that it stands still there.
    """
    finished = run.finished.get(need)
    if finished is not None:
        return finished.state in ("done", "skipped")
    if need in run.declared:
        return True
    known = run.plan.by_id.get(need)
    return known is not None and bool(known.elsewhere) and run.marks.get(need, Marks()).status not in STUCK


def unmet(run: RunState, step: Step) -> list[StepId]:
    """Needs that are not met yet, in the plan's words; where the order is the need, all open steps before it."""
    if not step.ordered:
        return [need for need in step.needs if not satisfied(run, need)]
    clear = _cleared(run)
    found: dict[StepId, None] = {}
    seen = set(step.needs)
    waiting = list(reversed(step.needs))
    while waiting:
        need = waiting.pop()
        if need in clear:
            continue
        if not satisfied(run, need):
            found[need] = None
            continue
        further = [n for n in _before(run, need) if n not in seen]
        seen.update(further)
        waiting += reversed(further)
    return list(found)


def _cleared(run: RunState) -> set[StepId]:
    """Steps that are met together with everything before them; worked out once for each event."""
    if run.cleared_at != run.version:
        run.cleared = set()
        for step in sorted(run.plan.steps, key=lambda s: run.depth.get(s.id, 0)):
            if satisfied(run, step.id) and all(need in run.cleared for need in _before(run, step.id)):
                run.cleared.add(step.id)
        run.cleared_at = run.version
    return run.cleared


def _before(run: RunState, step: StepId) -> tuple[StepId, ...]:
    """What has to be met before a step; nothing if a person said to proceed without."""
    known = run.plan.by_id.get(step)
    return () if known is None or run.answer(gates.proceed_id(step)) == gates.YES else known.needs


def settled(run: RunState, step: StepId) -> bool:
    """Whether nobody has to drive the step any more."""
    return step in run.finished or step in run.declared


def obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    """What keeps an unsettled step from being claimed now, or None."""
    return (
        _gate_obstacle(run, step)
        or _unmerged_obstacle(step, around)
        or _trust_obstacle(run, step, around)
        or _quota_obstacle(run, step, around)
        or _needs_obstacle(run, step)
        or _beside_obstacle(run, step, around)
        or _wave_obstacle(run, step)
        or _marks_obstacle(run, step, around)
    )


def _unmerged_obstacle(step: Step, around: Surroundings) -> Obstacle | None:
    branch = around.unmerged.get(step.id)
    text = f"another run has landed it on {branch}, which this run does not contain: merge that, then start a new run"
    return Obstacle(kind="unmerged", text=text) if branch else None


def is_claimable(run: RunState, step: Step, around: Surroundings) -> bool:
    """Whether a step that was ready a moment ago still is; one that its file calls done by now is not."""
    marks = around.marks.get(step.id, Marks())
    declared = marks.status is Status.DONE and step.id not in run.working
    return not settled(run, step.id) and not declared and obstacle(run, step, around) is None


def ready(run: RunState, around: Surroundings) -> list[Step]:
    """Steps that may be claimed now, in the order in which they should be."""
    found = [
        step
        for step in run.selected()
        if not settled(run, step.id) and step.id not in around.claimed and obstacle(run, step, around) is None
    ]
    if run.mode == "parallel":
        rank = ranks([s for s in run.plan.steps if not settled(run, s.id)])
        found.sort(key=lambda s: -rank.get(s.id, 0.0))
    return found


def clash(one: Step, other: Step) -> str:
    """Why two steps may not run side by side; empty if they may."""
    if one.alone or other.alone:
        return f"{one.id if one.alone else other.id} runs alone"
    path = shared(one, other)
    return f"both own {path}" if path else ""


def is_guarded(run: RunState, step: Step) -> bool:
    """Whether the step may only be claimed knowing every other claim: it owns files, or some step runs alone."""
    return bool(step.files) or step.alone or run.has_loners


def side_by_side(run: RunState, candidates: Sequence[Step], slots: int) -> list[Step]:
    """The first candidates, in order, that may run beside each other; those that may not wait for the next look."""
    chosen: list[Step] = []
    for step in candidates:
        if len(chosen) == slots:
            break
        if not is_guarded(run, step) or not any(clash(step, other) for other in chosen):
            chosen.append(step)
    return chosen


def next_step(steps: Iterable[Step], marks: Mapping[StepId, Marks], live: frozenset[StepId]) -> StepId | None:
    """`--step next`: the first in-progress step without a live owner, else the first pending one."""
    ordered = list(steps)
    for wanted in (Status.CLAIMED, Status.READY):
        for step in ordered:
            if marks.get(step.id, Marks()).status is wanted and step.id not in live:
                return step.id
    return None


def barrier(run: RunState) -> int | None:
    """In critical autonomy, the first wave with items a person has still to verify: deeper steps wait for it."""
    if run.begun.autonomy != "critical" or not run.manual_waves:
        return None
    if run.barrier_at != run.version:  # asked for every step of a plan, and the same until the next event
        waiting = (level for level in run.manual_waves if run.answer(gates.wave_id(level)) is None)
        run.barrier = next((level for level in waiting if _asks_for_hands(run, level)), None)
        run.barrier_at = run.version
    return run.barrier


def find_stop(run: RunState) -> Gate | None:
    """The wave at which a person said to stop, unless somebody went on with the run since."""
    waves = (gate for gate in run.gates.values() if gate.opened.kind == gates.WAVE and gate.answer is not None)
    return next((gate for gate in waves if gate.answer and gate.answer.choice == gates.STOP), None)


def list_remarks(run: RunState) -> list[str]:
    """What people said when they let the run go on after a wave."""
    waves = [gate.answer for gate in run.gates.values() if gate.opened.kind == gates.WAVE and gate.answer is not None]
    return [answer.comment for answer in waves if answer.choice == gates.CONTINUE and answer.comment.strip()]


def wave_gate(run: RunState) -> int | None:
    """The depth whose wave gate has to be asked now: nothing of that wave can go on. None if there is none."""
    level = barrier(run)
    if level is None or gates.wave_id(level) in run.gates:
        return None
    lost = hopeless(run)
    over = all(settled(run, step.id) or step.id in lost for step in _wave(run, level))
    return level if over and any(unasked_items(run, step) for step in run.selected()) else None


def hopeless(run: RunState) -> set[StepId]:
    """Steps that need, directly or not, one that ended without being done."""
    found: set[StepId] = set()
    for step in sorted(run.plan.steps, key=lambda s: run.depth.get(s.id, 0)):
        lost = [need for need in step.needs if need in found or (settled(run, need) and not satisfied(run, need))]
        if any(step.ordered or not satisfied(run, need) for need in lost):
            found.add(step.id)
    return found


def _asks_for_hands(run: RunState, level: int) -> bool:
    """Whether some step of the wave has manual items and was done by this run, or still can be."""
    manual = [step for step in _wave(run, level) if step.manual]
    if gates.wave_id(level) in run.unanswered or any(unasked_items(run, step) for step in manual):
        return True
    left = [step.id for step in manual if not settled(run, step.id)]
    return bool(left) and bool(set(left) - hopeless(run))


def _wave(run: RunState, level: int) -> list[Step]:
    return [step for step in run.selected() if run.depth.get(step.id, 0) == level]


def manual_items(run: RunState, step: Step) -> tuple[str, ...]:
    """Items of a step that only a person can verify, if this run did the step."""
    finished = run.finished.get(step.id)
    return step.manual if finished and finished.state == "done" else ()


def unasked_items(run: RunState, step: Step) -> list[str]:
    """Manual items of a step that no wave gate has asked about yet."""
    asked = {item.text for gate in run.gates.values() for item in gate.opened.items if item.step == step.id}
    return [item for item in manual_items(run, step) if item not in asked]


def _gate_obstacle(run: RunState, step: Step) -> Obstacle | None:
    walks = bool(run.flow_of(step))
    for gate in run.unanswered.values():
        if walks and gate.opened.kind != "edit":  # a question in one branch of a walk keeps no other from its work
            continue
        if gate.opened.step == step.id or gate.opened.kind == gates.BUDGET:
            return _waits_for(gate.opened.gate)
    return None


def _trust_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    commands = around.untrusted.get(step.id)
    if not commands:
        return None
    if run.answer(gates.trust_id(step, commands)) == gates.NO:
        return Obstacle(kind="refused", text=f"a person refused its command {commands[0].shown}")
    return Obstacle(kind="untrusted", text=f"nobody has accepted its command {commands[0].shown}")


def _quota_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    deferred = run.deferred.get(step.id)
    if deferred is None or step.id in around.called or any(gate not in run.unanswered for gate in deferred.gates):
        return None
    if deferred.until is None:
        return _waits_for(deferred.gates[0]) if deferred.gates else None
    if around.now >= deferred.until:
        return None
    return Obstacle(kind="quota", text=deferred.reason, until=deferred.until)


def _waits_for(gate: GateId) -> Obstacle:
    return Obstacle(kind="gate", text=f"waiting for an answer to gate {gate}", gate=gate)


def _needs_obstacle(run: RunState, step: Step) -> Obstacle | None:
    missing = unmet(run, step)
    if not missing:
        return None
    chosen = run.begun.selection
    if run.begun.named and chosen is not None and run.answer(gates.proceed_id(step.id)) == gates.YES:
        missing = [need for need in missing if need in set(chosen)]
        if not missing:
            return None
    return Obstacle(kind="needs", text=f"needs {', '.join(missing)}", steps=tuple(missing))


def _beside_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    """Steps that own the same files, or that run alone, wait for each other."""
    if not is_guarded(run, step):
        return None
    for other in sorted(around.claimed - {step.id}):
        why = clash(step, run.plan.by_id[other]) if other in run.plan.by_id else ""
        if why:
            return Obstacle(kind="beside", text=f"waits for {other}: {why}", steps=(other,))
    return None


def _wave_obstacle(run: RunState, step: Step) -> Obstacle | None:
    level = None if step.id in run.working else barrier(run)
    if level is None or level >= run.depth.get(step.id, 0):
        return None
    if gates.wave_id(level) in run.unanswered:
        return _waits_for(gates.wave_id(level))
    return Obstacle(kind="wave", text=f"waits for the end of wave {level + 1}, which a person has to verify")


def _marks_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    marks = around.marks.get(step.id)
    if marks is None or _ours(run, step, marks):
        return None
    match marks.status:
        case Status.CLAIMED:
            return _claim_obstacle(run, step, marks, around)
        case Status.BLOCKED | Status.FAILED | Status.SKIPPED:
            why = f": {marks.reason}" if marks.reason else ""
            return Obstacle(kind="marked", text=f"{step.path} marks it {marks.status.value}{why}")
        case _:
            return None


def _ours(run: RunState, step: Step, marks: Marks) -> bool:
    """Whether this run, or one of ours that is over, wrote these marks; a reopened step overrules its file."""
    last = run.mirrored.get(step.id)
    if last is not None and last.marks == marks:
        return True
    reopened = run.rounds.get(step.id, 0) > 0
    inherited = last is None and step.id in run.inherited and marks == run.marks.get(step.id)
    return reopened or inherited or marks.assignee == assignee(run) or was_waiting(run, marks)


def was_waiting(run: RunState, marks: Marks) -> bool:
    """Whether these marks name a gate of this run: we wrote them, and git may have brought them back."""
    gate = marks.reason.removeprefix(f"{WAITING}gate ")
    return marks.status is Status.BLOCKED and gate != marks.reason and gate in run.gates


def assignee(run: RunState) -> str:
    """How this run signs its claims in the plan's files."""
    return f"drumline/{run.id}"


def _claim_obstacle(run: RunState, step: Step, marks: Marks, around: Surroundings) -> Obstacle | None:
    since = around.claim_times.get(step.id)
    if not marks.assignee or since is None:
        answer = run.answer(gates.claim_id(step.id))
        if answer == gates.TAKE:
            return None
        if answer == gates.LEAVE:
            return Obstacle(kind="marked", text=f"left to whoever marked it in progress in {step.path}")
        return Obstacle(kind="unowned", text="marked in progress without owner or time")
    until = since + around.stale_after
    if around.now >= until:
        return None
    return Obstacle(kind="foreign", text=f"claimed by {marks.assignee} since {marks.claimed_at}", until=until)
