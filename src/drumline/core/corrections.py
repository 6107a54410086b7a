"""Corrective steps: what they are called, and what follows once one is done, or did not get through.

The rule: a step that is blocked gets another round when the corrective step that was planned for it is done. If that
one is blocked by its checks, the step is diagnosed once more, until two corrective steps were tried.
"""

from __future__ import annotations

from drumline.core.checklist import list_carried, list_own
from drumline.core.events import CorrectionPlanned
from drumline.core.gateevents import GateAnswered, GateOpened, ManualItem
from drumline.core.ids import StepId
from drumline.core.needs import is_skipped, satisfied
from drumline.core.plan import Correction, Step
from drumline.core.state import RunState
from drumline.core.vocabulary import QUICK, PlanCause, StepEnd

_AFTER_LANDING = (PlanCause.MANUAL, PlanCause.REVIEW)
"""Why corrective steps are planned for steps that have landed."""
MOST_HEALS = 2
"""How many corrective steps a step gets before it stays blocked."""


def name_correction(run: RunState, helps: StepId, letter: str = "h") -> StepId:
    """The id of the next corrective step for a step: `3h`, then `3h2`, `3h3`."""
    taken = {*run.plan.by_id, *run.corrections, *run.removed}
    number, name = 1, StepId(f"{helps}{letter}")
    while name in taken:
        number += 1
        name = StepId(f"{helps}{letter}{number}")
    return name


def count_corrections(run: RunState, helps: StepId) -> int:
    """How many corrective steps were planned for a step that failed so far."""
    return sum(run.corrections[name].helps == helps for name in list_heals(run))


def list_heals(run: RunState) -> list[StepId]:
    """The corrective steps for steps that failed, and not for what people or reviews found after a landing."""
    return [name for name, planned in run.corrections.items() if planned.cause not in _AFTER_LANDING]


def send_back(run: RunState, asked: GateOpened, answered: GateAnswered) -> list[CorrectionPlanned]:
    """The corrective steps for landed steps of which a person found something not good: one for each step."""
    wrong: dict[StepId, list[ManualItem]] = {}
    for number in answered.items:
        item = asked.items[number - 1]
        wrong.setdefault(item.step, []).append(item)
    return [_send_back(run, step, items, answered) for step, items in wrong.items() if step in run.plan.by_id]


def _send_back(run: RunState, step: StepId, items: list[ManualItem], answered: GateAnswered) -> CorrectionPlanned:
    definition, commit = run.plan.by_id[step], items[0].commit
    listed = "\n".join(f"- {item.text}" for item in items)
    landed = f" as {commit}" if commit else ""
    planned = run.corrections.get(step)
    helps = planned.helps if planned is not None and planned.cause is PlanCause.MANUAL else step
    correction = Correction(
        id=name_correction(run, helps, "m"),
        title=f"Put right what {step} landed",
        what=f"{step} ({definition.title}) has landed{landed}. A person verified it by hand and says:\n\n"
        f"{answered.comment}\n\nThis was not good:\n\n{listed}",
        why=f"gate {answered.gate}: {answered.comment}",
        files=definition.files,
        checks=list_carried(run, run.plan.by_id.get(helps, definition)),
    )
    return CorrectionPlanned(
        correction=correction,
        helps=helps,
        cause=PlanCause.MANUAL,
        origin=helps,
        node="",
        visit=0,
        round=run.rounds.get(helps, 0),
        origin_round=run.rounds.get(helps, 0),
        items=tuple(item.text for item in items),
    )


def find_sent_back(run: RunState, step: StepId) -> StepId | None:
    """The latest corrective step for a landed step that a person called not good; None if nobody did."""
    made = [name for name, one in run.corrections.items() if one.helps == step and one.cause is PlanCause.MANUAL]
    return made[-1] if made else None


def may_heal(step: Step, run: RunState, *, retries: int) -> bool:
    """Whether a corrective step may be planned for a step that fails its own checks: where it is fixed at all."""
    asked = is_asked_for(run, step.id) and bool(step.checks) and step.id not in run.corrections
    return asked or has_heals_left(step, run, retries=retries)


def has_heals_left(step: Step, run: RunState, *, retries: int) -> bool:
    """Whether a step that fails its own checks is healed without a person asking for it."""
    wanted = run.begun.rigor not in ("", QUICK) and retries > 0 and bool(step.checks)
    return wanted and step.id not in run.corrections and count_corrections(run, step.id) < MOST_HEALS


def is_asked_for(run: RunState, step: StepId) -> bool:
    """Whether the present round of a step is about its diagnosis: a person wants it, or another way was in vain."""
    return step in run.reopened and run.reopened[step].heal


def is_healed(run: RunState, step: StepId, by: StepId) -> bool:
    """Whether all checks of a step have passed on what landed with its corrective step."""
    finished = run.finished[by]
    passed = {check.command for check in list_own(run, run.plan.by_id[by])}
    wanted = {check.command for check in list_own(run, run.plan.by_id[step])}
    ran = finished.checks_passed == finished.checks_total >= len(wanted)
    return bool(wanted) and wanted <= passed and ran


def list_planned(run: RunState, origin: StepId, *, scope: str, node: str, visit: int) -> list[CorrectionPlanned]:
    """What a visit has planned before its driver died."""
    made = (origin, scope, node, visit)
    same = [p for p in run.corrections.values() if (p.origin, p.scope, p.node, p.visit) == made]
    # Visits are counted anew in each round.
    return [p for p in same if (p.round, p.origin_round) == (run.rounds.get(p.helps, 0), run.rounds.get(origin, 0))]


def list_helped(run: RunState) -> list[tuple[StepId, StepId]]:
    """Blocked steps whose corrective step, planned in the round that they are in, is done; each with that one."""
    return [
        (planned.helps, name)
        for name, planned in run.corrections.items()
        if name in run.plan.by_id and name in run.finished and satisfied(run, name)
        if _is_blocked(run, planned)
    ]


def list_unhelped(run: RunState) -> list[tuple[StepId, StepId]]:
    """Blocked steps whose corrective step, planned in the round that they are in, did not get through."""
    return [
        (planned.helps, name)
        for name, planned in run.corrections.items()
        if name in run.plan.by_id and name in run.finished and not satisfied(run, name)
        if _is_blocked(run, planned) and name not in run.finished[planned.helps].tried
    ]


def list_superseded(run: RunState) -> list[tuple[StepId, StepId]]:
    """Steps that are tried again although a corrective step of an earlier round is stuck; each with that one."""
    return [
        (planned.helps, name)
        for name, planned in run.corrections.items()
        if planned.helps not in run.finished and run.rounds.get(planned.helps, 0) > planned.round
        if name in run.finished and not satisfied(run, name)
    ]


def list_idle(run: RunState) -> list[tuple[StepId, StepId]]:
    """Steps that are skipped although a corrective step of theirs has not landed; each with that one."""
    return [
        (planned.helps, name)
        for name, planned in run.corrections.items()
        if name in run.plan.by_id and is_skipped(run, planned.helps) and not satisfied(run, name)
    ]


def tell_idle(run: RunState, step: StepId, name: StepId) -> str:
    """Why a corrective step is skipped with the step that it helps, after what became of it."""
    finished = run.finished.get(name)
    return "; ".join(filter(None, (finished.reason if finished else "", f"{step} is skipped")))


def is_stuck(run: RunState, name: StepId) -> bool:
    """Whether a corrective step is blocked because of its work: another one may do better."""
    finished = run.finished[name]
    return finished.state is StepEnd.BLOCKED and bool(finished.failing) and not finished.failure


def tell_superseded(step: StepId) -> str:
    """What is added to the reason of a corrective step in whose place another one is planned."""
    return f"; {step} is tried in another way"


def list_tried(run: RunState, step: StepId) -> list[str]:
    """The corrective steps of a step, and what became of each."""
    told = []
    for name, planned in run.corrections.items():
        if planned.cause in _AFTER_LANDING or planned.helps != step:
            continue
        if (finished := run.finished.get(name)) is not None:
            reason = finished.reason.removesuffix(tell_superseded(step)) or finished.state.value
            told.append(f"{name} ({planned.correction.title}): {reason}")
    return told


def explain_unhealed(run: RunState, step: StepId, name: StepId) -> str:
    """Why a step stays blocked whose corrective steps did not get through, and what a person can do, line by line."""
    planned = run.corrections[name]
    return ";\n".join(
        (
            planned.correction.why.removeprefix(f"{step} ") or "it fails its checks",
            *(f"tried: {told}" for told in list_tried(run, step)),
            f"next: drumline retry {step} --context TEXT, drumline heal {step} or drumline skip {step}",
        )
    )


def _is_blocked(run: RunState, planned: CorrectionPlanned) -> bool:
    finished = run.finished.get(planned.helps)
    blocked = finished is not None and finished.state is StepEnd.BLOCKED
    return blocked and run.rounds.get(planned.helps, 0) == planned.round
