"""What nodes do for a step of a plan: they act in its workspace, and their effects on its work are recorded as such.

The rule: one node at a time changes or judges the work, so that every proof belongs to one tree. `land` holds to the
checks that judge the step, whatever the flow says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.advance import Verdict, examine, explain_kills, recover
from drumline.core.checkfailure import explain
from drumline.core.flow.events import NodeSuspended
from drumline.core.flow.model import AgentNode, CheckNode, Json, LandNode, WorkspaceNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.relay import find_failure
from drumline.core.flow.walk import RunNode
from drumline.core.ids import NO_DRIVER, StepId, Tree
from drumline.core.life import OPEN, Phase
from drumline.core.prompt import write_feedback
from drumline.core.stepstate import StepState, fold_step, tell_foul
from drumline.core.taxonomy import MOST_KILLS, Failure
from drumline.engine.agent_call import MOST_MESSAGE, cut_notices
from drumline.engine.closing import close_open
from drumline.engine.kills import KILL_WAIT
from drumline.engine.nodes import attempt, check, compare, land, workspace
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.nodes.visit import Visit
from drumline.engine.salvage import read_work
from drumline.errors import ChildKilled, DrumlineError
from drumline.record import replace

Record = Callable[[Sequence[ev.Event]], Awaitable[None]]
Perform = Callable[[RunNode, Visit], Awaitable[Outcome]]


class BranchMoved(Exception):
    """The run branch is not where it was: the step is given back until that is settled."""


@dataclass(kw_only=True)
class StepNodes:
    """Acts for the visits of one step. `record` appends to the step's stream, `perform` acts for all other nodes."""

    work: StepWork
    perform: Perform
    record: Record
    state: StepState = field(default_factory=StepState)
    ours = True

    def __post_init__(self) -> None:
        self._turn = anyio.Semaphore(1)
        self._seen: Tree

    async def act(self, command: RunNode, visit: Visit) -> Outcome:
        """Let a visit act."""
        match command.node:
            case WorkspaceNode():
                return await self._alone(self._prepare)
            case LandNode():
                return await self._alone(self._land)
            case CheckNode(checks=()):
                return await self._alone(self._check)
            case AgentNode(read_only=read_only):
                return await self._attempt(command, visit, reader="the node" if read_only else "")
            case _:
                return await self.perform(command, visit)

    def note_recorded(self, events: Sequence[ev.Event]) -> None:
        """Let the next one act once the end of an attempt is in the journal."""
        if any(isinstance(event, ev.AttemptEnded) for event in events):
            self._turn.release()

    async def note(self, events: Sequence[ev.Event]) -> None:
        """Record effects, and fold them in."""
        with anyio.CancelScope(shield=True):  # nobody could tell whether an append that was cut off counts
            await self.record(events)
        fold_step(self.state, events)

    # --- what a check that is not the step's own sees of the workspace ------------------------------------------

    async def begin(self) -> None:
        """Remember what is there."""
        found = await read_work(self.work.kit.workspaces, self._step, base=known(self.state.base))
        self._seen = found.tree

    async def find_changes(self) -> Mapping[str, str]:
        """Paths that changed since, which are as they were again."""
        return await self.work.kit.workspaces.clean(self._step, self._seen, base=known(self.state.base))

    # --- acting -------------------------------------------------------------------------------------------------

    @property
    def _step(self) -> StepId:
        return self.work.orders.step.id

    async def _alone(self, act: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Act while no other node works on the step; what was killed from outside is lost and done again."""
        async with self._turn:
            while True:
                try:
                    return await act()
                except ChildKilled as error:
                    lost = ev.WorkLost(what=self.state.phase.value, killed=str(error))
                    await self.note([lost] if self.state.phase in OPEN else [])
                except DrumlineError:
                    await self._close()
                    raise
                if self.state.kills >= MOST_KILLS:
                    reason = explain_kills(self.state.kills, self.state.killed)
                    return Outcome(blocked=reason, failure_class=Failure.KILLED.value)
                await self.work.kit.clock.sleep(KILL_WAIT)

    async def _close(self) -> None:
        """Close what an error has left open; what reached git has landed."""
        await self.note(await close_open(self.work, self.state, NO_DRIVER, recover))

    async def _perform(self, intent: Note, act: Callable[[], Awaitable[Note]]) -> None:
        await self.note(intent.step)
        await self.note((await act()).step)

    async def _prepare(self) -> Outcome:
        if self.state.phase is Phase.WAITING:
            await self._perform(await workspace.intend(self.work), lambda: workspace.act(self.work, self.state))
        if self.state.trouble:
            return Outcome(blocked=self.state.trouble, failure_class=Failure.PERMANENT.value)
        return Outcome(output={"path": self.state.workspace})

    async def _see_changes(self) -> None:
        """Note what scripts and models changed since the last attempt: no proof is about that yet."""
        found = await read_work(self.work.kit.workspaces, self._step, base=known(self.state.base))
        if found.tree != self.state.tree:
            await self.note([ev.WorkChanged(tree=found.tree)])

    async def _check(self) -> Outcome:
        """Run every check that judges the step, and on other trees what has to be compared."""
        await self._see_changes()
        work, state = self.work, self.state
        found = examine(work.orders, state, work.run)
        while not isinstance(found, Verdict):
            if isinstance(found, cmd.RunCheck):
                await self._run_check(found)
            else:
                await self._compare(found)
            found = examine(work.orders, state, work.run)
        if found is Verdict.FAILED and state.hindered is not None:
            hindered = state.hindered
            reason = explain(hindered.failure, command=hindered.command, evidence=hindered.evidence)
            return Outcome(blocked=reason, failure_class=hindered.failure)
        return Outcome(output=self._describe(found))

    async def _run_check(self, command: cmd.RunCheck) -> None:
        await self._perform(check.intend(command, self.state), lambda: check.act(self.work, command, self.state))

    async def _compare(self, command: cmd.Compare) -> None:
        await self._perform(compare.intend(command), lambda: compare.act(self.work, command, self.state))

    def _describe(self, verdict: Verdict) -> Mapping[str, Json]:
        """The verdict as templates and conditions see it; `fixes_left` is what the setting `retries` leaves."""
        state = self.state
        faults = () if verdict is Verdict.PASSED else state.faults()
        foul = tell_foul(state) if verdict is Verdict.FOUL else ""
        return {
            "passed": verdict is Verdict.PASSED,
            "failed": ", ".join(ended.command for ended in faults),
            "output": "\n".join(ended.output for ended in faults),
            "feedback": "\n\n".join(part for part in (foul, write_feedback(faults)) if part),
            "fixes": state.fixes,
            "fixes_left": max(0, self.work.orders.retries - state.fixes),
        }

    async def _land(self) -> Outcome:
        if self.state.landed is None and (refusal := await self._find_refusal()):
            return Outcome(output={"refused": refusal})
        if self.state.landed is None:
            with anyio.CancelScope(shield=True):  # what has landed is recorded before a stop is heard
                await self._perform(await land.intend(self.work, self.state), lambda: land.act(self.work, self.state))
        refused = self.state.refused
        if self.state.landed is not None:
            return Outcome(output={"commit": self.state.landed.commit})
        if refused is not None and refused.retry:
            raise BranchMoved
        return Outcome(output={"refused": refused.reason if refused else "it did not land"})

    async def _find_refusal(self) -> str:
        """Why the work may not land, whatever the flow says; empty if it may."""
        await self._see_changes()
        work, state = self.work, self.state
        edits = [gate.opened.gate for gate in work.run.open_gates if _asks_about_edit(gate.opened, self._step)]
        if edits:
            return f"its text was edited; answer gate {edits[0]} first"
        match examine(work.orders, state, work.run):
            case cmd.RunCheck(check=pending):
                return f"the check `{pending.command}` has not run since the work was changed last"
            case Verdict.FAILED:
                return f"checks fail: {', '.join(ended.command for ended in state.failing())}"
            case Verdict.FOUL:
                return tell_foul(state)
            case cmd.Compare():
                return "its checks were not compared with the tree before the work; a `check` node does that"
            case _:
                return ""

    async def _attempt(self, command: RunNode, visit: Visit, *, reader: str) -> Outcome:
        """Let an agent work, and keep what it left; the next node acts once that is recorded."""
        await self._turn.acquire()
        try:
            return await self._make_attempt(command, visit, reader=reader)
        except DrumlineError:
            await self._close()
            self._turn.release()
            raise
        except BaseException:
            self._turn.release()
            raise

    async def _make_attempt(self, command: RunNode, visit: Visit, *, reader: str) -> Outcome:
        state, clock = self.state, self.work.kit.clock
        await self._see_changes()
        number, before, began = state.reached + 1, state.tree, clock.now()
        asked = visit.relay.asked if visit.relay else None
        started = ev.AttemptStarted(
            node=command.key.node,
            attempt=number,
            tree=known(before),
            agent=asked.agent if asked else "",
            session=asked.session if asked else "",
            new_session=asked.new_session if asked else "",
            budget=visit.budget,
        )
        await self.note([started])
        outcome = await self.perform(command, visit._replace(attempt=number))
        kept = await attempt.keep_work(self.work, state, number, reader=reader)
        if kept.undone:
            outcome = replace(
                outcome, output=None, failure=kept.undone, failure_class=Failure.VALIDATION.value, relayed=None
            )
        ended = _end_attempt(started, outcome, kept, seconds=round(max(0.0, clock.now() - began), 3))
        if not reader and kept.tree == before and not ended.failure and not ended.question:
            ended, outcome = replace(ended, unchanged=True), replace(outcome, unchanged=True)
        fold_step(state, [ended])
        return replace(outcome, effects=(ended,))


def _end_attempt(
    started: ev.AttemptStarted, outcome: Outcome, kept: attempt.Kept, *, seconds: float
) -> ev.AttemptEnded:
    relayed = outcome.relayed if isinstance(outcome.relayed, NodeSuspended) else None
    told = relayed.failure if relayed else outcome.failure_class if outcome.failure else ""
    failed = bool(told) or (relayed is None and bool(outcome.failure))
    failure = find_failure(told) or (Failure.PERMANENT if failed else None)
    message = (
        relayed.message if relayed else outcome.failure or (outcome.output if isinstance(outcome.output, str) else "")
    )
    return ev.AttemptEnded(
        node=started.node,
        attempt=started.attempt,
        tree=kept.tree,
        failure=failure.value if failure else "",
        message=message[:MOST_MESSAGE],
        seconds=seconds,
        usage=outcome.usage,
        session=relayed.session if relayed else "",
        question=relayed.question if relayed and not failure else "",
        resets_at=relayed.resets_at if relayed else None,
        notices=cut_notices((kept.left, *outcome.notices) if failure and kept.left else outcome.notices),
        touched=kept.touched,
        ignored=kept.ignored,
    )


def _asks_about_edit(opened: ev.GateOpened, step: StepId) -> bool:
    return opened.kind == "edit" and opened.step == step
