"""The walk of one step, folded entry by entry into what faces show.

What cannot be understood is remembered as a problem and never keeps people from looking. A flow that was called is
forgotten once it is over; its visits are not.
"""

from __future__ import annotations

from collections.abc import Callable

from drumline.core.events import AttemptEnded, Event
from drumline.core.flow import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.fold import fold_flows
from drumline.core.flow.metering import FlowMeter
from drumline.core.flow.model import NodeId
from drumline.core.flow.state import FlowState, Key
from drumline.core.ids import StepId
from drumline.errors import DrumlineError
from drumline.record import State, field
from drumline.views.snapshot import RunSnapshot, Trace, Walk

FindChart = Callable[[ev.FlowStarted], Chart]


class WalkHistory(State):
    """Everything that was recorded so far; `find_chart` gives a flow as it was when it was begun."""

    step: StepId
    find_chart: FindChart
    flows: dict[str, FlowState] = field(default_factory=dict)
    traces: dict[Key, Trace] = field(default_factory=dict)
    walked: list[Key] = field(default_factory=list)
    began: dict[Key, float] = field(default_factory=dict)
    end: ev.FlowEnded | None = None
    problem: str = ""
    meter: FlowMeter = field(default_factory=FlowMeter)

    def add(self, event: Event, at: float) -> None:
        """Fold in the next event of the step's stream."""
        self.meter.note(event)
        self._trace(event, at)
        self._fold(event)

    def view(self, seen: RunSnapshot) -> Walk:
        """The walk at the moment of a snapshot."""
        return Walk(
            run=seen.run,
            live=seen.live,
            answers=seen.answers,
            started_at=seen.started_at,
            last_at=seen.last_at,
            now=seen.now,
            asked=seen.asked,
            stopwatch=seen.stopwatch,
            step=self.step,
            flows=self.flows,
            began=self.began,
            traces=self.traces,
            walked=self.walked,
            end=self.end,
            problem=self.problem,
            usage=self.meter.usage if seen.live else self.meter.usage_with_open,
        )

    def _trace(self, event: Event, at: float) -> None:
        match event:
            case ev.NodeStarted():
                trace = self._find(Key(event.scope, event.node, event.visit))
                trace.began = self.began[trace.key] = at
                trace.blocked = trace.waits = ""
            case ev.NodeLost():
                trace = self._find(Key(event.scope, event.node, event.visit))
                trace.began = None
                trace.lost += not event.waits
                self.began.pop(trace.key, None)
            case ev.NodeBlocked():
                trace = self._find(Key(event.scope, event.node, event.visit))
                trace.began, trace.blocked = None, event.reason
                self.began.pop(trace.key, None)
            case AttemptEnded() if event.waits:
                trace = self._find(Key(event.scope, NodeId(event.node), event.visit))
                trace.began, trace.waits = None, "an answer" if event.question else event.message or event.failure
                self.began.pop(trace.key, None)
            case ev.NodeEnded():
                trace = self._find(Key(event.scope, event.node, event.visit))
                trace.next, trace.wrote = event.next, tuple(event.writes)
                trace.failure, trace.fell_back, trace.unchanged = event.failure, event.fell_back, event.unchanged
                self._close(trace, at)
            case ev.FlowEnded():
                self._trace_end(event, at)

    def _trace_end(self, event: ev.FlowEnded, at: float) -> None:
        """An end node has no events of its own: the end of its flow is its visit."""
        if event.node:
            trace = self._find(Key(event.scope, event.node, 1))
            trace.wrote = tuple(event.writes)
            self._close(trace, at)
        for key in [key for key in self.began if _is_inside(key.scope, event.scope)]:
            del self.began[key]
        if not event.scope:
            self.end = event

    def _find(self, key: Key) -> Trace:
        return self.traces.setdefault(key, Trace(key=key))

    def _close(self, trace: Trace, at: float) -> None:
        trace.ended = at
        self.walked.append(trace.key)
        self.began.pop(trace.key, None)

    def _fold(self, event: Event) -> None:
        if self.problem:
            return
        try:
            fold_flows(self.flows, (event,), find_chart=self.find_chart)
        except DrumlineError as error:
            self.problem = str(error)
            self.flows.clear()
            return
        if isinstance(event, ev.FlowEnded):
            for scope in [scope for scope in self.flows if scope and _is_inside(scope, event.scope)]:
                del self.flows[scope]


def _is_inside(scope: str, around: str) -> bool:
    """Whether a scope is that of the flow around it, of one it called, or of an item of its maps."""
    return not around or scope == around or scope.startswith(f"{around}/")
