"""Visits of `plan` nodes: what they plan is recorded, written into the plan's files, and recorded again.

The rule: a visit whose driver died continues what it had planned, and whatever it plans is one append.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import anyio

from drumline.core.corrections import list_planned
from drumline.core.events import CorrectionRefused, Event, RevisionRefused
from drumline.core.flow.model import ANNOTATE, APPLY, CORRECT, PlanNode
from drumline.core.flow.outcome import Outcome
from drumline.core.life import Phase
from drumline.core.stepstate import StepState
from drumline.core.sweeps import Sweep
from drumline.core.taxonomy import Failure
from drumline.engine.nodes.plan import file_correction, plan_correction, plan_review_steps
from drumline.engine.nodes.revise import file_revision, plan_revisions
from drumline.engine.nodes.stepwork import Ledger, Note, StepWork
from drumline.engine.nodes.sweep import add_sweep
from drumline.engine.nodes.visit import Visit
from drumline.errors import InvalidInput
from drumline.record import replace


async def change_plan(node: PlanNode, visit: Visit, work: StepWork, state: StepState, *, ledger: Ledger) -> Outcome:
    """Write corrective steps into the plan's files; a visit whose driver died continues what it had planned."""
    if node.edit in (ANNOTATE, APPLY):
        return await _revise(node, work, state, ledger=ledger)
    run, key = work.run, visit.key
    planned = list_planned(run, work.orders.step.id, scope=key.scope, node=key.node, visit=key.visit)
    if not planned:
        try:
            if node.edit == CORRECT:
                planned = plan_review_steps(node, visit, run, state)
            else:
                planned = [plan_correction(node, visit, run, kept=await _keep_last(work, state))]
        except InvalidInput as error:
            return Outcome(failure=str(error), failure_class=Failure.VALIDATION.value)
        await _record(ledger, work, list(planned))
    names = [one.correction.id for one in planned]
    for one in planned:
        if one.correction.id in run.plan.by_id:
            continue
        filed = await file_correction(work.services.planfiles, run, one, beside=names)
        ledger.keep(Note(run=[filed]))
        if isinstance(filed, CorrectionRefused):
            return Outcome(failure=filed.reason, failure_class=Failure.PERMANENT.value)
    return Outcome(output={"step": names[0], "steps": ", ".join(names), "helps": planned[0].helps})


async def _revise(node: PlanNode, work: StepWork, state: StepState, *, ledger: Ledger) -> Outcome:
    """Write what a sweep says for later steps; what the plan's files do not take is told, and keeps nothing back."""
    run = work.run
    if state.swept is None:
        return Outcome(failure="no sweep was made", failure_class=Failure.VALIDATION.value)
    sweep = state.swept.sweep
    planned = plan_revisions(node, run, work.orders.step.id, sweep)
    if fresh := [one for one in planned if one.id not in run.revisions]:
        await _record(ledger, work, list(fresh))
    refused: dict[str, str] = {}
    for one in planned:
        if one.id in run.revisions and one.id not in run.unrevised:
            continue
        filed = await file_revision(work.services.planfiles, run, one)
        ledger.keep(Note(run=[filed]))
        if isinstance(filed, RevisionRefused):
            refused[one.about] = filed.reason
    found = _mark(sweep, {one.about for one in planned}, refused, applies=node.edit == APPLY)
    return replace(add_sweep(Outcome(), found, state), notices=tuple(refused.values()))


def _mark(sweep: Sweep, planned: Collection[str], refused: Mapping[str, str], *, applies: bool) -> Sweep:
    """The sweep with what became of what it wanted."""
    if not applies:
        noted = [replace(one, fault=refused.get(one.step, "")) for one in sweep.annotations]
        return replace(sweep, annotations=tuple(noted))
    done = [
        replace(one, fault=one.fault or refused.get(one.id, ""), applied=one.id in planned and one.id not in refused)
        for one in sweep.proposals
    ]
    return replace(sweep, proposals=tuple(done))


async def _record(ledger: Ledger, work: StepWork, events: list[Event]) -> None:
    with anyio.CancelScope(shield=True):
        await ledger.record(Note(run=events))
    work.line.settle()


async def _keep_last(work: StepWork, state: StepState) -> str:
    """The commit under which the work that failed is kept; empty if there is none."""
    if state.phase is not Phase.WORKED or state.tree is None or state.base is None:
        return ""
    return await work.services.workspaces.keep(work.orders.step.id, str(state.attempts), state.tree, base=state.base)
