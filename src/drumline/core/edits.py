"""Notices edits of the plan while the run goes on: hand edits win for steps not in work, others go to a gate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import StepId
from drumline.core.needs import satisfied
from drumline.core.plan import Marks, Plan, Problem, Reading, Step
from drumline.core.state import RunState
from drumline.core.validation import validate
from drumline.record import Record


class Edits(Record):
    """What an edit of the plan means for the run: events to record, and problems that keep it from counting."""

    events: tuple[ev.Event, ...] = ()
    problems: tuple[Problem, ...] = ()


def compare(run: RunState, reading: Reading, *, claimed: Collection[StepId] = ()) -> Edits:
    """What changed between the plan the run knows and the files as they are.

    A step taken out of the plan leaves it at once, or when its driver is done with it if it is `claimed`. What the
    engine is about to write itself is not an edit.
    """
    known = run.plan.by_id
    found = reading.plan.by_id
    ours = {step for planned in run.unfiled for step in (planned, run.corrections[planned].helps)}
    ours |= {run.revisions[planned].step for planned in run.unrevised}
    changed = [
        s
        for s in reading.plan.steps
        if s.id not in ours
        if s.id not in known or _differs(known[s.id], s) or _moved_elsewhere(run, reading, s)
    ]
    removed = [s.id for s in run.plan.steps if s.id not in found]
    words = _compare_words(run.plan, reading.plan)
    if not changed and not removed and not words:
        return Edits()
    problems = tuple(reading.errors) or tuple(p for p in validate(reading.plan) if p.severity.value == "error")
    if problems:
        return Edits(problems=problems)
    free = [step for step in changed if not _in_work(run, step)]
    gone = tuple(step for step in removed if step not in claimed)
    asks, restarts = _ask(run, [step for step in changed if _in_work(run, step)])
    free += restarts
    told = _plan_changed(reading, free, gone, words)
    return Edits(events=(*told, *_reopenings(run, free, restarts), *asks))


def _compare_words(known: Plan, found: Plan) -> dict[str, Any]:
    """What the plan says as a whole and said otherwise before, as fields of the event."""
    names = ("preamble", "preflight", "final", "not_run")
    return {name: getattr(found, name) for name in names if getattr(found, name) != getattr(known, name)}


def _differs(one: Step, other: Step) -> bool:
    """Whether a step says something else now; in some formats its needs follow from where it stands, not its text."""
    return one.text_digest != other.text_digest or one.needs != other.needs


def _moved_elsewhere(run: RunState, reading: Reading, step: Step) -> bool:
    """Whether people marked a step of another repository anew: no driver of ours does, and others wait for it."""
    marks = reading.marks.get(step.id, Marks())
    return bool(step.elsewhere) and marks.status is not run.marks.get(step.id, Marks()).status


def _in_work(run: RunState, step: Step) -> bool:
    return step.id in run.working


def _ask(run: RunState, edited: Sequence[Step]) -> tuple[list[ev.Event], list[Step]]:
    """Questions not asked yet, and the steps that a person wants restarted with their new text."""
    questions: list[ev.Event] = []
    restarts: list[Step] = []
    for step in edited:
        gate = gates.edit_id(step)
        if gate not in run.gates:
            questions.append(gates.edit(step))
        elif run.answer(gate) == gates.RESTART:
            restarts.append(step)
    return questions, restarts


def _plan_changed(
    reading: Reading, changed: Sequence[Step], removed: tuple[StepId, ...], words: Mapping[str, Any]
) -> list[ev.Event]:
    if not changed and not removed and not words:
        return []
    paths = {step.path for step in changed}
    if words:
        paths |= reading.digests.keys() - {step.path for step in reading.plan.steps}
    event = ev.PlanChanged(
        changed=tuple(changed),
        removed=removed,
        order=tuple(step.id for step in reading.plan.steps),
        digests={path: digest for path, digest in reading.digests.items() if path in paths},
        marks={step.id: reading.marks.get(step.id, Marks()) for step in changed},
        **words,
    )
    return [event]


def _reopenings(run: RunState, changed: Sequence[Step], restarts: Sequence[Step]) -> list[ev.Event]:
    """A changed cause gives a blocked or failed step another round; so does the answer to restart."""
    found: list[ev.Event] = []
    for step in changed:
        finished = run.finished.get(step.id)
        if step in restarts or (finished is not None and not satisfied(run, step.id)):
            found.append(ev.StepReopened(step=step.id, reason="its text was changed"))
    return found
