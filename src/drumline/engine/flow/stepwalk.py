"""Walks the flow that a step of a plan names: the walk of a flow, with effects on a workspace and a landing.

The rule: a step is done only if its work has landed. A walk that comes to no end, or to one that is done without a
landing, leaves its step blocked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.advance import recover
from drumline.core.decide import UNFINISHED
from drumline.core.flow.events import FlowEnded
from drumline.core.life import WALKING, Phase
from drumline.core.stepstate import StepState, fold_step
from drumline.engine.closing import Recover, close_open, restore_workspace
from drumline.engine.figures import add_figures
from drumline.engine.finishing import write_end
from drumline.engine.flow.course import Course
from drumline.engine.flow.stepnodes import BranchMoved, StepNodes
from drumline.engine.flow.walk import TRIES, FlowWalk
from drumline.engine.nodes.stepwork import StepWork
from drumline.engine.refusals import explain_refusal, find_refusal
from drumline.errors import Conflict, GitError, InvalidInput
from drumline.isolation.scratch import take_over_logs
from drumline.record import replace

STOPPED, MOVED = "stopped", "the run branch was moved"


@dataclass(kw_only=True)
class StepFlowWalk(FlowWalk):
    """One driver's hold on a step of a plan that walks a flow."""

    work: StepWork
    open_course: Callable[[], Course]
    recover: Recover = recover

    def __post_init__(self) -> None:
        self._nodes = StepNodes(work=self.work, perform=self.act, record=self._record_effects)
        self._writing = anyio.Lock()
        FlowWalk.__post_init__(self)
        self.act = self._nodes.act
        self._delivers, self._listens, self._watch = True, False, self._nodes

    @property
    def state(self) -> StepState:
        """What the step's stream says of its work."""
        return self._nodes.state

    @property
    def was_refused(self) -> bool:
        """Whether a landing was refused."""
        return self.state.refused is not None

    async def go(self, opening: list[ev.Event]) -> None:
        """Walk until the step is finished, or nothing moves before an answer or a time has come."""
        try:
            await FlowWalk.go(self, opening)
        except BranchMoved:
            await self._let_go(MOVED)
        except (GitError, InvalidInput) as error:
            await self._give_up(f"git: {error}" if isinstance(error, GitError) else error.with_hint)
        except (OSError, BaseExceptionGroup) as error:
            refusal = find_refusal(error)
            if refusal is None:
                raise
            await self._give_up(explain_refusal(refusal))

    async def conclude_landing(self) -> None:
        """Record the landing that a dead driver made and did not record; the next walk finishes the step."""
        self._load()
        if self.state.phase is Phase.LANDING:
            closed = await close_open(self.work, self.state, self.state.driver, self.recover)
            if any(isinstance(event, ev.StepLanded) for event in closed):
                await self._nodes.note(closed)

    # --- taking up ----------------------------------------------------------------------------------------------

    def _fold(self, events: Sequence[ev.Event]) -> None:
        """The whole stream says how far the work is; only the present round is walked."""
        self._nodes.state = fold_step(StepState(), events)
        begun = max((n for n, event in enumerate(events) if isinstance(event, ev.StepRestarted)), default=-1)
        walked = [event for event in events[begun + 1 :] if type(event) in WALKING]
        FlowWalk._fold(self, walked)

    async def _make_ready(self, opening: list[ev.Event]) -> list[ev.Event]:
        """Close what a dead driver left open, begin another round if one is due, and restore the workspace."""
        await take_over_logs(self._logs, self.kit.redaction)
        closed = await close_open(self.work, self.state, self.state.driver, self.recover)
        fold_step(self.state, closed)
        claimed = ev.StepClaimed(driver=self.driver, token=self.token)
        begun = self._begin_round()
        fold_step(self.state, [claimed, *begun])
        await self._record([*closed, claimed, *begun], opening)
        if any(isinstance(event, ev.StepRestarted) for event in begun):
            self._load()
        await restore_workspace(self.work, self.state, self.token)
        if "" not in self._stack.flows:
            self.course = self.open_course()
        return []

    def _begin_round(self) -> list[ev.Event]:
        """From nothing; but a walk that is not over goes on where it was, unless its task was edited since."""
        state, wanted = self.state, self.run.rounds.get(self.step, 0)
        if state.round >= wanted or (state.landed is not None and state.round >= self.run.redone.get(self.step, 0)):
            return []
        root = self._stack.flows.get("")
        goes_on = root is not None and root.ended is None and state.round >= self.run.rewritten.get(self.step, 0)
        return [ev.StepRechecked(round=wanted) if goes_on else ev.StepRestarted(round=wanted)]

    # --- recording ----------------------------------------------------------------------------------------------

    async def _record(self, events: Sequence[ev.Event], said: Sequence[ev.Event], settled: Sequence[int] = ()) -> None:
        """Append; why the step is given back or finished is in its own stream, too."""
        said = [await self._complete(event) for event in said]
        left = [_release(event) for event in said if isinstance(event, ev.StepDeferred | ev.StepFinished)]
        async with self._writing:
            await FlowWalk._record(self, [*events, *left], said, settled)
        self._nodes.note_recorded(events)

    async def _complete(self, event: ev.Event) -> ev.Event:
        """The end of a walk that is blocked, with what is known of the step's work."""
        if not isinstance(event, ev.StepFinished) or event.failure != UNFINISHED:
            return event
        return await self._write_end(cmd.Finish(state=event.state, reason=event.reason, failure=event.failure))

    async def _record_effects(self, events: Sequence[ev.Event]) -> None:
        if events:
            async with self._writing:
                await FlowWalk._record(self, events, [])

    async def _deliver(self, ended: FlowEnded) -> None:
        """Finish the step as its walk came to its end."""
        finished = await self._write_end(self._judge_end(ended))
        await self._record([], [finished])
        if finished.state == "done":
            with contextlib.suppress(GitError, OSError), anyio.CancelScope(shield=True):
                await self.kit.workspaces.remove(self.step)

    def _judge_end(self, ended: FlowEnded) -> cmd.Finish:
        if not ended.node:
            return cmd.Finish(state="blocked", reason=ended.reason)
        if ended.status == "done" and self.state.landed is None:
            return cmd.Finish(
                state="blocked", reason=f"its flow came to the end {ended.node!r} without landing the work"
            )
        if ended.status == "done":
            return cmd.Finish(state="done")
        rejected = ended.status == "rejected"
        reason = ended.output.strip() or ended.reason or f"its flow came to the end {ended.node!r}"
        return cmd.Finish(state="failed" if rejected else ended.status, reason=reason, rejected=rejected)

    async def _write_end(self, command: cmd.Finish) -> ev.StepFinished:
        work = self.work
        finished = await write_end(command, self.state, work.orders, run=self.run, workspaces=self.kit.workspaces)
        return replace(add_figures(finished, self.state), usage=self._meter.usage)

    async def _let_go(self, reason: str = STOPPED) -> None:
        """Give the claim back: what was at work is lost."""
        late = self._noted
        for _ in range(TRIES):
            self._load()
            lost = await close_open(self.work, self.state, self.driver, self.recover)
            noted = self._stack.note_late(late)
            closed = [*lost, *noted, *self._stack.close_lost(self.driver), ev.StepReleased(reason=reason)]
            with contextlib.suppress(Conflict):  # an append may have been cut off
                await self._record(closed, [])
                return

    async def _give_up(self, reason: str) -> None:
        """Something was refused that no rule expects: block the step with that reason instead of losing the run."""
        self._load()
        lost = recover(self.state, self.driver)
        with contextlib.suppress(GitError, OSError):
            lost = await close_open(self.work, self.state, self.driver, self.recover)
        fold_step(self.state, lost)
        finished = ev.StepFinished(step=self.step, state="blocked", reason=reason)
        await self._record([*lost, *self._stack.close_lost(self.driver)], [add_figures(finished, self.state)])


def _release(said: ev.StepDeferred | ev.StepFinished) -> ev.StepReleased:
    if isinstance(said, ev.StepFinished):
        return ev.StepReleased(reason=said.state)
    return ev.StepReleased(reason="waiting")
