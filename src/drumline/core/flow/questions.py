"""Questions that nodes put to people, as gates: their ids say where in the walk they are asked."""

from __future__ import annotations

from collections.abc import Iterable

from drumline.core.blocked import Reply
from drumline.core.events import GateOpened
from drumline.core.flow.answers import find_default, write_question
from drumline.core.flow.model import AgentNode, ApprovalNode, InputNode
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import FlowState, Key
from drumline.core.ids import FLOW, GateId, StepId
from drumline.core.state import RunState
from drumline.core.vocabulary import GateKind
from drumline.errors import NotAllowed
from drumline.record import Record


class Asker(Record):
    """Who asks: the walk of a step, in one of its rounds. The flow of a run that walks it by itself has no name."""

    step: StepId = FLOW
    round: int = 0

    @property
    def prefix(self) -> str:
        """What the ids of its gates begin with."""
        if self.step == FLOW:
            return ""
        return f"{self.step}:" if not self.round else f"{self.step}.{self.round + 1}:"


FLOW_ITSELF = Asker()


def question_id(key: Key, number: int = 1, *, asker: Asker = FLOW_ITSELF) -> GateId:
    """One question per visit: `review` for the first, `review#2` when it is asked again, `coder#1/review` in a call.

    Agents may ask several in one visit: the second is `work#1.2`. A step of a plan asks `3:review`.
    """
    name = call_scope(key.scope, key.node, key.visit)
    return GateId(asker.prefix + (name.removesuffix("#1") if number <= 1 else f"{name}.{number}"))


def find_question_id(state: FlowState, key: Key, asker: Asker = FLOW_ITSELF) -> GateId:
    """The gate at which a visit waits, or would wait."""
    attempts = state.visit_attempts.get(key) if state.visit_attempts else None
    return question_id(key, 1 if attempts is None else attempts.questions, asker=asker)


def list_waiting(states: Iterable[FlowState], asker: Asker) -> list[GateId]:
    """The gates at which approvals of these flows wait, or would wait."""
    return [
        question_id(Key(state.scope, node, state.visits[node]), asker=asker)
        for state in states
        for node in state.waiting
        if isinstance(state.chart.nodes[node], ApprovalNode)
    ]


def list_answers(run: RunState, key: Key, questions: int, asker: Asker = FLOW_ITSELF) -> tuple[Reply, ...]:
    """What people answered to the questions of an agent in one visit, each with the question."""
    gates = [run.gates.get(question_id(key, number, asker=asker)) for number in range(1, questions + 1)]
    return tuple(reply for gate in gates if gate and (reply := gate.reply) is not None)


def open_question(state: FlowState, key: Key, asker: Asker = FLOW_ITSELF) -> GateOpened:
    """The gate of a visit; InvalidInput if the question's references lead nowhere."""
    node = state.chart.nodes[key.node]
    values = state.view(key)
    if isinstance(node, ApprovalNode):
        return GateOpened(
            gate=question_id(key, asker=asker),
            kind=GateKind.APPROVAL,
            question=write_question(node, values),
            options=node.options,
            step=asker.step,
            free=True,
        )
    if isinstance(node, InputNode):
        return GateOpened(
            gate=question_id(key, asker=asker),
            kind=GateKind.INPUT,
            question=write_question(node, values),
            options=(),
            step=asker.step,
            free=True,
            rule=node.validation or "",
            default=find_default(node, values),
        )
    attempts = state.visit_attempts.get(key)
    if isinstance(node, AgentNode) and attempts is not None:
        return GateOpened(
            gate=question_id(key, attempts.questions, asker=asker),
            kind=GateKind.QUESTION,
            question=f"The agent at {call_scope(*key).removesuffix('#1')} asks: {attempts.asks}",
            asks=attempts.asks,
            permissions=attempts.permissions,
            options=(),
            step=asker.step,
            free=True,
            rule="len(input) > 0",
        )
    raise NotAllowed(f"node {key.node!r} asks nothing", hint="drumline flow validate FILE")
