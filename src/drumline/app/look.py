"""Takes a snapshot of a run for the views: reads the journal, the claims, the drivers and the plan's marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from drumline.app.readings import Readings
from drumline.core.codec import FLOW_KINDS
from drumline.core.edits import compare
from drumline.core.events import ATTEMPTS, AttemptUsed, GateOpened, SessionOpened
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowStarted
from drumline.core.flow.model import Flow
from drumline.core.ids import DriverId, GateId, RunId, StepId, Stream
from drumline.core.plan import Marks, Problem
from drumline.core.recorded import Recorded
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.engine.loading import load_run
from drumline.errors import InvalidInput
from drumline.ports.journal import Store
from drumline.ports.roster import Roster
from drumline.record import replace
from drumline.views.snapshot import Snapshot, Walk
from drumline.views.stopwatch import TELLING, Stopwatch
from drumline.views.transcript import Happened
from drumline.views.walks import WalkHistory
from drumline.walltimes import parse_iso

WALK_KINDS = (*FLOW_KINDS, *(kind.__name__ for kind in ATTEMPTS))
"""The events of a step's stream that tell of its walk."""
TOLD_ON_THE_WAY = (SessionOpened, AttemptUsed)
"""What an attempt says of itself while it goes on."""


@dataclass(kw_only=True)
class Watcher:
    """Looks at one run again and again, reading only what is new.

    `recall` gives a flow by its path and digest, as the run first saw it, `hear` what the agent of a step told last.
    `begun` is a fold of the run that nobody else needs: it is continued.
    """

    store: Store
    roster: Roster
    readings: Readings | None
    run: RunId
    stale_after: float
    recall: Callable[[str, str], Flow]
    hear: Callable[[StepId], Happened | None] = lambda step: None
    begun: RunState | None = None

    def __post_init__(self) -> None:
        self.state = RunState(id=self.run)
        self._steps: dict[StepId, StepState] = {}
        self._latest: dict[StepId, Recorded] = {}
        self._times: list[float] = []
        self._stopwatch = Stopwatch()
        self._asked: dict[GateId, float] = {}
        self._walks: dict[StepId, WalkHistory] = {}
        self._charts: dict[str, Chart] = {}
        self._seen = 0

    def look(self, now: float, *, also: StepId | None = None) -> Snapshot:
        """The run at this moment; `also` names a finished step whose stream is wanted too."""
        self._catch_up(also)
        marks, problems = self._marks()
        owners = self._owners()
        seen = Snapshot(
            run=self.state,
            steps=self._steps,
            latest=self._latest,
            around=Surroundings(
                claimed=frozenset(owners),
                marks=marks,
                now=now,
                stale_after=self.stale_after,
                claim_times={step: parse_iso(m.claimed_at) for step, m in marks.items() if m.claimed_at},
            ),
            owners=owners,
            live=tuple(self.roster.drivers(self.run)),
            answers=self._answers(),
            started_at=self._times[0],
            last_at=self._times[-1],
            now=now,
            problems=problems,
            asked=self._asked,
            stopwatch=self._stopwatch,
            happened=self._listen(owners),
        )
        return replace(seen, walks={step: walk.view(seen) for step, walk in self._walks.items()})

    def read_walk(self, step: StepId, now: float) -> Walk:
        """The walk of a step at this moment, also of one that names no flow."""
        seen = self.look(now, also=step)
        if step in seen.walks:
            return seen.walks[step]
        history = WalkHistory(step=step, find_chart=self.find_chart)
        for recorded in self.store.read(Stream(self.run, step), kinds=WALK_KINDS):
            history.add(recorded.event, recorded.at)
        return history.view(seen)

    def find_chart(self, started: FlowStarted) -> Chart:
        """The flow that was started, as it was then; read once."""
        if started.digest not in self._charts:
            self._charts[started.digest] = Chart(self.recall(started.path, started.digest))
        return self._charts[started.digest]

    def _catch_up(self, also: StepId | None) -> None:
        if self._seen == 0:
            self._open()
        for recorded in self.store.tail(self.run, after=self._seen):
            self._seen = recorded.seq
            self._stopwatch.note(recorded.event, recorded.at, before=self._times[-1])
            self._times[1:] = [recorded.at]
            if recorded.stream.step:
                self._add(recorded)
            else:
                self._note(recorded)
                fold_run(self.state, [recorded.event])
        if also is not None and also not in self._steps:
            self._read_step(also)

    def _open(self) -> None:
        if self.begun is not None and self.begun.version > 0:
            self.state = self.begun
            recorded = self.store.read(Stream(self.run), after=self.begun.version - 1)  # from its last event on
            fold_run(self.state, [entry.event for entry in recorded[1:]])
            self._seen = recorded[-1].seq
        else:
            loaded = load_run(self.store, self.run)
            self.state, self._seen = loaded.state, loaded.seq
        if self.state.version == 0:
            raise InvalidInput(f"there is no run {self.run!r}", hint="drumline runs")
        own = Stream(self.run)
        telling = self.store.read(own, kinds=[kind.__name__ for kind in (*TELLING, GateOpened)])
        self._times = [telling[0].at, self.store.last_at(self.run, before=self._seen + 1) or telling[0].at]
        for entry in telling:
            self._note(entry)
            if entry.seq <= self._seen and not isinstance(entry.event, GateOpened):
                before = self.store.last_at(self.run, before=entry.seq) or entry.at
                self._stopwatch.note(entry.event, entry.at, before=before)
        reopened = [step for step in self.state.rounds if step not in self.state.finished]
        steps = self.state.plan.steps
        sole = [step.id for step in steps if len(steps) == 1 and self.state.names_flow(step.id)]
        for step in dict.fromkeys([*self.state.working, *reopened, *sole]):
            self._read_step(step)

    def _note(self, entry: Recorded) -> None:
        if isinstance(entry.event, GateOpened):
            self._asked[entry.event.gate] = entry.at

    def _read_step(self, step: StepId) -> None:
        self._steps[step] = StepState()
        if self.state.find_step(step) is not None and self.state.names_flow(step):
            self._walks[step] = WalkHistory(step=step, find_chart=self.find_chart)
        for recorded in self.store.read(Stream(self.run, step)):
            if recorded.seq <= self._seen:
                self._add(recorded)

    def _add(self, recorded: Recorded) -> None:
        step = recorded.stream.step
        if step not in self._steps:
            self._read_step(step)  # up to and with this event: what came before it is needed to understand it
            return
        kind = type(recorded.event).__name__
        if step in self._walks and kind in WALK_KINDS:
            self._walks[step].add(recorded.event, recorded.at)
        if kind not in FLOW_KINDS and self.state.lands:  # a flow by itself has no work that proofs are about
            fold_step(self._steps[step], [recorded.event])
        if not isinstance(recorded.event, TOLD_ON_THE_WAY):  # what is being done is what it was before
            self._latest[step] = recorded

    def _marks(self) -> tuple[Mapping[StepId, Marks], tuple[Problem, ...]]:
        known = self.state.reading()
        if self.readings is None or self.state.ended is not None:
            return known.marks, ()
        reading = self.readings.read(known)
        return reading.marks, compare(self.state, reading).problems

    def _owners(self) -> dict[StepId, DriverId]:
        live = set(self.roster.drivers(self.run))
        return {step: c.driver for step, c in self.store.list_claims(self.run).items() if c.driver in live}

    def _listen(self, owners: Mapping[StepId, DriverId]) -> dict[StepId, Happened]:
        heard = {step: self.hear(step) for step in owners if step not in self.state.finished}
        return {step: told for step, told in heard.items() if told is not None}

    def _answers(self) -> dict[GateId, str]:
        return {GateId(m.subject): m.value for _, m in self.store.unread(self.run) if m.kind == "answer"}
