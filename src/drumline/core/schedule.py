"""Which steps may be driven now, in which order, and what keeps the others back.

Sequential mode drives one step at a time in plan order; parallel mode fills its slots with
the steps at the head of the longest remaining chain first. `obstacle` is both the scheduler's rule and the answer to
"why is this step not running", so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import inf

from drumline.core import gates
from drumline.core.branch import Branch
from drumline.core.ids import FINAL, PREFLIGHT, GateId, StepId
from drumline.core.needs import find_cleared, settled, unmet
from drumline.core.ownership import shared
from drumline.core.plan import RUN_WALKS, Marks, Status, Step, wait_for
from drumline.core.routing import list_workers, spell_agent
from drumline.core.runwalks import find_unready, is_cleared, list_open
from drumline.core.state import RunState
from drumline.core.trust import Brought
from drumline.core.vocabulary import PASSING, GateKind, Hindrance, Mode, StepEnd
from drumline.core.waves import find_barrier, find_open_wave
from drumline.record import Record, field

JOBS = "jobs"
"""The key of a profile that says how many steps its agent works on at once."""


class Obstacle(Record):
    """What keeps a step back: a kind for programs, a sentence for people, a gate or a time where there is one."""

    kind: Hindrance
    text: str
    gate: GateId | None = None
    until: float | None = None
    steps: tuple[StepId, ...] = ()


class Horizon:
    """What is asked about every step of a run at one moment, worked out once when it is first asked for."""

    def __init__(self, run: RunState) -> None:
        self._run = run

    @cached_property
    def cleared(self) -> frozenset[StepId]:
        """Steps that are met together with everything before them."""
        return find_cleared(self._run)

    def find_unmet(self, step: Step) -> list[StepId]:
        """The needs of a step that are not met yet."""
        return unmet(self._run, step, cleared=self.cleared if step.ordered else None)

    @cached_property
    def met(self) -> frozenset[StepId]:
        """Steps that are met, and whatever may be without being done."""
        run = self._run
        failed = [name for name, finished in run.finished.items() if finished.state is not StepEnd.DONE]
        kept = [name for name in failed if run.finished[name].state not in PASSING]
        return frozenset(run.finished).union(run.declared, run.elsewhere).difference(kept)

    @cached_property
    def barrier(self) -> int | None:
        """The wave for which deeper steps wait."""
        return find_barrier(self._run)


class Surroundings(Record):
    """What the world says at this moment: claims held, marks in the files, the time, and how old a claim may get.

    `patience` is how many seconds a driver stays for a quota if there is nothing else to do. `untrusted` are commands
    of steps that a person has to accept first. `unmerged` are steps that another live run landed on the branch that is
    named, which ours does not contain. `gone` is for how many seconds the plan's files have been gone, if they are.
    `branch` is the run branch as it was seen last; `quiet` says that nothing of ours was at work before that. `called`
    are steps that a person does not want to wait for, `pending` the walks of the run itself that have something to do.
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
    pending: frozenset[StepId] = frozenset()


def obstacle(run: RunState, step: Step, around: Surroundings, horizon: Horizon | None = None) -> Obstacle | None:
    """What keeps an unsettled step from being claimed now, or None. `horizon` is for those who ask about many steps."""
    horizon = horizon or Horizon(run)
    return (
        _gate_obstacle(run, step)
        or _unmerged_obstacle(step, around)
        or _trust_obstacle(run, step, around)
        or _quota_obstacle(run, step, around)
        or _needs_obstacle(run, step, horizon)
        or _beside_obstacle(run, step, around)
        or _wave_obstacle(run, step, horizon)
        or _marks_obstacle(run, step, around)
        or _turn_obstacle(run, step, around)
        or _cap_obstacle(run, step, around)
    )


def _unmerged_obstacle(step: Step, around: Surroundings) -> Obstacle | None:
    branch = around.unmerged.get(step.id)
    text = f"another run has landed it on {branch}, which this run does not contain: merge that, then start a new run"
    return Obstacle(kind=Hindrance.UNMERGED, text=text) if branch else None


def is_claimable(run: RunState, step: Step, around: Surroundings) -> bool:
    """Whether a step that was ready a moment ago still is; one that its file calls done by now is not."""
    marks = around.marks.get(step.id, Marks())
    declared = marks.status is Status.DONE and step.id not in run.working
    return not settled(run, step.id) and not declared and obstacle(run, step, around) is None


def ready(run: RunState, around: Surroundings, horizon: Horizon | None = None) -> Iterator[Step]:
    """Steps that may be claimed now, in the order in which they should be; what is not asked for costs nothing."""
    horizon = horizon or Horizon(run)
    steps = run.ranked if run.mode is Mode.PARALLEL else run.selected()
    finished, declared, claimed = run.finished, run.declared, around.claimed
    met = None if run.corrections or run.begun.named else horizon.met
    left = (step for step in steps if step.id not in finished and step.id not in declared)
    if met is not None:  # as `obstacle` says, only faster: most steps of a large plan wait for others
        left = (step for step in left if met.issuperset(step.needs))
    for step in chain(list_run_walks(run, around), left):
        if step.id in claimed or settled(run, step.id):
            continue
        if obstacle(run, step, around, horizon) is None:
            yield step


def list_run_walks(run: RunState, around: Surroundings) -> list[Step]:
    """The walks of the run itself that are to be walked now."""
    return [run.define(name) for name in list_open(run) if name in around.pending or run.has_begun(name)]


def clash(one: Step, other: Step) -> str:
    """Why two steps may not run side by side; empty if they may."""
    if one.alone or other.alone:
        return f"{one.id if one.alone else other.id} runs alone"
    path = shared(one, other)
    return f"both own {path}" if path else ""


def is_guarded(run: RunState, step: Step) -> bool:
    """Whether the step may only be claimed knowing every other claim: it owns files, or some step runs alone."""
    return bool(step.files) or step.alone or run.has_loners or find_cap(run, step) is not None


def find_cap(run: RunState, step: Step) -> tuple[str, int] | None:
    """The agent that works on a step first, and how many steps it works on at once; None if there is no limit."""
    if not any(JOBS in table for table in run.begun.profiles.values()):
        return None
    name = spell_agent(run, list_workers(run, step)[0].name)
    most = run.begun.profiles.get(name, {}).get(JOBS, "")
    return (name, int(most)) if most else None


def side_by_side(
    run: RunState, candidates: Iterable[Step], slots: int, claimed: frozenset[StepId] = frozenset()
) -> list[Step]:
    """The first candidates, in order, that may run beside each other; those that may not wait for the next look.

    What is claimed already counts where an agent works on a limited number of steps.
    """
    chosen: list[Step] = []
    for step in candidates:
        if not is_guarded(run, step) or not any(clash(step, other) for other in chosen):
            busy = claimed.union(other.id for other in chosen)
            if _name_full(run, step, busy) is None:
                chosen.append(step)
        if len(chosen) == slots:
            break
    return chosen


def _name_full(run: RunState, step: Step, busy: frozenset[StepId]) -> tuple[str, list[StepId]] | None:
    """The agent of a step that works on as many others as it may, with these; None if it may work on this one."""
    cap = find_cap(run, step)
    if cap is None:
        return None
    others = [known for name in sorted(busy - {step.id}) if (known := run.plan.by_id.get(name)) is not None]
    same = [other.id for other in others if find_cap(run, other) == cap]
    return (cap[0], same) if len(same) >= cap[1] else None


def next_step(steps: Iterable[Step], marks: Mapping[StepId, Marks], live: frozenset[StepId]) -> StepId | None:
    """`--step next`: the first in-progress step without a live owner, else the first pending one."""
    ordered = list(steps)
    for wanted in (Status.CLAIMED, Status.READY):
        for step in ordered:
            if marks.get(step.id, Marks()).status is wanted and step.id not in live:
                return step.id
    return None


def _gate_obstacle(run: RunState, step: Step) -> Obstacle | None:
    walks = bool(run.flow_of(step))
    for gate in run.unanswered.values():
        if walks and gate.opened.kind is not GateKind.EDIT:
            continue  # a question in one branch of a walk keeps no other from its work
        if gate.opened.step == step.id or gate.opened.kind is GateKind.BUDGET:
            return _waits_for(gate.opened.gate)
    return None


def _trust_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    commands = around.untrusted.get(step.id)
    if not commands:
        return None
    if run.answer(gates.trust_id(step, commands)) == gates.NO:
        return Obstacle(kind=Hindrance.REFUSED, text=f"a person refused its command {commands[0].shown}")
    return Obstacle(kind=Hindrance.UNTRUSTED, text=f"nobody has accepted its command {commands[0].shown}")


def _quota_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    deferred = run.deferred.get(step.id)
    if deferred is None or step.id in around.called or any(gate not in run.unanswered for gate in deferred.gates):
        return None
    if deferred.until is None:
        return _waits_for(deferred.gates[0]) if deferred.gates else None
    if around.now >= deferred.until:
        return None
    return Obstacle(kind=Hindrance.QUOTA, text=deferred.reason, until=deferred.until)


def _waits_for(gate: GateId) -> Obstacle:
    return Obstacle(kind=Hindrance.GATE, text=f"waiting for an answer to gate {gate}", gate=gate)


def _needs_obstacle(run: RunState, step: Step, horizon: Horizon) -> Obstacle | None:
    missing = [need for need in horizon.find_unmet(step) if not _is_being_planned(run, step, need)]
    if not missing:
        return None
    chosen = run.begun.selection
    if run.begun.named and chosen is not None and run.answer(gates.proceed_id(step.id)) == gates.YES:
        missing = [need for need in missing if need in set(chosen)]
        if not missing:
            return None
    return Obstacle(kind=Hindrance.NEEDS, text=f"needs {', '.join(missing)}", steps=tuple(missing))


def _is_being_planned(run: RunState, step: Step, need: StepId) -> bool:
    """Whether a need is a corrective step that the walk of the step itself plans, which has to come to its end."""
    planned = run.corrections.get(need)
    if planned is None or planned.origin != step.id or step.id not in run.working:
        return False
    return planned.round == run.rounds.get(step.id, 0)


def _turn_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    """Steps wait for the first walk of the run, and its last one for them."""
    if step.id == FINAL and (first := find_unready(run)) is not None:
        return Obstacle(kind=Hindrance.TURN, text=f"comes after all steps, and {first} is not done", steps=(first,))
    if step.id in RUN_WALKS or (is_cleared(run) and PREFLIGHT not in around.pending):
        return None
    return Obstacle(kind=Hindrance.TURN, text=f"waits for {PREFLIGHT}", steps=(PREFLIGHT,))


def _beside_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    """Steps that own the same files, or that run alone, wait for each other."""
    if not is_guarded(run, step) and around.claimed.isdisjoint(RUN_WALKS):
        return None
    for other in sorted(around.claimed - {step.id}):
        known = run.find_step(other)
        why = clash(step, known) if known is not None else ""
        if why:
            return Obstacle(kind=Hindrance.BESIDE, text=f"waits for {other}: {why}", steps=(other,))
    return None


def _cap_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    """An agent with as many steps in work as it may have."""
    full = _name_full(run, step, around.claimed)
    if full is None or step.id in RUN_WALKS:
        return None
    agent, steps = full
    text = f"waits for {agent}, which works on {', '.join(steps)} and may have {len(steps)} at once"
    return Obstacle(kind=Hindrance.AGENT, text=text, steps=tuple(steps))


def _wave_obstacle(run: RunState, step: Step, horizon: Horizon) -> Obstacle | None:
    level = None if step.id in run.working else horizon.barrier
    if level is None or level >= run.depth.get(step.id, 0):
        return None
    if (gate := find_open_wave(run, level)) is not None:
        return _waits_for(gate)
    return Obstacle(kind=Hindrance.WAVE, text=f"waits for the end of wave {level + 1}, which a person has to verify")


def _marks_obstacle(run: RunState, step: Step, around: Surroundings) -> Obstacle | None:
    marks = around.marks.get(step.id)
    if marks is None or _ours(run, step, marks):
        return None
    match marks.status:
        case Status.CLAIMED:
            return _claim_obstacle(run, step, marks, around)
        case Status.BLOCKED | Status.FAILED | Status.SKIPPED:
            why = f": {marks.reason}" if marks.reason else ""
            return Obstacle(kind=Hindrance.MARKED, text=f"{step.path} marks it {marks.status.value}{why}")
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
    """Whether these are the marks of a step that waits for a gate of this run: we wrote them, and git may have brought
    them back.
    """
    return marks.status is Status.BLOCKED and any(marks == wait_for(f"gate {gate}") for gate in run.gates)


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
            return Obstacle(
                kind=Hindrance.MARKED, text=f"left to the person or tool that marked it in progress in {step.path}"
            )
        return Obstacle(kind=Hindrance.UNOWNED, text="marked in progress without owner or time")
    until = since + around.stale_after
    if around.now >= until:
        return None
    return Obstacle(kind=Hindrance.FOREIGN, text=f"claimed by {marks.assignee} since {marks.claimed_at}", until=until)
