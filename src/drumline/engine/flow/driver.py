"""Drives one flow: performs what is due, puts questions, and records every outcome together with the next intent.

One process drives a flow at a time, under a claim on the step `flow`. Everything is decided on the stack, recorded,
and only then done; whatever interrupts that is found in the journal by the next driver.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from drumline.core import events as ev
from drumline.core.flow.events import NodeUsed, SessionNamed
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.questions import FLOW, find_question_id, list_answers, open_question
from drumline.core.flow.state import FlowState, Key, fold_flow
from drumline.core.flow.walk import RunNode, begin_flow, count_left
from drumline.core.ids import DriverId, GateId, RunId, Stream, Token
from drumline.core.state import RunState, fold_run
from drumline.engine.flow.acts import FlowActs
from drumline.engine.flow.calls import FlowCalls
from drumline.engine.flow.claiming import claim_flow
from drumline.engine.flow.endings import block_run, end_run, find_sole, hear_cancel, is_over
from drumline.engine.flow.kit import FlowKit
from drumline.engine.flow.purse import REFUSED, Purse
from drumline.engine.flow.rests import Rests
from drumline.engine.flow.stack import Move, Question, Stack
from drumline.engine.flow.visit import Visit
from drumline.engine.flow.worktime import WorkTime
from drumline.engine.messages import take_answer
from drumline.errors import Conflict, DrumlineError, InvalidInput, NotAllowed, StaleToken
from drumline.isolation.scratch import take_over_logs
from drumline.ports.journal import Addition

POLL = 0.2
"""Seconds between two looks at the store's position: one for all questions of a process."""
TRIES = 5

Perform = Callable[[RunNode, Visit], Awaitable[Outcome]]
Arrival = tuple[Key, Outcome]


@dataclass(kw_only=True)
class FlowDriver:
    """Drives a flow until it ends, parks, or `stop` is called.

    `perform` stands in for the acts of nodes. Whoever acts keeps to the visit's time by himself.
    """

    kit: FlowKit
    run_id: RunId
    observe: Callable[[Sequence[ev.Event]], None] = lambda events: None
    warn: Callable[[str], None] = lambda text: None
    perform: Perform | None = None

    def __post_init__(self) -> None:
        self.run = RunState(id=self.run_id)
        self.stopping = False
        self._cancelled = False
        self._left = False
        self._stream = Stream(self.run_id, FLOW)
        self._version = 0
        self._working = 0
        self._arrived: list[Arrival] = []
        self._open: dict[GateId, Question] = {}
        self._noted: list[SessionNamed | NodeUsed] = []
        self._rests = Rests(clock=self.kit.clock, patience=self.kit.quota_wait)
        self._stir = anyio.Event()
        self._wake = anyio.Event()
        self._stack: Stack
        self._me: DriverId
        self._token: Token
        self._act: Perform

    @property
    def root(self) -> FlowState:
        """The flow as this driver left it."""
        return self._stack.root

    async def drive(self, *, resuming: bool = False) -> RunState:
        """Drive; return the run as it is when this driver leaves it."""
        while True:
            self._me = self.kit.roster.join(self.run_id)
            try:
                await self._drive_once(resuming)
            except Conflict:
                pass  # somebody folded an answer in at the same moment: begin again from what stands there now
            except StaleToken:
                return self._read_run()
            finally:
                self.kit.roster.leave(self._me)
            # Whoever spoke before we left relied on us; whoever speaks from here on finds no driver and settles it.
            if self.stopping or self.run.ended or (self.run.parked and not self.kit.store.unread(self.run_id)):
                return self._read_run()
            resuming = self.run.parked

    def stop(self) -> None:
        """Stop this driver: its nodes are given back, the run stays open."""
        self.stopping = True
        self._stir.set()

    async def _drive_once(self, resuming: bool) -> None:
        self._token = await claim_flow(self.kit, self.run_id, self._me)
        try:
            self._reset()
            resumed: list[ev.Event] = [ev.RunResumed(driver=self._me)] if resuming else []
            if is_over(self.run, self._stack, resumed):
                return  # whoever drove it before us brought it to its end
            self._purse = Purse.of(self.run, self._stack)  # after the resume, which takes a refusal back
            hands = self.kit.equip(self._me)
            self._act = self.perform or FlowActs(kit=self.kit, hands=hands, warn=self.warn).perform
            if self.run.cancel is None:
                if not self._version:
                    await self.kit.prepare()
                else:  # a driver that was killed over it left its logs as they were
                    await take_over_logs(self._logs, self.kit.redaction)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._listen, tasks.cancel_scope)
                    await self._loop(tasks, self._take_up(), resumed)
                    tasks.cancel_scope.cancel()
            if self._cancelled or not self._left:
                with anyio.CancelScope(shield=True):
                    await self._let_go()
        except BaseExceptionGroup as group:
            raise find_sole(group) from group
        finally:
            self.kit.store.release(self.run_id, FLOW, self._token)

    # --- taking up ----------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self._working, self._left = 0, False
        self._arrived, self._open, self._noted = [], {}, []
        self._rests = Rests(clock=self.kit.clock, patience=self.kit.quota_wait)
        self._time = WorkTime()
        self._read_run()
        self._folder = Path(self.run.flow.folder if self.run.flow else "")
        self._logs = self.kit.logs / FLOW
        calls = FlowCalls(kit=self.kit, run=self.run, warn=self.warn)
        self._stack = Stack(calls=calls, evaluate=self.kit.expressions.evaluate, take_time=self._time.take)
        recorded = self.kit.store.read(self._stream)
        self._version = len(recorded)
        self._stack.load(entry.event for entry in recorded)

    def _read_run(self) -> RunState:
        recorded = self.kit.store.read(Stream(self.run_id))
        self.run = fold_run(RunState(id=self.run_id), [entry.event for entry in recorded])
        return self.run

    def _take_up(self) -> Move:
        pinned = self.run.flow
        if pinned is None:
            raise NotAllowed(f"run {self.run_id} walks no flow", hint=f"drumline resume {self.run_id}")
        if not self._version:
            chart = FlowCalls(kit=self.kit, run=self.run).find_pinned(pinned.path, pinned.digest)
            return self._stack.begin(begin_flow(chart, prompt=pinned.prompt, variables=pinned.variables))
        move = Move(events=list(self._stack.close_lost(self._me)))
        open_flows = [state for state in self._stack.flows.values() if state.ended is None]
        return self._stack.go_on(open_flows, move)

    # --- walking ------------------------------------------------------------------------------------------------

    async def _loop(self, tasks: TaskGroup, move: Move, opening: list[ev.Event]) -> None:
        said = opening
        while True:
            if said or move.questions or self._open or self._rests.waiting or not move.due:
                await self._record_all(move, said)
                if self._left:
                    return
            else:  # by far the commonest: one node after the other, and nothing to say to anybody
                await self._record(move)
            if len(move.due) == 1 and not (self._working or self._open or self._rests.waiting):
                arrived = [await self._visit(move.due[0])]
            else:
                for command in move.due:
                    self._working += 1
                    tasks.start_soon(self._work, command)
                arrived = await self._wait_arrivals()
            said, move = [], Move()
            if self._noted:
                move.events.extend(self._noted)
                self._noted.clear()
            for key, outcome in arrived:
                self._stack.conclude(key, outcome, move)

    async def _record(self, move: Move) -> None:
        """Append a move that concerns the walk alone."""
        addition = Addition(events=move.events, expected=self._version)
        await self.kit.store.append({self._stream: addition}, token=self._token)
        self._version += len(move.events)
        self.observe(move.events)

    async def _note(self, event: SessionNamed | NodeUsed) -> None:
        """Record what is known before a visit is over: at once if it acts alone, else with whatever comes next."""
        fold_flow(self._stack.find_state(Key(event.scope, event.node, event.visit)), (event,))
        if self._working:
            self._noted.append(event)
            self._wake.set()
            return
        with anyio.CancelScope(shield=True):  # nobody could tell whether an append that was cut off counts
            await self._record(Move(events=[event]))

    async def _record_all(self, move: Move, said: list[ev.Event]) -> None:
        """Append a move with what belongs into the run's stream: questions, answers, and the end with its delivery."""
        for question in self._rests.take_due():
            self._stack.resume(question, move)
        said = [*said, *self._put_questions(move)]
        heard, settled = self._hear(move) if self._open or self._rests.waiting else ([], [])
        said += [*heard, *self._put_questions(move)]
        await self._record_both(move, [*said, *self._ending(move)], settled)
        ended = self._stack.root.ended
        if ended is not None and not self._left:
            if self.kit.deliver is not None:
                await self.kit.deliver(ended)
            await self._record_both(Move(), [end_run(ended)], [])

    async def _record_both(self, move: Move, said: list[ev.Event], settled: list[int]) -> None:
        batch = {self._stream: Addition(events=move.events, expected=self._version)} if move.events else {}
        if said or settled:
            batch[Stream(self.run_id)] = Addition(events=said)
        if batch:
            await self.kit.store.append(batch, token=self._token, settles=settled)
        self._version += len(move.events)
        fold_run(self.run, said)
        self._left = self.run.ended is not None or self.run.parked
        first = [event for event in said if isinstance(event, ev.RunResumed | ev.GateAnswered)]
        self.observe([*first, *move.events, *(event for event in said if event not in first)])

    def _ending(self, move: Move) -> list[ev.Event]:
        ended = self._stack.root.ended
        if ended is not None:
            return [] if self.kit.deliver else [end_run(ended)]
        if move.due or self._working:
            return []
        if not self._open and not self._rests.waiting:
            if self._stack.blocked:
                return [block_run(self._stack.blocked)]
            raise AssertionError("nothing is due in a flow that has not ended")
        return [] if self._rests.is_near else [ev.RunParked(gates=tuple(self._open), until=self._rests.first)]

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
            return key, await self._act(command, self._describe(command, state))
        except DrumlineError as error:
            return key, Outcome(failure=str(error), failure_class="permanent")
        finally:
            self._time.end(state.scope)

    def _describe(self, command: RunNode, state: FlowState) -> Visit:
        pinned, started = self.run.flow, state.started
        if pinned is None or started is None:
            raise AssertionError("a node is due in a flow that was not started")
        # Made anew for every visit, so nothing is worked out here that stays the same.
        visit = Visit(
            run=self.run_id,
            key=command.key,
            flow=state.chart.flow,
            values=state.view(command.key),
            folder=self._folder,
            logs=self._logs,
            timeout=command.timeout,
            variables=started.variables,
            agent=pinned.agent,
            model=pinned.model,
            alone=not self._working,
            note=self._note,
        )
        relay = state.relays.get(command.key) if state.relays else None
        if relay is None:
            return visit
        answers = list_answers(self.run, command.key, relay.questions)
        return visit._replace(relay=relay, answers=answers, budget=self._purse.limit(count_left(state)))

    # --- questions and answers ----------------------------------------------------------------------------------

    def _put_questions(self, move: Move) -> list[ev.Event]:
        """Open the gates of new questions; those answered meanwhile lead the move on."""
        opened: list[ev.Event] = []
        while move.questions:
            question = move.questions.pop(0)
            if question.poor:
                opened += self._ask_for_money(question, move)
                continue
            if self._rests.take(question):
                continue
            gate = find_question_id(question.state, question.key)
            answer = self.run.answer(gate)
            if answer is not None:
                self._lead_on(question, answer, move)
            elif gate not in self._open:
                opened += self._put(gate, question, move)
        return opened

    def _put(self, gate: GateId, question: Question, move: Move) -> list[ev.Event]:
        try:
            opens = open_question(question.state, question.key)
        except InvalidInput as error:
            self._stack.conclude(question.key, Outcome(failure=str(error)), move)
            return []
        self._open[gate] = question
        return [] if gate in self.run.gates else [opens]

    def _ask_for_money(self, question: Question, move: Move) -> list[ev.Event]:
        if self._purse.is_refused:
            self._stack.blocked[question.key] = REFUSED
            return []
        if self._purse.has_money():
            self._stack.resume(question, move)
            return []
        opens = self._purse.hold(question)
        known = opens.gate in self._open or opens.gate in self.run.gates
        self._open.setdefault(opens.gate, question)
        return [] if known else [opens]

    def _lead_on(self, question: Question, answer: str, move: Move) -> None:
        """A node that asked is over with the answer; an agent goes on with it."""
        if question.poor:
            move.questions += self._purse.hear(answer)
        elif question.key in question.state.relays:
            self._stack.resume(question, move)
        else:
            self._stack.conclude(question.key, Outcome(output=answer), move)

    def _hear(self, move: Move) -> tuple[list[ev.Event], list[int]]:
        """Fold in what people said since: answers lead on, a retry ends a rest, and nothing else concerns a flow."""
        said: list[ev.Event] = []
        settled: list[int] = []
        for number, message in self.kit.store.unread(self.run_id):
            if message.kind == "cancel":
                self._cancelled = True
                continue
            settled.append(number)
            for rested in self._rests.take_called(message.subject) if message.kind == "retry" else ():
                self._stack.resume(rested, move)
            answered = take_answer(self.run, message) if message.kind == "answer" else None
            question = self._open.pop(answered.gate, None) if answered else None
            if answered and question:
                said.append(self._purse.date(answered))
                self._lead_on(question, answered.choice, move)
        return said, settled

    async def _wait_arrivals(self) -> list[Arrival]:
        if self._rests.waiting:
            await self._rests.wait_first(self._wake)
        else:
            await self._wake.wait()
        self._wake = anyio.Event()
        arrived, self._arrived = self._arrived, []
        return arrived

    async def _listen(self, scope: anyio.CancelScope) -> None:
        """Look for what people say, and for the wish to stop; both end or wake the loop."""
        before = -1
        while not (self.stopping or self._cancelled):
            position = self.kit.store.position()
            if position != before:
                before = position
                unread = self.kit.store.unread(self.run_id)
                self._cancelled = any(message.kind == "cancel" for _, message in unread)
                if unread:
                    self._wake.set()
            if not self._cancelled:
                with anyio.move_on_after(POLL):
                    await self._stir.wait()
        scope.cancel()

    async def _let_go(self) -> None:
        """Give everything back: what was at work is lost, and a cancelled run is over. An append may be under way."""
        noted = self._noted
        for _ in range(TRIES):
            self._reset()
            if self.run.ended is not None:
                return
            move = Move(events=[*self._stack.note_late(noted), *self._stack.close_lost(self._me)])
            said, settled = hear_cancel(self.run, self.kit.store.unread(self.run_id))
            batch = {self._stream: Addition(events=move.events, expected=self._version)} if move.events else {}
            if said:
                batch[Stream(self.run_id)] = Addition(events=said)
            try:
                if batch:
                    await self.kit.store.append(batch, token=self._token, settles=settled)
            except Conflict:
                continue
            fold_run(self.run, said)
            self.observe([*move.events, *said])
            return
