"""What nodes do for a step of a plan: they act in its workspace, and their effects on its work are recorded as such.

The rule: one node at a time changes or judges the work, so that every proof belongs to one tree. `land` holds to the
checks that judge the step, whatever the flow says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core import handoffwriting, landing, steprules, sweeping, verdicts
from drumline.core.attempts import count_for_agent
from drumline.core.examination import Verdict
from drumline.core.flow.model import (
    HANDOFF,
    SWEEP,
    AgentNode,
    CheckNode,
    DocumentNode,
    Json,
    LandNode,
    LlmNode,
    Node,
    PlanNode,
    ScriptNode,
    SettleNode,
    WorkspaceNode,
)
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.values import overlay
from drumline.core.flow.walk import RunNode
from drumline.core.ids import DriverId, StepId, Token, Tree
from drumline.core.life import Phase
from drumline.core.reviewing import reviews_failures
from drumline.core.spending import count_usage
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import MOST_KILLS
from drumline.core.vocabulary import DocumentKind, DropCause
from drumline.engine.closing import Recover, close_open, restore_workspace, tell_moved
from drumline.engine.flow.planedits import change_plan
from drumline.engine.flow.visitattempt import VisitAttempt
from drumline.engine.kills import KILL_WAIT
from drumline.engine.nodes.attempt import Terms, read_complaint, write_node_prompt
from drumline.engine.nodes.document import write_document
from drumline.engine.nodes.evidence import tell_work
from drumline.engine.nodes.ground import leave_ground
from drumline.engine.nodes.handoff import describe_known, record_words
from drumline.engine.nodes.review import describe_change, find_reasons, name_reader, record_answer, settle_findings
from drumline.engine.nodes.stepwork import Ledger, Note, StepWork, known
from drumline.engine.nodes.strays import note_change
from drumline.engine.nodes.sweep import describe_later, record_sweep
from drumline.engine.nodes.visit import Visit
from drumline.engine.orienting import tell_missing
from drumline.engine.performer import StepPerformer
from drumline.engine.salvage import read_work
from drumline.errors import ChildKilled, DrumlineError, GitKilled
from drumline.profiles import DEFAULT
from drumline.record import replace

Queueing = cmd.TakeTicket | cmd.Rebase | cmd.ProveCandidate | cmd.DropTicket | cmd.AwaitTurn
Perform = Callable[[RunNode, Visit], Awaitable[Outcome]]
Act = cmd.Prepare | cmd.Attempt | cmd.RunCheck | cmd.Compare | cmd.Mutate | cmd.Undo | cmd.Land | Queueing


def is_steps_own(node: Node) -> bool:
    """Whether a node is worked on by the step's agent, as the step's own rules say."""
    if not isinstance(node, AgentNode) or node.agent != DEFAULT:
        return False
    return node.output_schema is None and not node.read_only and node.fallback is None


def acts_for_step(node: Node) -> bool:
    """Whether a node records what it does to the step's work by itself."""
    own_checks = isinstance(node, CheckNode) and not node.checks
    return (
        own_checks
        or isinstance(node, WorkspaceNode | LandNode | PlanNode | DocumentNode | SettleNode)
        or is_steps_own(node)
    )


def meddles(node: Node) -> bool:
    """Whether a node may change the work without saying so."""
    return isinstance(node, ScriptNode | LlmNode) or (isinstance(node, AgentNode) and not is_steps_own(node))


@dataclass(kw_only=True)
class StepNodes:
    """Acts for the visits of one step; `perform` acts for all nodes that are not about its work."""

    work: StepWork
    perform: Perform
    ledger: Ledger
    driver: DriverId
    token: Token
    recover: Recover
    state: StepState = field(default_factory=StepState)
    open_performer: Callable[[StepWork], StepPerformer] = StepPerformer.of
    meddled: bool = False
    kills: int = 0
    ours = True

    def __post_init__(self) -> None:
        self.work = replace(self.work, note=self._note)
        self.stand_on(self.state)
        self._performer = self.open_performer(self.work)
        self._turn = anyio.Semaphore(1, fast_acquire=True)
        self._seen: Tree

    async def act(self, command: RunNode, visit: Visit) -> Outcome:
        """Let a visit act."""
        match command.node:
            case WorkspaceNode():
                return await self._alone(self._prepare)
            case LandNode():
                return await self._alone(lambda: self._judge(self._land))
            case CheckNode(checks=()):
                return await self._alone(lambda: self._judge(self._check))
            case PlanNode() as edit:
                return await self._alone(lambda: change_plan(edit, visit, self.work, self.state, ledger=self.ledger))
            case DocumentNode() as document:
                kind, step = DocumentKind(document.kind), self.work.orders.step
                path = self.work.services.planfiles.place(kind, step) if self.work.orders.lands else ""
                return write_document(document, visit, path=path)
            case AgentNode() as node if is_steps_own(node):
                return await self._alone(lambda: self._judge(partial(self._implement, node, visit)))
            case SettleNode() as settling:
                return settle_findings(settling, visit, self.work, self.state)
            case AgentNode() as reader if reader.records:
                return await self._review(reader, command, visit)
            case AgentNode(read_only=read_only):
                return await self._attempt_by_visit(command, visit, reader="the node" if read_only else "")
            case _:
                self.meddled = True
                return await self.perform(command, visit)

    def stand_on(self, state: StepState) -> None:
        """Go on with what the step's stream says."""
        self.state = self.work.ground.state = state

    def note_recorded(self, events: Sequence[ev.Event]) -> None:
        """Let the next one act once the end of an attempt is in the journal."""
        if any(isinstance(event, ev.AttemptEnded) for event in events) and self._ends_unrecorded:
            self._ends_unrecorded = False
            self._turn.release()

    # --- what a check that is not the step's own sees of the workspace ------------------------------------------

    async def begin(self) -> None:
        """Remember what is there."""
        found = await read_work(self.work.services.workspaces, self._step, base=known(self.state.base))
        self._seen = found.tree

    async def find_changes(self) -> Mapping[str, str]:
        """Paths that changed since, which are as they were again."""
        return await self.work.services.workspaces.clean(self._step, self._seen, base=known(self.state.base))

    # --- acting -------------------------------------------------------------------------------------------------

    @property
    def _step(self) -> StepId:
        return self.work.orders.step.id

    async def _alone(self, act: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Act while no other node works on the step; what was killed from outside is lost and done again."""
        async with self._turn:
            while True:
                try:
                    await self._restore_killed()
                    return await act()
                except (ChildKilled, GitKilled) as error:
                    await self._lose(error)

    async def _judge(self, act: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Act where checks run; afterwards the workspace is as its agent left it."""
        try:
            return await act()
        finally:
            await leave_ground(self.work)

    async def _restore_killed(self) -> None:
        """Bring the workspace back to the tree that the journal knows, if a kill may have left another one."""
        if self.kills or self.state.kills:
            await restore_workspace(self.work, self.state, self.token)

    async def _lose(self, error: ChildKilled | GitKilled) -> None:
        """Close as lost what a kill has cut short. Where nothing was open, only this walk counts it."""
        lost = await close_open(self.work, self.state, self.driver, self.recover)
        closed = [replace(event, killed=str(error)) if isinstance(event, ev.WorkLost) else event for event in lost]
        await self._append(self.count_lost(closed))
        self.kills = 0 if closed else self.kills + 1
        if self.kills >= MOST_KILLS:
            raise error
        await self.work.services.clock.sleep(KILL_WAIT)

    def count_lost(self, events: Sequence[ev.Event]) -> Note:
        """These events, and what the run records if one of them ends an attempt before its time."""
        working = any(isinstance(event, ev.WorkLost) and event.what == Phase.WORKING.value for event in events)
        by_visit = self.state.asked is not None and self.state.asked.by_visit
        moved = tell_moved(self._step, self.state, events)
        fold_step(self.state, events)
        if not working or by_visit:
            return Note(step=list(events), run=moved)
        agent = self.state.agent
        return Note(step=list(events), run=[*count_usage(self._step, agent, self.state.spent[agent])])

    async def _append(self, note: Note) -> None:
        """Record what is folded in already."""
        await self.ledger.record(note)
        self.work.line.settle()

    async def _note(self, event: ev.Event) -> None:
        """Record what is known before the act under way is over."""
        await self._append(Note(step=[event]))
        fold_step(self.state, [event])

    async def _follow(
        self, decide: Callable[[], cmd.Command | Verdict | None], terms: Terms | None = None
    ) -> cmd.Command | Verdict | None:
        """Do what the rules of a node ask for, until it is over or the step is given back."""
        while True:
            found = decide()
            if found is None or isinstance(found, Verdict):
                return found
            found = steprules.find_stop(self.work.orders, self.state, self.work.run) or found
            if not isinstance(found, Act):
                return found
            if isinstance(found, cmd.Land):
                # What has landed is recorded before a stop is heard: it is neither lost nor to be skipped.
                with anyio.CancelScope(shield=True):
                    await self._perform(found, terms or Terms())
            else:
                await self._perform(found, terms or Terms())

    async def _perform(self, command: Act, terms: Terms) -> None:
        """Record the intent with what was kept before; what comes of it is recorded with what follows."""
        intent = await self._performer.intend(command, self.state)
        await self._append(intent)
        fold_step(self.state, intent.step)
        done = await self._performer.perform(command, self.state, terms)
        self.kills = 0
        fold_step(self.state, done.step)
        self._keep(done)

    def _keep(self, note: Note) -> None:
        """Record with whatever comes next; the queue counts with it from here on."""
        self.ledger.keep(note)
        self.work.line.say(note.run)

    async def _prepare(self) -> Outcome:
        leaves = await self._follow(lambda: steprules.prepare(self.state))
        missing = await tell_missing(self.work, self.state.tree)
        return _end(leaves) or Outcome(output={"path": self.state.workspace, "missing": missing})

    async def _implement(self, node: AgentNode, visit: Visit) -> Outcome:
        work, before = self.work, self.state.last

        def decide() -> cmd.Command | None:
            concluded = self.state.phase is Phase.WORKED and self.state.last is not before
            found = steprules.work_on(work.orders, self.state, work.run, begun=concluded, node=node.id)
            if not isinstance(found, cmd.Attempt):
                return found
            found = replace(found, complaint=told) if told and self.state.last is before else found
            return replace(found, scope=visit.key.scope, visit=visit.key.visit)

        told = read_complaint(visit)
        if told and before is not None and not before.failure and self.state.fixes >= work.orders.retries:
            return Outcome(output=before.message)
        await self._see_changes()
        write = partial(write_node_prompt, node, visit)
        leaves = await self._follow(decide, Terms(write=write, timeout=node.timeout, turns=node.turns))
        last = self.state.last
        return _end(leaves) or Outcome(output=last.message if last else "", unchanged=bool(last and last.unchanged))

    async def _see_changes(self) -> None:
        """Note what scripts and models changed since the last attempt: no proof is about that yet."""
        if not self.meddled or self.state.phase not in (Phase.PREPARED, Phase.WORKED):
            return
        found = await read_work(self.work.services.workspaces, self._step, base=known(self.state.base))
        self.meddled = False
        if found.tree != self.state.tree:
            await self._note(await note_change(self.work, found.tree, self.state))

    async def _check(self) -> Outcome:
        """Run every check that judges the step, and on other trees what has to be compared."""
        await self._see_changes()
        found = await self._follow(lambda: verdicts.judge_work(self.work.orders, self.state, self.work.run))
        if isinstance(found, Verdict):
            shown = found is Verdict.PASSED and self.work.orders.autonomy == "verbose" and self.work.orders.lands
            evidence = await tell_work(self.work, self.state) if shown else ""
            told = verdicts.describe(found, self.work.orders, self.state, self.work.run)
            over = found is Verdict.PASSED or (reviews_failures(self.work.run) and not told["again"])
            reasons = await find_reasons(self.work, self.state) if over else ()
            return Outcome(output={**told, "evidence": evidence, "review": "; ".join(reasons), **self._list_due(found)})
        return _end(found) or Outcome(failure="the checks came to no verdict")

    def _list_due(self, found: Verdict) -> dict[str, Json]:
        """Who is still to look at work that has passed its checks."""
        about, passed = (self.work.run, self.work.orders.step, self.state), found is Verdict.PASSED
        return {"sweep": passed and sweeping.is_due(*about), "handoff": passed and handoffwriting.is_due(*about)}

    async def _land(self) -> Outcome:
        """Land, or leave the queue: nobody waits for a step that does something else."""
        outcome = await self._try_to_land()
        if self.state.landed is None and self.work.line.look().queue.find(self._step) is not None:
            cause = DropCause.LOST if outcome.leaves is not None else DropCause.RED
            self._keep(Note(run=[ev.CandidateDropped(step=self._step, cause=cause)]))
        return outcome

    async def _try_to_land(self) -> Outcome:
        if self.state.landed is None and (refusal := await self._find_refusal()):
            return Outcome(output={"refused": refusal, "again": False})
        work = self.work
        found = await self._follow(lambda: landing.land(work.orders, self.state, work.run, work.line.look))
        if isinstance(found, Verdict):
            again = verdicts.may_integrate(work.orders, self.state, work.run)
            return Outcome(output={"refused": landing.tell_integration(self.state), "again": again})
        return _end(found) or Outcome(output={"commit": self.state.landed.commit if self.state.landed else ""})

    async def _find_refusal(self) -> str:
        """Why the work may not land, whatever the flow says; empty if it may."""
        await self._see_changes()
        return landing.find_refusal(self.work.orders, self.state, self.work.run)

    async def _review(self, node: AgentNode, command: RunNode, visit: Visit) -> Outcome:
        """Let another agent look at the work, and record what it says of it."""
        reasons = await find_reasons(self.work, self.state)
        change = await describe_change(self.work, self.state, reasons)
        later = await describe_later(self.work) if node.records == SWEEP else ""
        told = await describe_known(self.work, self.state) if node.records == HANDOFF else ""
        seen = visit._replace(values=overlay({"change": change, "later": later, "known": told}, visit.values))
        outcome = await self._attempt_by_visit(command, seen, reader="the node")
        by = name_reader(node, self.work, self.state).name
        if node.records == SWEEP:
            return await record_sweep(outcome, self.work, self.state, by=by)
        if node.records == HANDOFF:
            return await record_words(outcome, self.work, self.state, by=by)
        return record_answer(node, outcome, self.work, self.state, reasons=reasons)

    async def _attempt_by_visit(self, command: RunNode, visit: Visit, *, reader: str) -> Outcome:
        """Let another agent work, and keep what it left; the next node acts once that is recorded."""
        await self._turn.acquire()
        try:
            await self._see_changes()
            attempt = VisitAttempt(work=self.work, state=self.state, reader=reader)
            number, tree = self.state.reached + 1, known(self.state.tree)
            readings = {**self.state.readings, **({number: visit.key.node} if reader else {})}
            told = count_for_agent(readings, number, node=visit.key.node)
            begun = visit._replace(attempt=number, told=told, tree=tree, settle=attempt.settle)
            begun = begun._replace(around=self.work.describe_around())
            outcome = await self.perform(command, begun)
        except DrumlineError:
            closed = await close_open(self.work, self.state, self.driver, self.recover)
            await self._append(self.count_lost(closed))
            self._turn.release()
            raise
        except BaseException:
            self._turn.release()
            raise
        self._ends_unrecorded = any(isinstance(event, ev.AttemptEnded) for event in outcome.effects)
        if not self._ends_unrecorded:
            self._turn.release()
        return outcome

    _ends_unrecorded = False


def _end(leaves: cmd.Command | Verdict | None) -> Outcome | None:
    """What a visit comes to that gives the step back before it is over."""
    return Outcome(leaves=leaves) if isinstance(leaves, cmd.Command) else None
