"""A flow and the flows it calls, walked as one: the end of one leads its caller on.

All of it is decided before anything is recorded: a move is folded already, and counts once its events are appended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from drumline.core.commands import Command
from drumline.core.events import AttemptEnded, Event
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowStarted, NodeLost
from drumline.core.flow.fold import fold_flow, fold_flows
from drumline.core.flow.model import ASKING, SPENDING, AgentNode, Node
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.scopes import call_scope, parent_scope
from drumline.core.flow.state import FlowState, Key
from drumline.core.flow.walk import Evaluate, RunNode, close_lost, conclude, next_nodes, start_node, walk_on
from drumline.core.ids import DriverId
from drumline.core.spending import COST
from drumline.errors import InvalidInput
from drumline.record import Record, replace


class Calls(Protocol):
    """What a stack asks about nodes that call a flow."""

    def begin(self, state: FlowState, command: RunNode) -> FlowStarted | None:
        """The first event of the flow that the node calls; None if it calls none. InvalidInput if it cannot."""
        ...

    def find_chart(self, started: FlowStarted) -> Chart:
        """The flow that was started, as it was then."""
        ...

    def judge(self, node: AgentNode, child: FlowState) -> Outcome:
        """What the end of a flow means for the node that called it."""
        ...


class Caller(NamedTuple):
    """The node that waits for a flow it has called."""

    state: FlowState
    key: Key


class Question(NamedTuple):
    """A visit that a person has to answer, or that waits for an answer, a time, or money."""

    state: FlowState
    key: Key
    poor: bool = False


class Halt(Record):
    """Why a visit cannot be done here, and what to type first if its agent is not logged in."""

    reason: str
    login: str = ""


@dataclass(kw_only=True, slots=True)
class JournalBatch:
    """Events to record, in order, and then the acts that are due and the questions that are open."""

    events: list[Event] = field(default_factory=list)
    due: list[RunNode] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class Stack:
    """The flows of one run by scope. `take_time` gives the working time of a scope since it was taken last.

    `has_money` tells whether a node that costs money may begin, `is_paused` that none may; `held` says that the pause
    kept one from beginning. `blocked` are visits that this machine cannot do
    or a person does not pay for, each with its reason; `left` are visits before whose end the step is given back: they
    stay due, and are not begun again by this stack. `acts_alone` tells which nodes ask agents by themselves.
    """

    calls: Calls
    evaluate: Evaluate
    take_time: Callable[[str], float] = lambda scope: 0.0
    has_money: Callable[[], bool] = lambda: True
    is_paused: Callable[[], bool] = lambda: False
    acts_alone: Callable[[Node], bool] = lambda node: False
    flows: dict[str, FlowState] = field(default_factory=dict)
    callers: dict[str, Caller] = field(default_factory=dict)
    blocked: dict[Key, Halt] = field(default_factory=dict)
    left: dict[Key, Command] = field(default_factory=dict)
    held: bool = False

    @property
    def root(self) -> FlowState:
        """The flow that nobody called."""
        return self.flows[""]

    def count_cost(self) -> float:
        """Dollars that all flows have spent; what a called flow spent is its caller's once it is over."""
        return sum(state.usage.get(COST, 0.0) for state in self.flows.values())

    def find_state(self, key: Key) -> FlowState:
        """The flow in which a visit happens; an item of a map happens in the flow of the map."""
        return self.flows[key.scope if key.scope in self.flows else parent_scope(key.scope)]

    def load(self, events: Iterable[Event]) -> None:
        """Take up what the journal holds."""
        fold_flows(self.flows, events, find_chart=self.calls.find_chart)
        for state in list(self.flows.values()):
            for key in state.acting:
                if call_scope(*key) in self.flows:
                    self.callers[call_scope(*key)] = Caller(state, key)
        for scope in [scope for scope in self.flows if scope and scope not in self.callers]:
            del self.flows[scope]

    def close_lost(self, driver: DriverId) -> list[NodeLost]:
        """Close the visits that a former driver left open; those that wait for a called flow go on waiting."""
        calling = {caller.key for caller in self.callers.values()}
        found: list[NodeLost] = []
        for state in self.flows.values():
            lost = [e for e in close_lost(state, driver=driver) if Key(e.scope, e.node, e.visit) not in calling]
            fold_flow(state, lost)
            found += lost
        return found

    def begin(self, started: FlowStarted) -> JournalBatch:
        """Start the walk."""
        state = self._enter(started)
        return self.go_on([state], JournalBatch(events=[started]))

    def conclude(self, key: Key, outcome: Outcome, batch: JournalBatch | None = None) -> JournalBatch:
        """Fold in what came of a visit, and go on. InvalidInput if a person's answer is refused."""
        state = self.find_state(key)
        batch = JournalBatch() if batch is None else batch
        self._end_visit(state, key, outcome, batch)
        return self.go_on([state], batch)

    def resume(self, question: Question, batch: JournalBatch) -> JournalBatch:
        """Let an agent's visit go on for which an answer or a time has come."""
        state, key, _ = question
        commands = [command for command in next_nodes(state) if isinstance(command, RunNode) and command.key == key]
        moved = [self._start(state, command, batch, called_for=True) for command in commands]
        return self.go_on([child for child in moved if child is not None], batch)

    def go_on(self, states: Iterable[FlowState], batch: JournalBatch) -> JournalBatch:
        """Walk these flows, and whichever they call or end for, as far as nothing has to act."""
        waiting = deque(states)
        while waiting:
            state = waiting.popleft()
            walk_batch = walk_on(state, self.evaluate)
            batch.events.extend(walk_batch.events)
            for command in walk_batch.due:
                moved = self._start(state, command, batch)
                if moved is not None:
                    waiting.append(moved)
            if state.ended is not None and state.scope:
                waiting.append(self._return(state, batch))
        return batch

    def _start(
        self, state: FlowState, command: RunNode, batch: JournalBatch, *, called_for: bool = False
    ) -> FlowState | None:
        """Let a visit begin; returns the flow that has to be walked on because of it.

        An agent that waits begins only if it is `called_for`: what it waits for has come.
        """
        if command.key in self.blocked or command.key in self.left:
            return None
        if isinstance(command.node, ASKING):
            batch.questions.append(Question(state, command.key))
            return None
        alone = self.acts_alone(command.node)
        attempts = state.visit_attempts.get(command.key) if state.visit_attempts else None
        if attempts is not None and attempts.is_held and not called_for:
            batch.questions.append(Question(state, command.key))
            return None
        if self.is_paused():
            self.held = True
            return None
        if isinstance(command.node, SPENDING) and not alone and not self.has_money():
            batch.questions.append(Question(state, command.key, poor=True))
            return None
        started = None
        if isinstance(command.node, AgentNode) and not alone:
            try:
                started = self.calls.begin(state, command)
            except InvalidInput as error:
                self._end_visit(state, command.key, Outcome(failure=str(error), failure_class="permanent"), batch)
                return state
        intent = start_node(command)
        fold_flow(state, (intent,))
        batch.events.append(intent)
        if started is None:
            batch.due.append(command)
            return None
        batch.events.append(started)
        child = self._enter(started)
        self.callers[started.scope] = Caller(state, command.key)
        return child

    def _enter(self, started: FlowStarted) -> FlowState:
        fold_flows(self.flows, (started,), find_chart=self.calls.find_chart)
        return self.flows[started.scope]

    def _return(self, child: FlowState, batch: JournalBatch) -> FlowState:
        """A called flow is over: its end is the outcome of the node that called it."""
        caller = self.callers.pop(child.scope)
        del self.flows[child.scope]
        node = caller.state.chart.nodes[caller.key.node]
        if not isinstance(node, AgentNode):
            raise AssertionError(f"{node.id!r} called a flow and is not an agent node")
        self._end_visit(caller.state, caller.key, self.calls.judge(node, child), batch)
        return caller.state

    def _end_visit(self, state: FlowState, key: Key, outcome: Outcome, batch: JournalBatch) -> None:
        if outcome.blocked:
            self.blocked[key] = Halt(reason=outcome.blocked, login=outcome.login)
        if outcome.leaves is not None:
            self.left[key] = outcome.leaves
        spent = self.take_time(state.scope)
        effects = [_charge(event, outcome, spent) for event in outcome.effects] if outcome.waits else outcome.effects
        fold_flow(state, effects)
        batch.events.extend(effects)
        events = conclude(state, key, outcome, spent=spent)
        fold_flow(state, events)
        batch.events.extend(events)


def _charge(event: Event, outcome: Outcome, spent: float) -> Event:
    """The end of an attempt after which the visit waits, with the working time that it took."""
    return replace(event, spent=outcome.spent or spent) if isinstance(event, AttemptEnded) else event
