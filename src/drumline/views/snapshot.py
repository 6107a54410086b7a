"""What a face collects before it shows anything: the folds, the claims and the time, as they were at one moment.

Views are functions of a snapshot and of nothing else, so that all faces say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.flow.events import FlowEnded
from drumline.core.flow.model import NodeId
from drumline.core.flow.state import FlowState, Key
from drumline.core.ids import FLOW, DriverId, GateId, StepId
from drumline.core.plan import Problem
from drumline.core.recorded import Recorded
from drumline.core.schedule import Horizon, Surroundings
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.record import Record, State, field, force_setattr
from drumline.views.stopwatch import Stopwatch
from drumline.views.transcript import Happened


class RunSnapshot(Record):
    """One run at one moment, whatever it works through.

    `live` are its live drivers, `answers` those given but not folded in yet, `asked` says since when a gate is open.
    """

    run: RunState
    live: Sequence[DriverId]
    answers: Mapping[GateId, str]
    started_at: float
    last_at: float
    now: float
    asked: Mapping[GateId, float] = field(default_factory=dict)
    stopwatch: Stopwatch | None = None


RECENT = 10
"""How many of the last visits a face shows."""


class Trace(State):
    """One visit: since when it acts, when and how it ended, how often it was lost. Only the history changes it.

    `waits` says for what an agent that concluded in it left it open: an answer, or a quota.
    """

    key: Key
    began: float | None = None
    ended: float | None = None
    blocked: str = ""
    waits: str = ""
    lost: int = 0
    next: tuple[NodeId, ...] = ()
    failure: str = ""
    fell_back: str = ""
    wrote: tuple[str, ...] = ()
    unchanged: bool = False

    @property
    def seconds(self) -> float | None:
        """How long an ended visit took; None for one that only computed or asked."""
        return None if self.began is None or self.ended is None else self.ended - self.began


class Walk(RunSnapshot):
    """The walk of one step through its flow.

    What was visited is kept apart from the fold of the flow, so that a run can be looked at when its flow cannot be
    read any more. `flows` are the flow and the flows being called, by scope; empty, with a `problem`, if they cannot be
    read. `began` has the visits that were started and have not ended, `traces` all of them, `walked` those that ended,
    in order.
    """

    step: StepId
    flows: Mapping[str, FlowState]
    began: Mapping[Key, float]
    traces: Mapping[Key, Trace] = field(default_factory=dict)
    walked: Sequence[Key] = ()
    end: FlowEnded | None = None
    problem: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)

    @property
    def visits(self) -> int:
        """How many visits there were, with those that are due, act or wait."""
        open_flows = [state for state in self.flows.values() if state.ended is None]
        return len(self.walked) + sum(len(state.waiting) + len(state.running) for state in open_flows)

    @property
    def root(self) -> FlowState | None:
        """The flow that nobody called; None before it was begun, or if it cannot be read."""
        return self.flows.get("")

    @property
    def recent(self) -> list[Trace]:
        """The visits that ended last, oldest first."""
        return [self.traces[key] for key in self.walked[-RECENT:]]


class Snapshot(RunSnapshot):
    """A run with its steps.

    `steps` and `latest` (the last entry of a step's stream, which says since when and what is being done) are there
    for open steps and may lack finished ones. `owners` are live claims, `problems` what keeps an edit of the plan from
    counting. `walks` are those of steps that walk a flow, as far as their streams were read;
    `happened` has what the agents of steps in work told last.
    """

    steps: Mapping[StepId, StepState]
    around: Surroundings
    owners: Mapping[StepId, DriverId]
    problems: Sequence[Problem] = ()
    latest: Mapping[StepId, Recorded] = field(default_factory=dict)
    selected: frozenset[StepId] = frozenset()
    horizon: Horizon | None = None
    walks: Mapping[StepId, Walk] = field(default_factory=dict)
    happened: Mapping[StepId, Happened] = field(default_factory=dict)

    def __post_init__(self) -> None:
        force_setattr(self, "selected", frozenset(step.id for step in self.run.selected()))
        force_setattr(self, "horizon", Horizon(self.run))

    @property
    def flow_walk(self) -> Walk | None:
        """The walk that is the whole run, if it is the run of a flow."""
        return self.walks.get(FLOW)
