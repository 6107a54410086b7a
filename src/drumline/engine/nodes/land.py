"""Landing: the step's work becomes one commit on the run branch, at most once."""

from __future__ import annotations

from drumline.core import events as ev
from drumline.core.stepstate import StepState
from drumline.core.subject import write_subject
from drumline.engine.nodes.stepwork import Note, StepWork, known

MOST_NAMED = 5


async def intend(work: StepWork, state: StepState) -> Note:
    """The commit that is about to land, and the head it was made for."""
    step, workspaces = work.orders.step, work.kit.workspaces
    tree, base = known(state.tree), known(state.base)
    subject = write_subject(work.run.begun.subject, work.run.plan, step)
    commit = await workspaces.commit(step.id, tree, base=base, message=subject)
    head = state.landing_head or await workspaces.head()
    return Note(step=[ev.LandingStarted(commit=commit, tree=tree, head=head)])


async def act(work: StepWork, state: StepState) -> Note:
    """Bring the commit onto the branch, or say why it does not fit."""
    commit, head = known(state.candidate), known(state.landing_head)
    landing = await work.kit.workspaces.land(work.orders.step.id, commit, head=head)
    if landing.commit is not None:
        landed = ev.StepLanded(
            commit=landing.commit, tree=known(landing.tree), merged=landing.merged, adopted=landing.adopted
        )
        return Note(step=[landed])
    if landing.conflicts:
        named = ", ".join(landing.conflicts[:MOST_NAMED])
        reason = f"its changes conflict with what landed meanwhile in {named}"
        return Note(step=[ev.LandingRefused(reason=reason, conflicts=landing.conflicts)])
    return Note(step=[ev.LandingRefused(reason=landing.refusal, retry=landing.moved)])
