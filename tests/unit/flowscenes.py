"""Histories of runs that walk small flows, made from events, for the tests of the views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.unit.flows import each, end, flow, name, script

from drumline.core import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowStarted
from drumline.core.flow.model import AgentNode, ApprovalNode, Flow, InputNode, NodeId
from drumline.core.ids import FLOW, NO_STEP, Commit, DriverId, GateId, RunId, Stream
from drumline.core.recorded import Recorded
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode
from drumline.errors import InvalidInput
from drumline.record import replace
from drumline.views.progress import Progress
from drumline.views.snapshot import Snapshot, Walk
from drumline.views.told import Line
from drumline.views.walks import WalkHistory

RUN = RunId("r1")
DRIVER = DriverId("d-1")
STARTED = 1_000.0


def approval(node: str, to: str, *, options: Sequence[str] = ("ship it", "no")) -> ApprovalNode:
    """A question whose every answer leads to the same node."""
    routes = {option: NodeId(to) for option in options}
    return ApprovalNode(
        id=NodeId(node), question="Is it\ngood?", options=tuple(options), routes=routes, on_other=NodeId(to)
    )


def ask_name(node: str, to: str) -> InputNode:
    """A question that is answered with any text of three signs."""
    return InputNode(id=NodeId(node), question="Who?", validation="len(input) >= 3", default="bob", next=name(to))


def call(node: str, callee: str, to: str) -> AgentNode:
    """A node that calls a flow or an agent."""
    return AgentNode(id=NodeId(node), agent=callee, prompt="go", next=name(to))


MAIN = flow(
    script("plan", "left right"),
    script("left", "join"),
    script("right", "middle"),
    script("middle", "join"),
    script("join", "each"),
    each("each", "{{items}}", branch="one", to="coder"),
    script("one"),
    call("coder", "coder", "review"),
    approval("review", "done"),
    end("done", "shipped\nwith care"),
    state={"items": ["x", "y", "z"]},
).flow
CODER = flow(script("implement", "over"), end("over", "CODED")).flow


@dataclass(kw_only=True)
class History:
    """A run of a flow, as a watcher would have read it."""

    run: RunState
    walk: WalkHistory
    times: list[float] = field(default_factory=list)
    asked: dict[GateId, float] = field(default_factory=dict)

    def add(self, entry: Recorded) -> None:
        """Fold in the next entry of the run, of whichever stream."""
        self.times.append(entry.at)
        if entry.stream.step == FLOW:
            self.walk.add(entry.event, entry.at)
            return
        fold_run(self.run, (entry.event,))
        if isinstance(entry.event, ev.GateOpened):
            self.asked[entry.event.gate] = entry.at

    def view(self, *, now: float, live: Sequence[DriverId], answers: Mapping[GateId, str]) -> Snapshot:
        """The run at this moment."""
        claimed = {FLOW: live[0]} if live else {}
        around = Surroundings(claimed=frozenset(claimed), marks={}, now=now, stale_after=1.0, claim_times={})
        snapshot = Snapshot(
            run=self.run,
            live=live,
            answers=answers,
            started_at=self.times[0],
            last_at=self.times[-1],
            now=now,
            asked=self.asked,
            steps={},
            around=around,
            owners=claimed,
        )
        return replace(snapshot, walks={FLOW: self.walk.view(snapshot)})


def history_of(*events: ev.Event, flows: Mapping[str, Flow] | None = None, said: Sequence[ev.Event] = ()) -> History:
    """A run that began at STARTED; then the walk's events, one a second, then what belongs into the run's stream."""
    chosen = {"main": MAIN, "coder": CODER} if flows is None else flows
    known = {key: Chart(value) for key, value in chosen.items()}

    def find_chart(started: FlowStarted) -> Chart:
        if started.path not in known:
            raise InvalidInput(f"{started.path} is gone")
        return known[started.path]

    own: list[ev.Event] = [_started(), _pinned()]
    streams = [(NO_STEP, event) for event in own]
    streams += [(FLOW, event) for event in events]
    streams += [(NO_STEP, event) for event in said]
    history = History(run=RunState(id=RUN), walk=WalkHistory(step=FLOW, find_chart=find_chart))
    for number, (step, event) in enumerate(streams):
        at = STARTED + max(0, number - 1)
        history.add(Recorded(seq=number + 1, stream=Stream(RUN, step), version=number + 1, at=at, event=event))
    return history


def seen(history: History, *, live: bool = True, after: float = 100.0, answers: str = "") -> Snapshot:
    """The run some time after it began; `answers` are `gate=answer`, not folded in yet."""
    given = dict([answers.split("=")]) if answers else {}
    return history.view(
        now=STARTED + after,
        live=(DRIVER,) if live else (),
        answers={GateId(gate): text for gate, text in given.items()},
    )


def walk_of(snapshot: Snapshot) -> Walk:
    """The walk that is the run."""
    assert snapshot.flow_walk is not None
    return snapshot.flow_walk


def tell(*events: ev.Event, cancelled: bool = False) -> list[Line]:
    """What is told of these events, ten seconds apart."""
    run = fold_run(RunState(id=RUN), [_started(), _pinned(), *([ev.CancelRequested()] if cancelled else [])])
    progress = Progress()
    entries = [
        Recorded(seq=number + 1, stream=Stream(RUN, FLOW), version=number, at=float(10 * number), event=event)
        for number, event in enumerate(events)
    ]
    return progress.feed(entries, run)


def begin_main(**given: object) -> FlowStarted:
    """The walk of MAIN begins."""
    return replace(FlowStarted(flow="sample", path="main"), **given)


def _started() -> ev.RunStarted:
    return ev.RunStarted(
        plan="flows/main.yaml",
        plan_name="sample",
        plan_digest="",
        branch="",
        base=Commit(""),
        agent="",
        mode=Mode.SEQUENTIAL,
        autonomy="critical",
        retries=0,
    )


def _pinned() -> ev.FlowPinned:
    return ev.FlowPinned(flow="sample", path="main", digest="", folder="/home/me/project")
