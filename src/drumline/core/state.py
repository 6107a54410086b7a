"""The state of a run: everything that its own stream says.

The object is mutable for speed (a run may have a hundred thousand events), but only the fold in `runfold.py` assigns to
it. Everything shown or decided is computed from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from drumline.core import events as ev
from drumline.core.blocked import Reply
from drumline.core.ids import Commit, GateId, RunId, StepId
from drumline.core.plan import RUN_WALKS, Marks, Plan, Reading, Step, find_run_walk
from drumline.core.queue import Queue
from drumline.core.runlife import RunPhase
from drumline.core.vocabulary import STUCK, Mode, RunEnd
from drumline.errors import NotAllowed
from drumline.record import State, field

_FIRST = (RunPhase.NEW, RunPhase.BEGUN)
"""The phases of a run whose stream has no event, or only its first one."""


class Gate(State):
    """A question, and its answer once there is one; `withdrawn` is what it was if it no longer counts."""

    opened: ev.GateOpened
    answer: ev.GateAnswered | None = None
    withdrawn: ev.GateAnswered | None = None

    @property
    def given(self) -> ev.GateAnswered | None:
        """The answer in the words of who gave it, whether it still counts or not."""
        return self.withdrawn or self.answer

    @property
    def reply(self) -> Reply | None:
        """What the agent that asks is told; None while there is no answer."""
        if self.answer is None:
            return None
        return Reply(asked=self.opened.asks, said=self.answer.choice, permissions=self.opened.permissions)


class RunState(State):
    """Everything the run's own stream says.

    `removed` are steps that an edit took out of the plan. `rounds` counts how often a step was reopened; `rewritten` is
    the round from which on its present text counts, `reopened` says what is special about its present round. `quiet`
    says that no step was claimed since the run branch was seen where we left it. `corrections` are corrective steps
    that were planned, and `unfiled` those of them that are not in the plan's files yet; `revisions` and `unrevised` are
    the same for changes of what steps say. `unwritten` are documents, by path, that are not in their place yet,
    `documents` the digests of those that are. `misplaced` says that the run branch is not where we left it, until that
    is settled. `final_before` is how the last walk of the run ended before more was landed.
    """

    id: RunId
    version: int = 0
    started: ev.RunStarted | None = None
    plan: Plan = field(default_factory=lambda: Plan(name="", path=""))
    digests: dict[str, str] = field(default_factory=dict)
    marks: dict[StepId, Marks] = field(default_factory=dict)
    inherited: set[StepId] = field(default_factory=set)
    removed: set[StepId] = field(default_factory=set)
    working: dict[StepId, int] = field(default_factory=dict)
    finished: dict[StepId, ev.StepFinished] = field(default_factory=dict)
    declared: set[StepId] = field(default_factory=set)
    rounds: dict[StepId, int] = field(default_factory=dict)
    rewritten: dict[StepId, int] = field(default_factory=dict)
    redone: dict[StepId, int] = field(default_factory=dict)
    reopened: dict[StepId, ev.StepReopened] = field(default_factory=dict)
    corrections: dict[StepId, ev.CorrectionPlanned] = field(default_factory=dict)
    unfiled: set[StepId] = field(default_factory=set)
    revisions: dict[str, ev.RevisionPlanned] = field(default_factory=dict)
    unrevised: set[str] = field(default_factory=set)
    unwritten: dict[str, ev.DocumentWritten] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    gates: dict[GateId, Gate] = field(default_factory=dict)
    unanswered: dict[GateId, Gate] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    depth: dict[StepId, int] = field(default_factory=dict)
    has_loners: bool = False
    manual_waves: tuple[int, ...] = ()
    elsewhere: frozenset[StepId] = frozenset()
    chosen: tuple[Step, ...] | None = None
    ranked: tuple[Step, ...] = ()
    mirrored: dict[StepId, ev.PlanMirrored] = field(default_factory=dict)
    deferred: dict[StepId, ev.StepDeferred] = field(default_factory=dict)
    usage: dict[StepId, dict[str, Mapping[str, float]]] = field(default_factory=dict)
    resettled: tuple[ev.BranchSettled, ...] = ()
    misplaced: ev.BranchMisplaced | None = None
    queue: Queue = field(default_factory=Queue)
    mode: Mode = Mode.SEQUENTIAL
    flow: ev.FlowPinned | None = None
    cancel: ev.CancelRequested | None = None
    pause: ev.PauseRequested | None = None
    parked: bool = False
    parked_until: float | None = None
    parked_for: str = ""
    quiet: bool = True
    ended: ev.RunEnded | None = None
    lessons: ev.LessonsChanged | None = None
    final_before: ev.StepFinished | None = None

    @property
    def begun(self) -> ev.RunStarted:
        """The run's first event; NotAllowed on a run that never started."""
        if self.started is None:
            raise NotAllowed(f"run {self.id!r} has no beginning in the journal", hint="drumline runs")
        return self.started

    @property
    def lands(self) -> bool:
        """Whether its steps land on a branch one by one; a run that is one flow delivers at its end, if at all."""
        return self.flow is None

    @property
    def folder(self) -> str:
        """The folder that the run works in, if it is not in places of its own."""
        return self.flow.folder if self.flow is not None else ""

    @property
    def model(self) -> str:
        """The model that answers for every node, if one was named."""
        return self.flow.model if self.flow is not None else ""

    @property
    def left(self) -> Commit:
        """Where the journal says that the run branch was left."""
        return self.queue.head or self.begun.base

    @property
    def open_gates(self) -> list[Gate]:
        """Gates without an answer, oldest first."""
        return list(self.unanswered.values())

    def is_asking(self, gate: GateId) -> bool:
        """Whether a gate is open, and somebody may still answer it: of a run that has ended, what blocks a step."""
        asked = self.unanswered.get(gate)
        return asked is not None and (self.ended is None or asked.opened.kind in STUCK)

    @property
    def phase(self) -> RunPhase:
        """How far the run is."""
        if self.version < len(_FIRST):
            return _FIRST[self.version]
        return RunPhase.ENDED if self.ended is not None else RunPhase.PARKED if self.parked else RunPhase.OPEN

    @property
    def is_stuck(self) -> bool:
        """Whether it ended, and its work waits for a person to continue or give up."""
        ends = (RunEnd.BLOCKED, RunEnd.FAILED) if self.lands else (RunEnd.BLOCKED,)  # a flow that failed is over
        return self.ended is not None and self.ended.state in ends

    def find_step(self, step: StepId) -> Step | None:
        """A step of the plan, or one of the walks of the run itself; None if there is none of that name."""
        return self.plan.by_id.get(step) or find_run_walk(step, self.plan)

    def define(self, step: StepId) -> Step:
        """The step, or the walk of the run itself, that is known to be there."""
        found = self.find_step(step)
        if found is None:
            raise NotAllowed(f"run {self.id!r} has no step {step!r}", hint="drumline status")
        return found

    def has_begun(self, step: StepId) -> bool:
        """Whether somebody has worked on a step, or closed it."""
        return step in self.working or step in self.finished or step in self.rounds

    def list_own_walks(self) -> list[Step]:
        """The walks of the run itself that have begun."""
        return [step for name, step in RUN_WALKS.items() if self.has_begun(name)]

    def flow_of(self, step: Step) -> str:
        """The flow that a step walks by name; empty for the shipped one."""
        return step.flow or self.begun.flow

    def names_flow(self, step: StepId) -> bool:
        """Whether a step walks a flow by name: of the shipped one, what it does to the work is all there is to tell."""
        return step not in self.plan.by_id or bool(self.flow_of(self.plan.by_id[step]))

    def selected(self) -> list[Step]:
        """The steps this run is about, in plan order; those of other repositories are not among them."""
        if self.chosen is not None:
            return list(self.chosen)
        chosen = self.begun.selection
        names = None if chosen is None else set(chosen)
        return [s for s in self.plan.steps if not s.elsewhere and (names is None or self._is_chosen(s.id, names))]

    def _is_chosen(self, step: StepId, names: Collection[StepId]) -> bool:
        """Whether a step is among those, or helps one of them."""
        planned = self.corrections.get(step)
        return step in names or (planned is not None and self._is_chosen(planned.helps, names))

    def reading(self) -> Reading:
        """The plan as the journal knows it, so that only files changed since have to be parsed.

        A file we marked may hold an edit that waits for its answer: those of steps in work are always parsed.
        """
        marks = {step.id: self.marks.get(step.id, Marks()) for step in self.plan.steps}
        unsure = {step.path for step in self.plan.steps if step.id in self.working}
        digests = {path: digest for path, digest in self.digests.items() if path not in unsure}
        return Reading(plan=self.plan, marks=marks, digests=digests)

    def count_asked(self, kind: str, step: StepId) -> int:
        """How many questions of a kind were asked about a step, those included that are idle by now."""
        return self.asked.get(f"{kind}-{step}", 0)

    def find_gate(self, kind: str, step: StepId, about: int) -> Gate | None:
        """The last question of a kind about one attempt or round of a step."""
        same = (g for g in reversed(self.gates.values()) if g.opened.kind == kind and g.opened.step == step)
        return next((gate for gate in same if gate.opened.about == about), None)

    def landed_since(self, base: Commit) -> tuple[StepId, ...]:
        """The steps that landed after the one whose commit this is, or all if it is none of theirs."""
        since: list[StepId] = []
        for finished in reversed(self.finished.values()):
            if finished.commit == base:
                break
            if finished.commit is not None:
                since.append(finished.step)
        return tuple(reversed(since))

    def answer(self, gate: GateId) -> str | None:
        """The choice made at a gate; None while it is open or was never asked."""
        found = self.gates.get(gate)
        return found.answer.choice if found and found.answer else None
