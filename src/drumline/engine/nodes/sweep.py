"""Sweeps for edge cases: what who looks is shown of later steps, and what is recorded of the answer.

The rule: the engine finds out what a proposal would change, before anybody is asked about it; an answer is only text.
"""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from drumline.core import events as ev
from drumline.core.flow.model import Json
from drumline.core.flow.outcome import Outcome
from drumline.core.plan import Revision, Step
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.sweeping import describe_sweep, list_later, read_sweep
from drumline.core.sweeps import Proposal, Sweep
from drumline.engine.nodes.stepwork import StepWork, known
from drumline.errors import DrumlineError
from drumline.record import replace

MOST_LATER, MOST_STEP = 20_000, 4_000
"""Characters of the texts of later steps in a prompt: of all, and of one."""


async def describe_later(work: StepWork) -> str:
    """The later steps as the plan has them, as many as fit."""
    told, left = [], MOST_LATER
    for step in list_later(work.run, work.orders.step.id):
        text = await anyio.to_thread.run_sync(_read, work, step)
        part = f"### {step.id}: {step.title}\n\n{text[: min(MOST_STEP, max(0, left))]}"
        left -= len(part)
        told.append(part if left > 0 else f"### {step.id}: {step.title}")
    return "\n\n".join(told) or "There is none."


async def record_sweep(outcome: Outcome, work: StepWork, state: StepState, *, by: str) -> Outcome:
    """The outcome of a visit with what the step records of it, and with `sweep` for the flow."""
    if outcome.waits or outcome.blocked or outcome.leaves is not None:
        return outcome
    if outcome.failure:
        return add_sweep(replace(outcome), Sweep(by=by, failure=outcome.failure), state)
    step = work.orders.step.id
    later = {one.id: one for one in list_later(work.run, step)}
    sweep = read_sweep(outcome.output, later=later, origin=step, by=by)
    drawn = [await anyio.to_thread.run_sync(_draw, work, later[one.step], one) for one in sweep.proposals]
    return add_sweep(outcome, replace(sweep, proposals=tuple(drawn)), state)


def add_sweep(outcome: Outcome, sweep: Sweep, state: StepState) -> Outcome:
    """The outcome with the sweep as it is from here on."""
    swept = ev.WorkSwept(sweep=sweep, tree=known(state.tree))
    fold_step(state, [swept])
    output: Json = None if outcome.failure else {"sweep": describe_sweep(sweep)}
    return replace(outcome, output=output, effects=(*outcome.effects, swept))


def _draw(work: StepWork, step: Step, proposal: Proposal) -> Proposal:
    """The proposal with what it would change, or with why it cannot be done."""
    revision = Revision(origin=work.orders.step.id, old=proposal.old, new=proposal.new)
    revise = partial(work.services.planfiles.revise, step, revision, write=False)
    try:
        return replace(proposal, diff=revise())
    except (DrumlineError, OSError) as error:
        return replace(proposal, fault=str(error))


def _read(work: StepWork, step: Step) -> str:
    try:
        return work.services.planfiles.text(step).strip()
    except (DrumlineError, OSError):
        return "(its file cannot be read)"
