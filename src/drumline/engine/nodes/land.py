"""Landing: the step's work becomes one commit on the run branch, at most once.

The rule: what lands is the tree that was judged, on the head that it was judged on. Where the head has moved, the work
is put on the new one and judged again.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from drumline.core import events as ev
from drumline.core.stepstate import StepState
from drumline.core.subject import write_subject
from drumline.engine.nodes.stepwork import Note, StepWork, known

REBASED = "rebased"
"""The label of work that was put on another head."""


async def intend(work: StepWork, state: StepState) -> Note:
    """The commit that is about to land, and the head that it was judged on, above which its landing is looked for."""
    step, workspaces = work.orders.step, work.kit.workspaces
    tree, base = known(state.tree), known(state.base)
    subject = write_subject(work.run.begun.subject, work.run.plan, step)
    seal = work.tools.seals.find(work.kit.store, work.run.id)
    commit = await workspaces.commit(step.id, tree, base=base, message=subject, journal=str(seal))
    return Note(step=[ev.LandingStarted(commit=commit, tree=tree, head=state.landing_head or base)])


async def act(work: StepWork, state: StepState) -> Note:
    """Bring the commit onto the branch, or say why it does not fit."""
    commit, head = known(state.candidate), known(state.landing_head)
    marked = await work.kit.workspaces.find_markers(work.orders.step.id, known(state.tree), base=known(state.base))
    if marked:
        reason = f"conflict markers are left in {', '.join(marked)}"
        return Note(step=[ev.LandingRefused(reason=reason, conflicts=tuple(marked))])
    landing = await work.kit.workspaces.land(work.orders.step.id, commit, head=head)
    if landing.commit is not None:
        landed = ev.StepLanded(commit=landing.commit, tree=known(landing.tree), adopted=landing.adopted)
        return Note(step=[landed])
    if landing.behind is not None:
        reason = "other steps have landed since its base"
        return Note(step=[ev.LandingRefused(reason=reason, behind=landing.behind)])
    return Note(step=[ev.LandingRefused(reason=landing.refusal, retry=landing.moved)])


class LandingTurn:
    """The turn of a step whose work is put on another head: taken when that begins, kept until it has landed.

    Without turns every landing would make the checks of all others void that wait to land: of ten steps that end
    together the last one would be judged ten times.
    """

    def __init__(self, work: StepWork) -> None:
        self._work = work
        self._held = AsyncExitStack()
        self._taken = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._taken = False
        await self._held.aclose()

    async def take(self) -> None:
        """Wait until no other step of the run has the turn, in whichever process; nothing happens if it is ours."""
        if not self._taken:
            await self._held.enter_async_context(self._work.kit.workspaces.take_turn())
            self._taken = True


async def rebase(work: StepWork, state: StepState) -> Note:
    """Put the change that was about to land on the head that is there by now, in the step's workspace, too."""
    step, workspaces = work.orders.step.id, work.kit.workspaces
    onto = await workspaces.head()
    merged = await workspaces.merge(known(state.candidate), onto)
    await workspaces.keep(step, REBASED, merged.tree, base=onto)
    await workspaces.restore(step, merged.tree, base=onto)
    since = work.run.landed_since(known(state.base))
    moved = ev.WorkRebased(base=onto, ready=merged.onto, tree=merged.tree, conflicts=merged.conflicts, since=since)
    return Note(step=[moved])
