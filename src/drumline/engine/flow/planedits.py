"""Visits of `plan` nodes: what they plan is recorded, written into the plan's files, and recorded again.

The rule: a visit whose driver died goes on with what it had planned, and whatever it plans is one append.
"""

from __future__ import annotations

import anyio

from drumline.core.corrections import list_planned
from drumline.core.events import CorrectionRefused, Event
from drumline.core.flow.model import CORRECT, PlanNode
from drumline.core.flow.outcome import Outcome
from drumline.core.life import Phase
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import Failure
from drumline.engine.nodes.plan import file_correction, plan_correction, plan_review_steps
from drumline.engine.nodes.stepwork import Ledger, Note, StepWork
from drumline.engine.nodes.visit import Visit
from drumline.errors import InvalidInput


async def change_plan(node: PlanNode, visit: Visit, work: StepWork, state: StepState, *, ledger: Ledger) -> Outcome:
    """Write corrective steps into the plan's files; a visit whose driver died goes on with what it had planned."""
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


async def _record(ledger: Ledger, work: StepWork, events: list[Event]) -> None:
    with anyio.CancelScope(shield=True):
        await ledger.record(Note(run=events))
    work.line.settle()


async def _keep_last(work: StepWork, state: StepState) -> str:
    """The commit under which the work that failed is kept; empty if there is none."""
    if state.phase is not Phase.WORKED or state.tree is None or state.base is None:
        return ""
    return await work.services.workspaces.keep(work.orders.step.id, str(state.attempts), state.tree, base=state.base)
