"""What a face collects before it shows anything: the folds, the claims and the time, as they were at one moment.

Views are functions of a snapshot and of nothing else, so that all faces say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.ids import DriverId, GateId, StepId
from drumline.core.plan import Problem
from drumline.core.recorded import Recorded
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.record import Record, field, force_setattr
from drumline.views.stopwatch import Stopwatch


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


class Snapshot(RunSnapshot):
    """A run of a plan.

    `steps` and `latest` (the last entry of a step's stream, which says since when and what is being done) are there
    for open steps and may lack finished ones. `owners` are live claims, `problems` what keeps an edit of the plan from
    counting.
    """

    steps: Mapping[StepId, StepState]
    around: Surroundings
    owners: Mapping[StepId, DriverId]
    problems: Sequence[Problem] = ()
    latest: Mapping[StepId, Recorded] = field(default_factory=dict)
    selected: frozenset[StepId] = frozenset()

    def __post_init__(self) -> None:
        force_setattr(self, "selected", frozenset(step.id for step in self.run.selected()))
