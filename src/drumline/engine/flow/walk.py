"""Walks the flow of one claimed step: performs what is due and records every outcome together with the next intent.

Everything is decided on the stack, recorded, and only then done; what interrupts that is found in the journal by the
next driver. A question in one branch keeps no other from its work: the claim is given back when nothing else can move.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from drumline.core import events as ev
from drumline.core import gates, spending
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.model import AgentNode, Node, NodeId
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.questions import FLOW_ITSELF, Asker, find_question_id, list_answers, open_question
from drumline.core.flow.state import FlowState, Key
from drumline.core.flow.walk import RunNode, begin_flow, count_left
from drumline.core.ids import DriverId, GateId, StepId, Token
from drumline.core.state import RunState
from drumline.core.taxonomy import WAITS
from drumline.engine.finishing import block_walk, finish_walk
from drumline.engine.flow.calls import FlowCalls
from drumline.engine.flow.course import Course
from drumline.engine.flow.delivery import Delivery
from drumline.engine.flow.stack import Halt, JournalBatch, Question, Stack
from drumline.engine.flow.timers import Timers
from drumline.engine.flow.walkjournal import WalkJournal
from drumline.engine.flow.worktime import WorkTime
from drumline.engine.nodes.leftovers import NO_WATCH, Watch
from drumline.engine.nodes.stepwork import Note, known
from drumline.engine.nodes.visit import Noted, Visit
from drumline.engine.refusals import find_sole
from drumline.engine.services import FlowServices, Services
from drumline.engine.trials import Afterwards
from drumline.errors import Conflict, DrumlineError, InvalidInput
from drumline.isolation.scratch import take_over_logs

TRIES = 5
REFUSED = "the budget is spent; a person said not to proceed"

Perform = Callable[[RunNode, Visit], Awaitable[Outcome]]
Arrival = tuple[Key, Outcome]


@dataclass(kw_only=True)
class FlowWalk:
    """One driver's hold on a step that walks a flow.

    `act` does what a visit is about, and keeps to its time by itself.
    """

    services: Services
    flows: FlowServices
    run: RunState
    driver: DriverId
    token: Token
    act: Perform
    course: Course
    asker: Asker = FLOW_ITSELF
    warn: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        self.step: StepId = self.asker.step
        self.afterwards: Afterwards | None = None
        self._logs = self.services.logs / self.step
        self._journal = WalkJournal(store=self.services.store, run=self.run, step=self.step, token=self.token)
        self._calls = FlowCalls(flows=self.flows, warn=self.warn)
        self._delivery = Delivery(workspaces=self.services.workspaces, run=self.run) if self.course.worktree else None
        self._delivers = self._delivery is not None
        self._watch: Watch = self._delivery or self.flows.watch
        self._listens = True
        self._wake = anyio.Event()

    # --- what its driver asks for -------------------------------------------------------------------------------

    @property
    def was_refused(self) -> bool:
        """A flow by itself lands nothing while it is walked."""
        return False

    async def go(self, opening: list[ev.Event]) -> None:
        """Walk until the flow is over, or until nothing moves before an answer or a time has come."""
        self._load()
        try:
            opening = await self._make_ready(opening)
            async with anyio.create_task_group() as tasks:
                await self._loop(tasks, self._take_up(), opening)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._let_go()
            raise
        except BaseExceptionGroup as group:
            raise find_sole(group) from group

    async def _make_ready(self, opening: list[ev.Event]) -> list[ev.Event]:
        """Prepare for the walk; returns what is still to be recorded with its first move."""
        if self._delivery and (not self._journal.version or self._stack.root.ended is None):
            await self._delivery.prepare(not self._journal.version)
        if self._journal.version:  # a driver that was killed over it left its logs as they were
            await take_over_logs(self._logs, self.services.redaction)
        return opening

    async def conclude_landing(self) -> None:
        """What a flow delivers is delivered again by the next driver, if need be."""

    def stir(self) -> None:
        """Look at what people said since."""
        self._wake.set()

    def _records_intent(self, node: Node) -> bool:
        """Whether a node records what it is about to do, so that its start can wait for that."""
        return isinstance(node, AgentNode)

    def _acts_alone(self, node: Node) -> bool:
        """Whether a node asks agents by itself, so that the walk asks none for it."""
        return False

    # --- taking up ----------------------------------------------------------------------------------------------

    def _load(self) -> None:
        self._working, self._fresh = 0, True
        self._arrived: list[Arrival] = []
        self._open: dict[GateId, Question] = {}
        self._poor: list[Question] = []
        self._timers = Timers(clock=self.services.clock)
        self._time = WorkTime()
        self._stack = Stack(
            calls=self._calls,
            evaluate=self.flows.expressions.evaluate,
            take_time=self._time.take,
            has_money=self._has_money,
            is_paused=lambda: self.run.pause is not None,
            acts_alone=self._acts_alone,
        )
        self._fold(self._journal.read())

    def _fold(self, events: Sequence[ev.Event]) -> None:
        self._stack.load(events)
        for event in events:
            self._journal.meter.note(event)

    def _take_up(self) -> JournalBatch:
        course = self.course
        if "" not in self._stack.flows:
            chart = self._calls.find_pinned(course.path, course.digest)
            started = begin_flow(
                chart,
                prompt=course.prompt,
                variables=course.variables,
                values=course.values,
                timeout=course.timeout,
            )
            return self._stack.begin(started)
        batch = JournalBatch(events=list(self._stack.close_lost(self.driver)))
        open_flows = [state for state in self._stack.flows.values() if state.ended is None]
        return self._stack.go_on(open_flows, batch)

    # --- walking ------------------------------------------------------------------------------------------------

    async def _loop(self, tasks: TaskGroup, batch: JournalBatch, opening: list[ev.Event]) -> None:
        while True:
            if opening or batch.questions or self._open or self._timers.waiting or not batch.due:
                if await self._record_all(batch, opening):
                    return
                opening = []
            else:  # by far the commonest: one node after the other, and nothing to say to anybody
                await self._record_batch(batch, [])
            if self._goes_alone(batch):
                arrived = [await self._visit(batch.due[0])]
            else:
                for command in batch.due:
                    self._working += 1
                    tasks.start_soon(self._work, command)
                arrived = await self._wait_arrivals()
            batch = JournalBatch()
            for key, outcome in arrived:
                opening += outcome.told
                self._stack.conclude(key, outcome, batch)

    async def _record(self, events: Sequence[ev.Event], said: Sequence[ev.Event], settled: Sequence[int] = ()) -> None:
        """Append what concerns the walk, and the messages to the run, in one commit."""
        await self._journal.record(Note(step=[*events], run=[*said]), settled)

    async def _note(self, event: Noted) -> None:
        """Record what is known before a visit is over."""
        fold_flow(self._stack.find_state(Key(event.scope, NodeId(event.node), event.visit)), (event,))
        with anyio.CancelScope(shield=True):  # nobody could tell whether an append that was cut off counts
            await self._journal.record(Note(step=[event]))

    async def _record_all(self, batch: JournalBatch, opening: list[ev.Event]) -> bool:
        """Append a move with its questions, and with why the step is given back if it is; whether it is."""
        said = [*opening, *self._put_questions(batch)]
        for question in self._timers.take_due():
            self._stack.resume(question, batch)
        settled = self._hear_retries(batch) if self._listens and (self._fresh or self._timers.waiting) else []
        self._fresh = False
        self._take_answers(batch)
        said += self._put_questions(batch)
        leaving = self._find_leave(batch)
        ended = self._stack.root.ended
        if leaving is None and not settled:
            await self._record_batch(batch, said)
        else:
            await self._record(batch.events, [*said, *(leaving or ())], settled)
        if ended is None or not self._delivers:
            return leaving is not None
        await self._deliver(ended)
        return True

    async def _record_batch(self, batch: JournalBatch, said: Sequence[ev.Event]) -> None:
        """Append a move after which the walk goes on; one whose only act records an intent is appended with that."""
        if self._goes_alone(batch) and self._records_intent(batch.due[0].node):
            self._journal.keep(Note(step=batch.events, run=[*said]))
        else:
            await self._record(batch.events, said)

    def _goes_alone(self, batch: JournalBatch) -> bool:
        """Whether one visit is due and nothing else can happen meanwhile: nobody works, and nobody has come back."""
        others = self._working or self._arrived or self._open or self._timers.waiting
        return len(batch.due) == 1 and not others

    async def _deliver(self, ended: FlowEnded) -> None:
        """Bring the work where it belongs, then record the end of the step."""
        if self._delivery is not None:
            await self._delivery.deliver(ended)
        await self._record([], [finish_walk(self.step, ended, self._journal.meter.usage)])

    def _find_leave(self, batch: JournalBatch) -> list[ev.Event] | None:
        """Why the step is given back: it is over, or nothing moves before an answer, a time or a resume.

        None if it stays.
        """
        ended = self._stack.root.ended
        if ended is not None:
            return None if self._delivers else [finish_walk(self.step, ended, self._journal.meter.usage)]
        if batch.due or self._working or self._arrived:
            return None
        if self._stack.held:
            return []
        if not self._open and not self._timers.waiting:
            return [block_walk(self.step, self._stack.blocked, self._journal.meter.usage)]
        first = self._timers.first
        if first is not None and first - self.services.clock.now() <= max(WAITS):
            return None
        return [ev.StepDeferred(step=self.step, until=first, reason=self._timers.reason, gates=tuple(self._open))]

    async def _work(self, command: RunNode) -> None:
        arrival = await self._visit(command)
        self._working -= 1
        self._arrived.append(arrival)
        self._wake.set()

    async def _visit(self, command: RunNode) -> Arrival:
        key = command.key
        state = self._stack.find_state(key)
        self._time.begin(state.scope)
        try:
            return key, await self.act(command, self._describe(command, state))
        except DrumlineError as error:
            return key, Outcome(failure=str(error), failure_class="permanent")
        finally:
            self._time.end(state.scope)

    def _describe(self, command: RunNode, state: FlowState) -> Visit:
        if state.started is None:
            raise AssertionError("a node is due in a flow that was not started")
        # Made anew for every visit, so nothing is worked out here that stays the same.
        visit = Visit(
            run=self.run.id,
            key=command.key,
            flow=state.chart.flow,
            values=state.view(command.key),
            folder=self.course.folder,
            logs=self._logs,
            timeout=command.timeout,
            variables=state.started.variables,
            agent=self.course.agent,
            model=self.course.model,
            watch=NO_WATCH if self._working else self._watch,
            note=self._note,
            step=self.step,
        )
        if not isinstance(command.node, AgentNode):
            return visit
        attempts, session = state.visit_attempts.get(command.key), command.node.session
        return visit._replace(
            attempts=attempts,
            kept=state.sessions.get(session) if session is not None else None,
            answers=list_answers(self.run, command.key, attempts.questions if attempts else 0, self.asker),
            budget=min((left for left in (count_left(state), self._count_left()) if left is not None), default=None),
        )

    async def _wait_arrivals(self) -> list[Arrival]:
        if self._timers.waiting:
            await self._timers.wait_first(self._wake)
        else:
            await self._wake.wait()
        self._wake = anyio.Event()
        arrived, self._arrived = self._arrived, []
        return arrived

    async def _let_go(self) -> None:
        """Give everything back: what was at work is lost. An append may have been cut off."""
        for _ in range(TRIES):
            self._load()
            try:
                await self._record(self._stack.close_lost(self.driver), [])
            except Conflict:
                continue
            return

    # --- questions, answers and money ---------------------------------------------------------------------------

    def _put_questions(self, batch: JournalBatch) -> list[ev.Event]:
        """Open the gates of new questions; those answered meanwhile lead the move on."""
        opened: list[ev.Event] = []
        while batch.questions:
            question = batch.questions.pop(0)
            if question.poor:
                opened += self._ask_for_money(question, batch)
                continue
            if self._timers.take(question):
                continue
            gate = self._name_question(question)
            if self.run.answer(gate) is not None:
                self._lead_on(question, gate, batch)
            elif gate not in self._open:
                opened += self._put(gate, question, batch)
        return opened

    def _name_question(self, question: Question) -> GateId:
        return find_question_id(question.state, question.key, self.asker)

    def _open_question(self, question: Question) -> ev.GateOpened:
        return open_question(question.state, question.key, self.asker)

    def _put(self, gate: GateId, question: Question, batch: JournalBatch) -> list[ev.Event]:
        try:
            opens = self._open_question(question)
        except InvalidInput as error:
            self._stack.conclude(question.key, Outcome(failure=str(error)), batch)
            return []
        self._open[gate] = question
        return [] if gate in self.run.gates else [opens]

    def _take_answers(self, batch: JournalBatch) -> None:
        """Go on where people have answered since."""
        for gate in list(self._open):
            if self.run.answer(gate) is not None:
                self._lead_on(self._open.pop(gate), gate, batch)

    def _lead_on(self, question: Question, gate: GateId, batch: JournalBatch) -> None:
        """The answer ends a node that asked; an agent continues with it, and so do all that waited for money."""
        if question.poor:
            batch.questions += self._poor
            self._poor = []
        elif question.key in question.state.visit_attempts:
            self._stack.resume(question, batch)
        else:
            answer = known(self.run.gates[gate].answer)
            self._stack.conclude(question.key, Outcome(output=answer.choice, comment=answer.comment), batch)

    def _hear_retries(self, batch: JournalBatch) -> list[int]:
        """Let visits go on whose time somebody does not want to wait for; the messages that are settled by it."""
        wished = [(number, said) for number, said in self.services.store.unread(self.run.id) if said.kind == "retry"]
        for _, message in wished:
            for rested in self._timers.take_called(message.subject):
                self._stack.resume(rested, batch)
        return [number for number, _ in wished]

    def _ask_for_money(self, question: Question, batch: JournalBatch) -> list[ev.Event]:
        if spending.is_refused(self.run):
            self._stack.blocked[question.key] = Halt(reason=REFUSED)
            return []
        left = self._count_left()
        if left is None or left > 0:
            self._stack.resume(question, batch)
            return []
        spent = self._stack.count_cost()
        opens = gates.budget(spending.count_asked(self.run) + 1, spent=spent, allowed=spent + left)
        if all(question.key != one.key for one in self._poor):
            self._poor.append(question)
        known = opens.gate in self._open or opens.gate in self.run.gates
        self._open.setdefault(opens.gate, question)
        return [] if known else [opens]

    def _count_left(self) -> float | None:
        return spending.count_left(self.run, self.step, [{spending.COST: self._stack.count_cost()}])

    def _has_money(self) -> bool:
        left = self._count_left()
        return left is None or left > 0
