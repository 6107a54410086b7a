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


class Snapshot(Record):
    """One run at one moment.

    `steps` and `latest` (the last entry of a step's stream, which says since when and what is being done) are there
    for open steps and may lack finished ones. `owners` are live claims, `live` the live drivers of the run, `answers`
    those given but not folded in yet, `problems` what keeps an edit of the plan from counting.
    """

    run: RunState
    steps: Mapping[StepId, StepState]
    around: Surroundings
    owners: Mapping[StepId, DriverId]
    live: Sequence[DriverId]
    answers: Mapping[GateId, str]
    started_at: float
    last_at: float
    now: float
    problems: Sequence[Problem] = ()
    latest: Mapping[StepId, Recorded] = field(default_factory=dict)
    stopwatch: Stopwatch | None = None
    selected: frozenset[StepId] = frozenset()

    def __post_init__(self) -> None:
        force_setattr(self, "selected", frozenset(step.id for step in self.run.selected()))
