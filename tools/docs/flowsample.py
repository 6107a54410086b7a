"""A made-up run that walks a flow, for the examples of the reference; folded from events like every other run."""

from __future__ import annotations

from tools.docs.sample import RUN, STARTED

from drumline.core import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowStarted, NodeEnded, NodeStarted
from drumline.core.flow.model import AgentNode, ApprovalNode, CheckNode, EndNode, Flow, NodeId
from drumline.core.ids import FLOW, NO_STEP, Commit, GateId, StepId, Stream
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.views.flowhistory import FlowHistory
from drumline.views.flowsnapshot import FlowSnapshot

IMPLEMENT, VERIFY, REVIEW, DONE = (NodeId(name) for name in ("implement", "verify", "review", "done"))
WALKED = Flow(
    name="careful",
    start=IMPLEMENT,
    nodes={
        IMPLEMENT: AgentNode(id=IMPLEMENT, agent="coder", prompt="{{initial_prompt}}", next=(VERIFY,)),
        VERIFY: CheckNode(id=VERIFY, checks=("make test",), passed=REVIEW, failed=IMPLEMENT),
        REVIEW: ApprovalNode(
            id=REVIEW, question="Keep it?", options=("yes", "no"), routes={"yes": DONE}, on_other=IMPLEMENT
        ),
        DONE: EndNode(id=DONE, output="kept"),
    },
)
EVENTS: tuple[tuple[StepId, ev.Event], ...] = (
    (FLOW, FlowStarted(flow=WALKED.name, path="careful.yaml")),
    (FLOW, NodeStarted(node=IMPLEMENT, visit=1)),
    (FLOW, NodeEnded(node=IMPLEMENT, visit=1, next=(VERIFY,), writes={"summary": "…"})),
    (FLOW, NodeStarted(node=VERIFY, visit=1)),
    (FLOW, NodeEnded(node=VERIFY, visit=1, next=(REVIEW,), writes={"check": {"passed": True}})),
    (
        NO_STEP,
        ev.GateOpened(
            gate=GateId("review"), kind="approval", question="Keep it?", options=("yes", "no"), step=FLOW, free=True
        ),
    ),
    (NO_STEP, ev.RunParked(gates=(GateId("review"),))),
)


def sample_flow_events() -> tuple[ev.Event, ...]:
    """What the driver of the run records."""
    return tuple(event for _, event in EVENTS)


def sample_flow_snapshot() -> FlowSnapshot:
    """Two nodes are over, and a person is asked."""
    history = FlowHistory(run=RunState(id=RUN), find_chart=lambda started: Chart(WALKED))
    begun = [(NO_STEP, _started()), (NO_STEP, _pinned())]
    for number, (step, event) in enumerate([*begun, *EVENTS]):
        at = STARTED + 10 * number
        history.add(Recorded(seq=number + 1, stream=Stream(RUN, step), version=number + 1, at=at, event=event))
    return history.view(now=STARTED + 100)


def _started() -> ev.RunStarted:
    return ev.RunStarted(
        plan="careful.yaml",
        plan_name=WALKED.name,
        plan_digest="",
        config_digest="",
        branch="",
        base=Commit(""),
        agent="",
        mode="sequential",
        autonomy="critical",
        retries=0,
    )


def _pinned() -> ev.FlowPinned:
    return ev.FlowPinned(flow=WALKED.name, path="careful.yaml", digest="", folder="/home/kim/project")
