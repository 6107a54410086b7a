"""Questions that nodes put to people, as gates: their ids say where in the walk they are asked."""

from __future__ import annotations

from drumline.core.events import GateOpened
from drumline.core.flow.answers import find_default, write_question
from drumline.core.flow.model import ApprovalNode, InputNode
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import FlowState, Key
from drumline.core.ids import GateId, StepId
from drumline.errors import NotAllowed

FLOW = StepId("flow")
"""The step in whose stream a flow is walked that runs by itself."""


def question_id(key: Key) -> GateId:
    """One question per visit: `review` for the first, `review#2` when it is asked again, `coder#1/review` in a call."""
    name = call_scope(key.scope, key.node, key.visit)
    return GateId(name.removesuffix("#1"))


def open_question(state: FlowState, key: Key) -> GateOpened:
    """The gate of a visit; InvalidInput if the question's references lead nowhere."""
    node = state.chart.nodes[key.node]
    values = state.view(key)
    if isinstance(node, ApprovalNode):
        return GateOpened(
            gate=question_id(key),
            kind="approval",
            question=write_question(node, values),
            options=node.options,
            step=FLOW,
            free=True,
        )
    if isinstance(node, InputNode):
        return GateOpened(
            gate=question_id(key),
            kind="input",
            question=write_question(node, values),
            options=(),
            step=FLOW,
            free=True,
            rule=node.validation or "",
            default=find_default(node, values),
        )
    raise NotAllowed(f"node {key.node!r} asks nothing", hint="drumline flow validate FILE")
