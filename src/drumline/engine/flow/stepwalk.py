"""Walks the flow of a plan's step: the walk of a flow, with effects on a workspace and a landing.

The rule: a step is done only if its work has landed. A walk that comes to no end, or to one that is done without a
landing, leaves its step blocked. What came of an act is recorded together with the intent of the next one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core import gates, spending
from drumline.core.asking import open_stuck
from drumline.core.decide import UNFINISHED
from drumline.core.flow.answers import write_question
from drumline.core.flow.events import FlowEnded, NodeBlocked
from drumline.core.flow.model import ApprovalNode, EndNode, LandNode, Node
from drumline.core.flow.questions import list_waiting
from drumline.core.flow.walk import RunNode
from drumline.core.ids import GateId
from drumline.core.life import Phase
from drumline.core.rounds import begin_round, find_rejection, reject
from drumline.core.stepfold import begins_walk, fold_step, list_walked
from drumline.core.steprules import KILLED, explain_kills, recover
from drumline.core.stepstate import StepState
from drumline.core.sweeping import list_shown
from drumline.core.taxonomy import MOST_KILLS
from drumline.core.verdicts import open_approval
from drumline.core.vocabulary import GateKind, StepEnd, WalkEnd
from drumline.engine.agent_call import MOST_MESSAGE
from drumline.engine.closing import Recover, adopt_changes, close_open, restore_workspace, tell_moved
from drumline.engine.figures import add_figures
from drumline.engine.finishing import add_handoff, write_end, write_run_end
from drumline.engine.flow.course import Course
from drumline.engine.flow.stack import JournalBatch, Question
from drumline.engine.flow.stepnodes import StepNodes, acts_for_step, is_steps_own, meddles
from drumline.engine.flow.walk import TRIES, Arrival, FlowWalk
from drumline.engine.nodes.mutate import has_mutants, try_landed
from drumline.engine.nodes.stepwork import Note, StepWork
from drumline.engine.nodes.visit import Noted
from drumline.engine.performer import StepPerformer
from drumline.engine.refusals import explain_refusal, find_refusal
from drumline.errors import Conflict, GitError, GitKilled, InvalidInput
from drumline.isolation.scratch import take_over_logs
from drumline.record import replace

STOPPED, PAUSED = "stopped", "paused"


@dataclass(kw_only=True)
class StepFlowWalk(FlowWalk):
    """One driver's hold on a step of a plan."""

    work: StepWork
    open_course: Callable[[], Course]
    recover: Recover = recover
    open_performer: Callable[[StepWork], StepPerformer] = StepPerformer.of

    def __post_init__(self) -> None:
        FlowWalk.__post_init__(self)
        self._nodes = StepNodes(
            work=self.work,
            perform=self.act,
            ledger=self._journal,
            driver=self.driver,
            token=self.token,
            recover=self.recover,
            open_performer=self.open_performer,
        )
        self.act = self._nodes.act
        self._journal.spent = lambda agent: self.state.spent.get(agent, {})
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
        self._journal.keep(Note(run=opening))
        try:
            await FlowWalk.go(self, [])
        except (GitError, InvalidInput) as error:
            await self._give_up(error)
        except (OSError, BaseExceptionGroup) as error:
            refusal = find_refusal(error)
            if refusal is None:
                raise
            await self._give_up(refusal)

    async def conclude_landing(self) -> None:
        """Record the landing that a dead driver made and did not record; the step is done if nothing comes after it."""
        self._load()
        if self.state.phase is not Phase.LANDING:
            return
        closed = await close_open(self.work, self.state, self.state.driver, self.recover)
        if not any(isinstance(event, ev.StepLanded) for event in closed):
            return
        fold_step(self.state, closed)
        if self._has_landed():
            await self._finish_landed(Note(step=closed))
        else:
            await self._record(closed, tell_moved(self.step, self.state, closed))

    # --- taking up ----------------------------------------------------------------------------------------------

    def _acts_alone(self, node: Node) -> bool:
        return is_steps_own(node)

    def _fold(self, events: Sequence[ev.Event]) -> None:
        """The whole stream says how far the work is; only the present walk is gone on with."""
        self._nodes.stand_on(fold_step(StepState(), events))
        walked = list_walked(events)
        self._halted = bool(walked) and isinstance(walked[-1], NodeBlocked)
        FlowWalk._fold(self, walked)

    async def _make_ready(self, opening: list[ev.Event]) -> list[ev.Event]:
        """Close what a dead driver left open, begin another round if one is due, and restore the workspace."""
        nodes = self._nodes
        self.course = replace(self.course, folder=await self.services.workspaces.assign(self.step))
        # A driver that was killed over it could not do this; nobody else writes there while the claim is ours.
        await take_over_logs(self._logs, self.services.redaction)
        self._journal.keep(nodes.count_lost(await close_open(self.work, self.state, self.state.driver, self.recover)))
        claimed = ev.StepClaimed(driver=self.driver, token=self.token)
        begun = [claimed, *self._begin_round()]
        fold_step(self.state, begun)
        self._journal.keep(Note(step=begun))
        if begins_walk(begun[-1]):  # the walk of the round before is over
            await self._record([], [])
            self._load()
        if self._was_done_by_hand():
            changed = await adopt_changes(self.work, self.state)
            fold_step(self.state, changed)
            self._journal.keep(Note(step=changed))
        await restore_workspace(self.work, self.state, self.token)
        if "" not in self._stack.flows:
            self.course = self.open_course()
        nodes.meddled = self._may_be_changed()
        return opening

    def _was_done_by_hand(self) -> bool:
        """Whether a person has answered the question that the walk waits at by working on the files."""
        answers = (self.run.answer(gate) for gate in list_waiting(self._stack.flows.values(), self.asker))
        return gates.BY_HAND in answers

    def _may_be_changed(self) -> bool:
        """Whether nodes that do not say so may have changed the work."""
        walked = self._stack.flows.get("")
        return walked is not None and any(meddles(node) for node in walked.chart.nodes.values())

    def _begin_round(self) -> list[ev.Event]:
        """The round that is due; one whose walk was halted by what this machine lacks goes on where it was."""
        due = begin_round(self.work.orders, self.state, self.run)
        match due:
            case cmd.Recheck(round=number, anew=True):
                return [ev.StepRechecked(round=number, anew=True)]
            case cmd.Recheck(round=number):
                over = (root := self._stack.flows.get("")) is not None and root.ended is not None
                return [ev.StepRestarted(round=number) if over else ev.StepRechecked(round=number)]
            case cmd.Restart(round=number):
                rewritten = self.state.round < self.run.rewritten.get(self.step, 0)
                goes_on = self._halted and not rewritten and self.work.orders.lands
                keeps = not self.work.orders.lands
                return [ev.StepRechecked(round=number) if goes_on else ev.StepRestarted(round=number, keeps=keeps)]
            case _:
                return []

    # --- recording ----------------------------------------------------------------------------------------------

    async def _record(self, events: Sequence[ev.Event], said: Sequence[ev.Event], settled: Sequence[int] = ()) -> None:
        """Append; why the step is given back or finished is in its own stream, too."""
        told: list[ev.Event] = []
        for event in said:
            told += await self._complete(event)
        left = [_release(event) for event in told if isinstance(event, ev.StepDeferred | ev.StepFinished)]
        await FlowWalk._record(self, [*events, *left], told, settled)
        self._nodes.note_recorded(events)

    async def _note(self, event: Noted) -> None:
        """Record what is known before a visit is over; an attempt changes the step's work, too."""
        await FlowWalk._note(self, event)
        fold_step(self.state, [event])

    def _records_intent(self, node: Node) -> bool:
        return acts_for_step(node) or FlowWalk._records_intent(self, node)

    async def _record_batch(self, batch: JournalBatch, said: Sequence[ev.Event]) -> None:
        """Keep the last move, too: the end of the step is recorded with it."""
        if self._stack.root.ended is None:
            await FlowWalk._record_batch(self, batch, said)
        else:
            self._journal.keep(Note(step=batch.events, run=[*said]))
        self._nodes.note_recorded(batch.events)

    async def _complete(self, event: ev.Event) -> list[ev.Event]:
        """The end of a walk that is not over, with what is known of the step's work."""
        if not isinstance(event, ev.StepFinished) or event.failure != UNFINISHED:
            return [event]
        finish = next((one for one in self._stack.left.values() if isinstance(one, cmd.Finish)), None)
        if finish is None:
            finish = cmd.Finish(state=event.state, reason=event.reason, failure=event.failure, login=event.login)
        return [await self._write_end(finish), *([finish.opens] if finish.opens else [])]

    # --- leaving ------------------------------------------------------------------------------------------------

    def _find_leave(self, batch: JournalBatch) -> list[ev.Event] | None:
        """Why the step is given back; a node of the step may say so before its visit is over."""
        over = self._stack.root.ended is not None
        if self._stack.held and not (over or batch.due or self._working or self._arrived or self._stack.left):
            batch.events.append(ev.StepReleased(reason=PAUSED))
            return []
        if over or batch.due or self._working or self._arrived or not self._stack.left:
            leaving = FlowWalk._find_leave(self, batch)
            waits = leaving and isinstance(leaving[0], ev.StepDeferred) and leaving[0].until is None
            return self._wait_at(tuple(self._open), batch) if waits else leaving
        told: list[ev.Event] = []
        for command in self._stack.left.values():
            match command:
                case cmd.Finish():
                    return [ev.StepFinished(step=self.step, state=StepEnd.BLOCKED, reason="", failure=UNFINISHED)]
                case cmd.Park(gate=gate, opens=opens):
                    told += [opens] if opens else []
                    told += self._wait_at((gate, *self._open), batch)
                case cmd.Defer(until=until, reason=reason):
                    deferred = ev.StepDeferred(step=self.step, until=until, reason=reason[:MOST_MESSAGE])
                    told.append(replace(deferred, gates=tuple(self._open)))
                case cmd.Release(reason=reason):
                    batch.events.append(ev.StepReleased(reason=reason[:MOST_MESSAGE]))
        return told

    def _wait_at(self, asked: tuple[GateId, ...], batch: JournalBatch) -> list[ev.Event]:
        """Give the step back until a gate is answered; the shipped flow has one branch, so that its gate is enough."""
        if self.run.flow_of(self.work.orders.step):
            return [ev.StepDeferred(step=self.step, gates=asked)]
        batch.events.append(ev.StepReleased(reason=f"gate {asked[0]}"))
        return []

    async def _deliver(self, ended: FlowEnded) -> None:
        """Finish the step as its walk came to its end."""
        end = self._judge_end(ended)
        finished = await self._write_end(end)
        await self._record([], [*add_handoff(self.work, self.state, finished), *([end.opens] if end.opens else [])])
        if finished.state is not StepEnd.DONE:
            return
        if has_mutants(self.work, finished):
            self.afterwards = partial(try_landed, self.work, self.state, release=self._release_workspace)
        else:
            await self._release_workspace()

    async def _release_workspace(self) -> None:
        # The step has landed and says so: a folder that is not let go must not make it blocked. A stop waits for this,
        # else the folder would stay.
        with contextlib.suppress(GitError, OSError), anyio.CancelScope(shield=True):
            await self.services.workspaces.release(self.step)

    def _judge_end(self, ended: FlowEnded) -> cmd.Finish:
        if not ended.node:
            return cmd.Finish(state=StepEnd.BLOCKED, reason=ended.reason, login=ended.login)
        if ended.status is WalkEnd.DONE and self.state.landed is None and self.work.orders.lands:
            return cmd.Finish(
                state=StepEnd.BLOCKED, reason=f"its flow came to the end {ended.node!r} without landing the work"
            )
        if ended.status is WalkEnd.DONE:
            return cmd.Finish(state=StepEnd.DONE)
        told = ended.output.strip() or ended.reason
        if ended.status is WalkEnd.REJECTED:
            return reject(find_rejection(self.run, self.step), otherwise=told)
        reason = told or f"its flow came to the end {ended.node!r}"
        return cmd.Finish(state=ended.status.of_step, reason=reason, opens=self._ask_about(ended, reason))

    def _ask_about(self, ended: FlowEnded, reason: str) -> ev.GateOpened | None:
        """The question about a step that is blocked, if its end asks one."""
        node = self._stack.root.chart.nodes[ended.node]
        kind = node.asks if isinstance(node, EndNode) and ended.status is WalkEnd.BLOCKED else ""
        if not kind or not self.work.orders.lands:
            return None
        return open_stuck(self.run, self.work.orders.step, GateKind(kind), reason=reason[:MOST_MESSAGE])

    async def _write_end(self, command: cmd.Finish) -> ev.StepFinished:
        work = self.work
        if work.orders.lands:
            end = await write_end(command, self.state, work.orders, run=self.run, workspaces=self.services.workspaces)
        else:
            end = write_run_end(command, self.state, work.orders)
        usage = spending.add_up((self.state.usage, self._journal.meter.usage))
        return replace(add_figures(end, self.state), usage=usage, said=command.said[:MOST_MESSAGE])

    async def _let_go(self) -> None:
        """Give the claim back: what was at work is lost."""
        with contextlib.suppress(Conflict):  # an append may have been cut off
            await self._record([], [])
        for _ in range(TRIES):
            self._load()
            lost = self._nodes.count_lost(await close_open(self.work, self.state, self.driver, self.recover))
            closed = [*self._stack.close_lost(self.driver), *lost.step]
            with contextlib.suppress(Conflict):
                if self._has_landed():
                    await self._finish_landed(Note(step=closed, run=lost.run))
                else:
                    await self._record([*closed, ev.StepReleased(reason=STOPPED)], lost.run)
                return

    def _has_landed(self) -> bool:
        """Whether the work has landed and nothing is left to do after that."""
        if self.state.phase is not Phase.LANDED or "" not in self._stack.flows:
            return False
        nodes = self._stack.root.chart.nodes
        after = [name for node in nodes.values() if isinstance(node, LandNode) for name in node.next]
        return all(isinstance(nodes[name], EndNode) for name in after)

    async def _finish_landed(self, note: Note) -> None:
        """Finish the step: what has landed is not skipped, also if its driver is stopped."""
        finished = await self._write_end(cmd.Finish(state=StepEnd.DONE))
        await self._record(note.step, [*note.run, *add_handoff(self.work, self.state, finished)])
        await self._release_workspace()

    async def _give_up(self, error: GitError | InvalidInput | OSError) -> None:
        """Something was refused that no rule expects: block the step with that reason instead of losing the run."""
        await self._record([], [])
        self._load()
        closed = recover(self.state, self.driver)
        with contextlib.suppress(GitError, OSError):
            closed = await close_open(self.work, self.state, self.driver, self.recover)
        lost = self._nodes.count_lost(closed)
        events = [*self._stack.close_lost(self.driver), *lost.step]
        if self.state.phase is Phase.LANDED:  # only what came after it has failed: the next claim finishes it
            await self._record([*events, ev.StepReleased(reason="landed")], lost.run)
            return
        finished = ev.StepFinished(step=self.step, state=StepEnd.BLOCKED, reason=_explain(error))
        if isinstance(error, GitKilled):
            finished = replace(finished, failure=KILLED)
        await self._record(events, [*lost.run, add_figures(finished, self.state)])

    # --- acting, questions and money ----------------------------------------------------------------------------

    async def _visit(self, command: RunNode) -> Arrival:
        if not acts_for_step(command.node):
            return await FlowWalk._visit(self, command)
        state = self._stack.find_state(command.key)
        self._time.begin(state.scope)
        try:
            return command.key, await self.act(command, self._describe(command, state))
        finally:
            self._time.end(state.scope)

    def _name_question(self, question: Question) -> GateId:
        if not _approves(question):
            return FlowWalk._name_question(self, question)
        return open_approval(self.work.orders, self.state, self.run).gate

    def _open_question(self, question: Question) -> ev.GateOpened:
        """The gate of a visit; at one that can `revise`, any text of one's own is a revision."""
        node = question.state.chart.nodes[question.key.node]
        if not _approves(question) or not isinstance(node, ApprovalNode):
            opens = FlowWalk._open_question(self, question)
            swept = self.state.swept
            return replace(opens, shown=list_shown(swept.sweep, opens.question)) if swept is not None else opens
        opens = open_approval(self.work.orders, self.state, self.run)
        told = write_question(node, question.state.view(question.key))
        return replace(opens, question=told, options=node.options)

    def _count_left(self) -> float | None:
        own = [*self.state.spent.values(), {spending.COST: self._stack.count_cost()}]
        return spending.count_left(self.run, self.step, own)


def _approves(question: Question) -> bool:
    node = question.state.chart.nodes[question.key.node]
    return isinstance(node, ApprovalNode) and gates.REVISE in node.options


def _release(said: ev.StepDeferred | ev.StepFinished) -> ev.StepReleased:
    if isinstance(said, ev.StepFinished):
        return ev.StepReleased(reason=said.state)
    if said.gates:
        return ev.StepReleased(reason=f"gate {said.gates[0]}", until=said.until)
    return ev.StepReleased(reason="quota", until=said.until)


def _explain(error: GitError | InvalidInput | OSError) -> str:
    if isinstance(error, OSError):
        return explain_refusal(error)
    if isinstance(error, GitKilled):
        return explain_kills(MOST_KILLS, str(error))
    return f"git: {error}" if isinstance(error, GitError) else error.with_hint
