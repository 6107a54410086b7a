"""What the run does next. Pure: the fold, the claims, the plan's marks and the time go in, commands come out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from drumline.core import gates
from drumline.core.acceptance import find_question, list_doubts
from drumline.core.asking import open_stuck
from drumline.core.branch import settle
from drumline.core.checkfailure import is_work
from drumline.core.commands import Adopt, Ask, ClaimStep, Close, Command, Declare, EndRun, Heal, ParkRun, Reopen, Wait
from drumline.core.corrections import (
    explain_unhealed,
    has_heals_left,
    is_healed,
    is_stuck,
    list_helped,
    list_idle,
    list_superseded,
    list_unhelped,
    tell_idle,
    tell_superseded,
)
from drumline.core.events import Event, PauseRequested, RunResumed, StepFinished, StepReopened
from drumline.core.ids import FINAL, NO_STEP, PREFLIGHT, DriverId, GateId, StepId
from drumline.core.needs import settled
from drumline.core.plan import RUN_WALKS, Status, Step
from drumline.core.schedule import Horizon, Obstacle, Surroundings, list_run_walks, obstacle, ready, side_by_side
from drumline.core.state import RunState
from drumline.core.vocabulary import STUCK, GateKind, Hindrance, Mode, RunEnd, StepEnd
from drumline.core.waves import count_waves, find_due_wave, find_stop, list_unasked

UNFINISHED = "unfinished"
"""Stands where a blocked step has the class of its failure, if it walks a flow and the walk is not over."""
HINDERED, RESUMED = "what it needs could not be run before", "the run is resumed"
"""Why a resume gives something another round."""
GONE_GRACE = 3.0
"""Seconds that a plan may be gone before the run is parked with that reason."""


READY, CLAIMED = Status.READY, Status.CLAIMED
"""Looked up for each of many steps."""


def decide(run: RunState, around: Surroundings, *, slots: int) -> list[Command]:
    """Commands for this driver, which has `slots` free places. Empty only if the run has ended or is parked."""
    if run.ended is not None or run.parked:
        return []
    if run.cancel is not None:
        return (
            [Wait(reason="stopping")] if around.claimed else [EndRun(state=RunEnd.CANCELLED, reason=run.cancel.reason)]
        )
    if around.gone is not None:
        return [_without_plan(run, around, around.gone)]
    unsettled = _branch(run, around)
    if unsettled:
        return unsettled
    stopped = _stopped_at(run)
    if stopped is not None:
        return [Wait(reason="stopping")] if around.claimed else [stopped]
    if run.pause is not None:
        return [Wait(reason="pausing")] if around.claimed else [_paused(run, run.pause)]
    horizon = Horizon(run)
    odd = frozenset(name for name, marks in around.marks.items() if marks.status is not READY)
    # One after the other: what is declared done must not be asked about in the same breath.
    settling = (
        _declarations(run, around, odd)
        or _healings(run, around)
        or _refusals(run, around, horizon)
        or _questions(run, around, horizon, odd)
    )
    if settling:
        return settling
    candidates = ready(run, around, horizon)
    if run.mode is Mode.SEQUENTIAL:
        candidates = iter(() if around.claimed else [*islice(candidates, 1)])
    found = side_by_side(run, candidates, slots, around.claimed) if slots > 0 else [*islice(candidates, 1)]
    if found and slots > 0:
        return [ClaimStep(step=step.id) for step in found]
    if found or around.claimed:
        return [Wait(reason="steps are in work")]
    return [_stop(run, around, horizon)]


def _without_plan(run: RunState, around: Surroundings, gone: float) -> Command:
    """Nothing is claimed while the plan's files are gone; a checkout or a stash may bring them back in a moment."""
    plan = run.begun.plan
    if around.claimed or gone < GONE_GRACE:
        return Wait(reason=f"the plan {plan} is gone", until=around.now + GONE_GRACE)
    reason = f"the plan {plan} is gone: restore it (git stash pop, git checkout -- {plan}), then drumline resume"
    return ParkRun(gates=tuple(gate.opened.gate for gate in run.open_gates), reason=reason)


def _paused(run: RunState, pause: PauseRequested) -> ParkRun:
    """What a run comes to that a person paused, once nothing is at work in it any more."""
    who, why = f" by {pause.by}" if pause.by else "", f": {pause.reason}" if pause.reason else ""
    return ParkRun(gates=tuple(gate.opened.gate for gate in run.open_gates), reason=f"paused{who}{why}")


def resume(run: RunState, driver: DriverId) -> list[Event]:
    """What a driver records that resumes a run; nothing for one whose walk came to its end."""
    reopened = take_up(run)
    over = run.ended is not None and not run.lands and run.finished and not reopened
    return [] if over else [RunResumed(driver=driver), *reopened]


def take_up(run: RunState) -> list[StepReopened]:
    """What a resume reopens: steps whose checks this machine could not run, those whose work was killed, open walks."""
    blocked = [f.step for f in run.finished.values() if is_hindered(f)]
    return [StepReopened(step=step, reason=RESUMED if step in RUN_WALKS else HINDERED) for step in blocked]


def is_hindered(finished: StepFinished) -> bool:
    """Whether a step is blocked for a cause that is not its work's: a resume tries it again, as a walk of the run."""
    if finished.step in RUN_WALKS:
        return finished.state is not StepEnd.DONE
    if finished.state is not StepEnd.BLOCKED:
        return False
    return finished.failure == UNFINISHED or not is_work(finished.failure)


def _branch(run: RunState, around: Surroundings) -> list[Command]:
    """What the run branch asks for before anything else: landings to record, or what somebody else did to it."""
    if around.branch is None:
        return []
    found: list[Command] = [
        Adopt(step=step, commit=commit, tree=tree)
        for step, commit, tree in around.branch.unknown
        if step in run.plan.by_id and step not in run.finished and step not in around.claimed
        if not (step in run.working and run.names_flow(step))  # its walk records it, and does what comes after it
    ]
    if found or around.branch.is_sound:
        return found
    return [settle(run, around.branch, by_person=around.quiet, busy=bool(around.claimed))]


def _declarations(run: RunState, around: Surroundings, odd: frozenset[StepId]) -> list[Command]:
    """What files say that is settled; `odd` are the steps whose files do not say ready."""
    fresh = odd.difference(run.finished, run.declared, run.working)
    marked = {name: around.marks[name].status for name in fresh}
    steps = run.plan.steps if fresh else ()
    found = tuple(
        step.id
        for step in steps
        if step.id in fresh and marked[step.id] is Status.DONE and step.id not in around.unmerged
    )
    skipped = [
        Close(step=step.id, state=StepEnd.SKIPPED, reason=around.marks[step.id].reason or "its file says skipped")
        for step in (run.selected() if fresh else ())
        if step.id in fresh and marked[step.id] is Status.SKIPPED and not run.rounds.get(step.id)
    ]
    withdrawn = [
        Reopen(step=step, reason="its file says ready again", redo=_has_landed(run, step))
        for step in _list_withdrawable(run, around)
        if _is_withdrawn(run, step, around)
    ]
    return [*([Declare(steps=found)] if found else []), *skipped, *withdrawn]


def _list_withdrawable(run: RunState, around: Surroundings) -> list[StepId]:
    """The settled steps that people may want driven again; those that landed only once somebody was asked."""
    asked = any(key.startswith(f"{GateKind.REDO}-") for key in run.asked)
    over = [name for name, finished in run.finished.items() if asked or finished.state is not StepEnd.DONE]
    declared = [name for name in run.declared if name in around.marks and around.marks[name].status is Status.READY]
    return [*sorted(declared), *over]


def _healings(run: RunState, around: Surroundings) -> list[Command]:
    return (
        [
            Heal(step=step, by=name)
            if is_healed(run, step, name)
            else Reopen(step=step, reason=f"its corrective step {name} is done")
            for step, name in list_helped(run)
        ]
        + [
            Close(step=name, state=StepEnd.SKIPPED, reason=run.finished[name].reason + tell_superseded(step))
            for step, name in list_superseded(run)
        ]
        + [
            Close(step=name, state=StepEnd.SKIPPED, reason=tell_idle(run, step, name))
            for step, name in list_idle(run)
            if name not in around.claimed
        ]
        + [_after_vain_healing(run, step, name) for step, name in list_unhelped(run)]
    )


def _after_vain_healing(run: RunState, step: StepId, name: StepId) -> Command:
    """What follows a corrective step that did not get through: another way, or what a person has to know."""
    again = is_stuck(run, name) and has_heals_left(run.plan.by_id[step], run, retries=run.begun.retries)
    if again:
        return Reopen(step=step, reason=f"its corrective step {name} is blocked", heal=True)
    tried, reason = (*run.finished[step].tried, name), explain_unhealed(run, step, name)
    opens = open_stuck(run, run.plan.by_id[step], GateKind.FAILURE, reason=reason)
    return Close(step=step, state=StepEnd.BLOCKED, reason=reason, tried=tried, opens=opens)


def _has_landed(run: RunState, step: StepId) -> bool:
    finished = run.finished.get(step)
    return finished is not None and finished.state is StepEnd.DONE


def _is_withdrawn(run: RunState, step: StepId, around: Surroundings) -> bool:
    """Whether people want a settled step driven: set back to ready in its file, and asked about if it has landed."""
    finished = run.finished.get(step)
    if finished is None:
        return step in around.marks and around.marks[step].status is Status.READY
    if not _has_landed(run, step):
        return _is_set_back(run, step, around)
    if not run.count_asked(GateKind.REDO, step):  # nearly always, and asked of every step that is done
        return False
    asked = run.find_gate(GateKind.REDO, step, run.rounds.get(step, 0))
    return asked is not None and asked.answer is not None and asked.answer.choice == gates.AGAIN


def _is_set_back(run: RunState, step: StepId, around: Surroundings) -> bool:
    """Whether somebody wrote ready over the final mark that this run had left in a step's file."""
    last, marks = run.mirrored.get(step), around.marks.get(step)
    final = last is not None and last.marks.status not in (Status.READY, Status.CLAIMED)
    return final and marks is not None and marks.status is Status.READY


def _stopped_at(run: RunState) -> EndRun | None:
    """The end that a person wants after a wave; steps in work are finished first, no further ones begin."""
    gate = find_stop(run)
    if gate is None or gate.answer is None:
        return None
    comment = f": {gate.answer.comment}" if gate.answer.comment else ""
    return EndRun(state=RunEnd.FAILED, reason=f"stopped by a person at gate {gate.opened.gate}{comment}")


def _refusals(run: RunState, around: Surroundings, horizon: Horizon) -> list[Command]:
    """Steps that a person turned down at a gate: for their commands, or for their needs unless these are met by now."""
    brought = (*list_run_walks(run, around), *run.selected()) if around.untrusted else ()
    refused: list[Command] = [
        Close(step=step.id, state=StepEnd.BLOCKED, reason=blocker.text)
        for step in brought
        if step.id in around.untrusted and not settled(run, step.id) and step.id not in around.claimed
        if (blocker := obstacle(run, step, around, horizon)) is not None and blocker.kind is Hindrance.REFUSED
    ]
    if not run.begun.named:
        return refused
    reason = "its needs are not done; a person said not to proceed"
    return refused + [
        Close(step=step.id, state=StepEnd.BLOCKED, reason=reason)
        for step in run.selected()
        if run.answer(gates.proceed_id(step.id)) == gates.NO and not settled(run, step.id) and horizon.find_unmet(step)
    ]


def _questions(run: RunState, around: Surroundings, horizon: Horizon, odd: frozenset[StepId]) -> list[Command]:
    found: list[Command] = [*_ask_again(run)]
    level = find_due_wave(run, horizon.barrier)
    if level is not None:
        items = list_unasked(run)
        again = all(item.step in run.corrections for item in items)
        found.append(Ask(opens=gates.wave(level, items, asked=count_waves(run, level), again=again)))
    for step in _list_questionable(run, around, odd):
        if settled(run, step.id) or step.id in around.claimed:
            found += _ask_to_redo(run, step, around)
            continue
        blocker = obstacle(run, step, around, horizon)
        if blocker is not None and blocker.kind is Hindrance.UNTRUSTED:
            found.append(Ask(opens=gates.trust(step, around.untrusted[step.id])))
        if blocker is not None and blocker.kind is Hindrance.UNOWNED:
            found.append(Ask(opens=gates.claim(step, around.marks[step.id])))
        if blocker is not None and blocker.kind is Hindrance.NEEDS and _asks_to_proceed(run, step, horizon):
            found.append(Ask(opens=gates.proceed(step, horizon.find_unmet(step))))
    return [ask for ask in found if isinstance(ask, Ask) and ask.opens.gate not in run.gates]


def _ask_again(run: RunState) -> list[Command]:
    """The questions about blocked steps at which a person had stopped the run, which was resumed since."""
    stopped = [gate for gate in run.gates.values() if gate.withdrawn is not None and gate.opened.kind in STUCK]
    found: list[Command] = []
    for opened in (gate.opened for gate in stopped):
        finished, step = run.finished.get(opened.step), run.plan.by_id.get(opened.step)
        last = run.find_gate(opened.kind, opened.step, run.rounds.get(opened.step, 0))
        if step is None or finished is None or finished.state is not StepEnd.BLOCKED or last is None:
            continue
        again = open_stuck(run, step, opened.kind, reason=opened.asks) if last.opened is opened else None
        found += [Ask(opens=again)] if again is not None else []
    return found


def _list_questionable(run: RunState, around: Surroundings, odd: frozenset[StepId]) -> list[Step]:
    """The steps about which something may have to be asked: what they bring, who has them, or whether to go on."""
    set_back = (run.finished.keys() - odd) & around.marks.keys()
    taken = [name for name in odd.difference(run.finished) if around.marks[name].status is CLAIMED]
    wanted = {*around.untrusted, *set_back, *taken}
    steps = run.selected() if wanted or run.begun.named else []
    return [*list_run_walks(run, around), *(s for s in steps if run.begun.named or s.id in wanted)]


def _ask_to_redo(run: RunState, step: Step, around: Surroundings) -> list[Command]:
    """The question whether a step that has landed is done once more, if its file was set back and it is not asked."""
    if not _has_landed(run, step.id) or not _is_set_back(run, step.id, around):
        return []
    finished, current = run.finished[step.id], run.rounds.get(step.id, 0)
    asked = run.find_gate(GateKind.REDO, step.id, current)
    if asked is not None and asked.answer is None:
        return []
    before = run.count_asked(GateKind.REDO, step.id)
    return [Ask(opens=gates.redo(step, current, asked=before, commit=finished.commit or ""))]


def _asks_to_proceed(run: RunState, step: Step, horizon: Horizon) -> bool:
    """Only for steps asked for by name, and only about needs that this run will not meet itself."""
    chosen = run.begun.selection
    if not run.begun.named or chosen is None:
        return False
    return any(need not in set(chosen) for need in horizon.find_unmet(step))


def _stop(run: RunState, around: Surroundings, horizon: Horizon) -> Command:
    """Nothing is running and nothing can be claimed: say why, in the order in which it can change."""
    left = [step for step in (*run.selected(), *list_run_walks(run, around)) if not settled(run, step.id)]
    blockers = [(step, obstacle(run, step, around, horizon)) for step in left]
    # Once nothing is left to pay for, nobody has to say whether to go on paying.
    asked = [gate.opened for gate in run.open_gates if left or gate.opened.kind is not GateKind.BUDGET]
    open_gates: tuple[GateId, ...] = tuple(opened.gate for opened in asked)
    waiting = _wait([b for _, b in blockers if b is not None], around, open_gates)
    if waiting is not None:
        return waiting
    if any(opened.kind is not GateKind.ACCEPT and opened.kind not in STUCK for opened in asked):
        return ParkRun(gates=open_gates)
    return _end(run, [(step, b) for step, b in blockers if b is not None])


def _wait(blockers: Sequence[Obstacle], around: Surroundings, open_gates: tuple[GateId, ...]) -> Command | None:
    """Stay for what comes by itself; the run is parked if that is only a quota, and far away."""
    timers = [blocker for blocker in blockers if blocker.until is not None]
    if not timers:
        return None
    resets = [blocker.until for blocker in timers if blocker.kind is Hindrance.QUOTA and blocker.until is not None]
    if len(resets) < len(timers):
        return Wait(reason=next(blocker.text for blocker in timers if blocker.kind is not Hindrance.QUOTA))
    first = min(resets)
    if first - around.now > around.patience:
        return ParkRun(gates=open_gates, until=first)
    return Wait(reason=timers[0].text, until=first)


def _end(run: RunState, left: Sequence[tuple[Step, Obstacle]]) -> Command:
    names = (PREFLIGHT, *(step.id for step in run.selected()), FINAL)
    finished = [run.finished[name] for name in names if name in run.finished]
    failed = sorted((f for f in finished if f.state is StepEnd.FAILED), key=lambda f: f.rejected)
    blocked = [f for f in finished if f.state is StepEnd.BLOCKED]
    if failed:
        return _end_with(run, RunEnd.FAILED, failed[0])
    if blocked:
        return _end_with(run, RunEnd.BLOCKED, blocked[0])
    if left:
        step, found = left[0]
        return EndRun(state=RunEnd.BLOCKED, reason=f"{step.id}: {found.text}", step=step.id)
    return _accept(run) or EndRun(state=RunEnd.DONE)


def _accept(run: RunState) -> Command | None:
    """What a run waits for, or ends with, whose steps are all done, but some below the level that they must reach."""
    doubts = list_doubts(run)
    if not doubts:
        return None
    asked = find_question(run)
    if asked is None or asked.opened.doubts != doubts or run.answer(asked.opened.gate) == gates.TAKEN_BACK:
        return Ask(opens=gates.accept(doubts, asked=run.count_asked(GateKind.ACCEPT, NO_STEP)))
    if asked.answer is None:
        return ParkRun(gates=(asked.opened.gate,))
    comment = f": {asked.answer.comment}" if asked.answer.comment else ""
    return EndRun(state=RunEnd.FAILED, reason=f"not accepted by a person at gate {asked.opened.gate}{comment}")


def _end_with(run: RunState, state: RunEnd, finished: StepFinished) -> EndRun:
    """The end of a run for the reason of a step, which is named where a run has several."""
    reason = f"{finished.step}: {finished.reason}" if run.lands else finished.reason
    return EndRun(state=state, reason=reason, step=finished.step)
