"""Waves: the depths of a plan, after which a person verifies what only a person can, in critical autonomy."""

from __future__ import annotations

from itertools import count

from drumline.core import gates
from drumline.core.gateevents import ManualItem
from drumline.core.ids import Commit, GateId, StepId
from drumline.core.needs import satisfied, settled
from drumline.core.plan import Step
from drumline.core.state import Gate, RunState
from drumline.core.vocabulary import STUCK, GateKind, StepEnd


def find_barrier(run: RunState) -> int | None:
    """In critical autonomy, the first wave with items a person has still to verify: deeper steps wait for it."""
    if run.begun.autonomy != "critical" or not run.manual_waves:
        return None
    return next((level for level in run.manual_waves if _asks_for_hands(run, level)), None)


def find_open_wave(run: RunState, level: int) -> GateId | None:
    """The question about a wave that is not answered yet."""
    asked = (gates.wave_id(level, number) for number in range(count_waves(run, level)))
    return next((gate for gate in asked if gate in run.unanswered), None)


def count_waves(run: RunState, level: int) -> int:
    """How many questions about a wave were asked."""
    return next(number for number in count() if gates.wave_id(level, number) not in run.gates)


def find_stop(run: RunState) -> Gate | None:
    """The gate at which a person said to stop, unless somebody went on with the run since."""
    kinds = (GateKind.WAVE, *STUCK)
    asked = (gate for gate in run.gates.values() if gate.opened.kind in kinds and gate.answer is not None)
    return next((gate for gate in asked if gate.answer and gate.answer.choice == gates.STOP), None)


def list_remarks(run: RunState) -> list[str]:
    """What people said when they let the run go on after a wave."""
    waves = [
        gate.answer for gate in run.gates.values() if gate.opened.kind is GateKind.WAVE and gate.answer is not None
    ]
    going_on = (gates.CONTINUE, gates.NOT_GOOD)
    return [answer.comment for answer in waves if answer.choice in going_on and answer.comment.strip()]


def find_due_wave(run: RunState, level: int | None) -> int | None:
    """The depth whose gate has to be asked now, if it is that of the barrier: nothing of that wave can go on."""
    if level is None or find_open_wave(run, level) is not None:
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
    manual = [step for step in _wave(run, level) if has_items(run, step)]
    if run.answer(gates.wave_id(level)) is not None:  # only what was sent back since is asked about once more
        manual = [step for step in manual if step.id in run.corrections or _find_unsent(run, step)]
    if find_open_wave(run, level) is not None or any(unasked_items(run, step) for step in manual):
        return True
    left = [step.id for step in manual if not settled(run, step.id)]
    return bool(left) and bool(set(left) - hopeless(run))


def _wave(run: RunState, level: int) -> list[Step]:
    return [step for step in run.selected() if run.depth.get(step.id, 0) == level]


def has_items(run: RunState, step: Step) -> bool:
    """Whether a step has something that only a person can verify."""
    return bool(step.manual) or (step.id in run.corrections and bool(run.corrections[step.id].items))


def manual_items(run: RunState, step: Step) -> tuple[str, ...]:
    """Items of a step that only a person can verify, if this run did the step."""
    finished, planned = run.finished.get(step.id), run.corrections.get(step.id)
    if finished is None or finished.state is not StepEnd.DONE:
        return ()
    return (*step.manual, *(planned.items if planned else ()))


def unasked_items(run: RunState, step: Step) -> list[str]:
    """Manual items of a step that no wave gate has asked about yet, or in vain."""
    asked = {item.text for gate in run.gates.values() for item in gate.opened.items if item.step == step.id}
    asked -= _find_unsent(run, step) if asked else set()
    return [item for item in manual_items(run, step) if item not in asked]


def _find_unsent(run: RunState, step: Step) -> set[str]:
    """What a person called not good last, and the plan's files could not take a corrective step for."""
    said: dict[str, bool] = {}
    for gate in run.gates.values():
        for number, item in enumerate(gate.opened.items, 1):
            if item.step == step.id:
                said[item.text] = gate.answer is not None and number in gate.answer.items
    sent = {text for planned in run.corrections.values() for text in planned.items}
    return {text for text, refused in said.items() if refused and text not in sent}


def list_unasked(run: RunState) -> list[ManualItem]:
    """What a person has to verify now, with the commit that has it."""
    return [
        ManualItem(step=step.id, text=text, commit=_find_commit(run, step.id))
        for step in run.selected()
        for text in unasked_items(run, step)
    ]


def list_verified(run: RunState, step: StepId) -> set[str]:
    """The items of a step that a person called good; who approves of its work before it lands has seen them all."""
    answered = [gate for gate in run.gates.values() if gate.opened.items and gate.answer is not None]
    good = {
        item.text
        for gate in answered
        for number, item in enumerate(gate.opened.items, 1)
        if gate.answer is not None and gate.answer.choice in (gates.CONTINUE, gates.NOT_GOOD)
        if number not in gate.answer.items and step in _stand_for(run, item.step)
    }
    finished = run.finished.get(step)
    if finished is None or finished.state is not StepEnd.DONE or not _is_approved(run, step):
        return good
    return good | {*run.plan.by_id[step].manual}


def _is_approved(run: RunState, step: StepId) -> bool:
    asked = (gate for gate in run.gates.values() if gate.opened.kind is GateKind.APPROVE and gate.opened.step == step)
    return any(gate.answer is not None and gate.answer.choice == gates.APPROVE for gate in asked)


def _stand_for(run: RunState, step: StepId) -> tuple[StepId, ...]:
    """The step, and the one that it puts right: an item that is good now is good there."""
    planned = run.corrections.get(step)
    return (step, planned.helps) if planned is not None and planned.items else (step,)


def _find_commit(run: RunState, step: StepId) -> Commit | None:
    """What a step landed, or the corrective step that did its work."""
    finished = run.finished.get(step)
    by = run.finished.get(finished.landed_by) if finished and finished.landed_by else finished
    return by.commit if by else None
