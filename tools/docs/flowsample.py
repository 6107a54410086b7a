"""A made-up run that walks a flow, for the examples of the reference; folded from events like every other run."""

from __future__ import annotations

from tools.docs.sample import RUN, STARTED

from drumline.core import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowStarted, NodeEnded, NodeStarted
from drumline.core.flow.model import AgentNode, ApprovalNode, CheckNode, EndNode, Flow, NodeId
from drumline.core.ids import FLOW, NO_STEP, Commit, GateId, StepId, Stream
from drumline.core.recorded import Recorded
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.vocabulary import GateKind, Mode
from drumline.record import replace
from drumline.views.snapshot import Snapshot
from drumline.views.walks import WalkHistory

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
            gate=GateId("review"),
            kind=GateKind.APPROVAL,
            question="Keep it?",
            options=("yes", "no"),
            step=FLOW,
            free=True,
        ),
    ),
    (NO_STEP, ev.RunParked(gates=(GateId("review"),))),
)


def sample_flow_history() -> list[Recorded]:
    """What is in the journal of the run, an entry every ten seconds."""
    begun = [(NO_STEP, _started()), (NO_STEP, _pinned())]
    return [
        Recorded(seq=number + 1, stream=Stream(RUN, step), version=number + 1, at=STARTED + 10 * number, event=event)
        for number, (step, event) in enumerate([*begun, *EVENTS])
    ]


def sample_flow_snapshot() -> Snapshot:
    """Two nodes are over, and a person is asked."""
    walk = WalkHistory(step=FLOW, find_chart=lambda started: Chart(WALKED))
    recorded = sample_flow_history()
    for entry in recorded:
        if entry.stream.step == FLOW:
            walk.add(entry.event, entry.at)
    now = STARTED + 100
    snapshot = Snapshot(
        run=fold_run(RunState(id=RUN), [entry.event for entry in recorded if entry.stream.step == NO_STEP]),
        steps={},
        around=Surroundings(claimed=frozenset(), marks={}, now=now, stale_after=3600.0, claim_times={}),
        owners={},
        live=[],
        answers={},
        started_at=STARTED,
        last_at=recorded[-1].at,
        now=now,
        asked={entry.event.gate: entry.at for entry in recorded if isinstance(entry.event, ev.GateOpened)},
    )
    return replace(snapshot, walks={FLOW: walk.view(snapshot)})


def _started() -> ev.RunStarted:
    return ev.RunStarted(
        plan="careful.yaml",
        plan_name=WALKED.name,
        plan_digest="",
        branch="",
        base=Commit(""),
        agent="",
        mode=Mode.SEQUENTIAL,
        autonomy="critical",
        retries=0,
    )


def _pinned() -> ev.FlowPinned:
    return ev.FlowPinned(flow=WALKED.name, path="careful.yaml", digest="", folder="/home/kim/project")
