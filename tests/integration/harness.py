"""A whole run in one process on the shipped fakes, so that a crash can be put at every append."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel

from drumline.core.events import PlanPinned, RunStarted
from drumline.core.ids import Commit, DriverId, RunId, StepId, Stream
from drumline.core.plan import Check, Plan, Step
from drumline.core.state import RunState
from drumline.core.steprules import recover
from drumline.core.vocabulary import Mode, Mutants, Review
from drumline.engine.closing import Recover
from drumline.engine.driver import Driver
from drumline.engine.services import FlowServices, Services, Tools, Worker
from drumline.engine.upkeep import Upkeep
from drumline.errors import InvalidInput
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles.library import FlowLibrary
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.journal import Addition, Message, Store
from drumline.ports.models import Models
from drumline.ports.planfiles import PlanFiles
from drumline.ports.processes import Ended, Job
from drumline.ports.roster import Roster
from drumline.ports.skills import Skills
from drumline.ports.workspaces import Workspaces
from drumline.schemas.checking import JsonSchemas
from drumline.testing.clock import FakeClock
from drumline.testing.planfiles import FakePlanFiles
from drumline.testing.processes import FakeProcesses
from drumline.testing.roster import FakeRoster
from drumline.testing.store import MemoryStore
from drumline.testing.workspaces import FakeWorkspaces

RUN = RunId("run-1")
AGENT = "test"
"""What the run's own agent is called."""


class Died(BaseException):
    """The process was killed here."""


class Mortal:
    """A port as one process sees it: once the process is dead, nothing it still tries reaches the world."""

    def __init__(self, thing: object, life: Life) -> None:
        self._thing = thing
        self._life = life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if not callable(found):
            return found

        def call(*args: object, **kwargs: object) -> object:
            self._life.check()
            return found(*args, **kwargs)

        return call


class Life:
    """Whether the process lives."""

    def __init__(self) -> None:
        self.over = False

    def check(self) -> None:
        """Raise if it does not."""
        if self.over:
            raise Died

    def end(self) -> None:
        """Die here."""
        self.over = True
        raise Died


def step(name: str, *needs: str, checks: tuple[str, ...] = ("check",), manual: tuple[str, ...] = ()) -> Step:
    """A step that writes a file of its own name."""
    return Step(
        id=StepId(name),
        title=f"Do {name}",
        needs=tuple(StepId(n) for n in needs),
        checks=tuple(Check(command=f"{c} {name}", line=10 + i) for i, c in enumerate(checks)),
        manual=manual,
        path=f"plan/{name}.md",
    )


def small_plan(*steps: Step) -> Plan:
    """A plan of the given steps."""
    return Plan(name="demo", path="plan", title="Demo", steps=steps)


class WritingAgent:
    """Writes `<step>.txt`; the first `slips` attempts leave it wrong; `a2=` is what attempt 2 of step a answers."""

    def __init__(self, slips: dict[str, int] | None = None, outcomes: dict[str, Outcome] | None = None) -> None:
        self.slips = slips or {}
        self.outcomes = outcomes or {}
        self.assignments: list[Assignment] = []

    async def work(self, assignment: Assignment) -> Outcome:
        self.assignments.append(assignment)
        await anyio.lowlevel.checkpoint()
        wrong = assignment.attempt <= self.slips.get(assignment.step, 0)
        (assignment.workspace / f"{assignment.step}.txt").write_text("wrong\n" if wrong else f"{assignment.step}\n")
        return self.outcomes.get(f"{assignment.step}{assignment.attempt}", Outcome())


def judge(job: Job) -> Ended:
    """`check STEP` passes if the file holds what it should."""
    name = job.argv[-1].split()[-1]
    file = job.cwd / f"{name}.txt"
    good = file.exists() and file.read_text() == f"{name}\n"
    return Ended(exit_code=0 if good else 1, seconds=0.0, output="" if good else "not as it should be")


class Mortals(ABC):
    """A harness in which drivers die at chosen appends, and people go on talking."""

    store: MemoryStore
    life: Life

    @abstractmethod
    def drive(self) -> RunState:
        """One driver process from start to end."""

    def drive_through(self, deaths: int = 1) -> RunState:
        """Start drivers until one survives; each death is a `Died` raised by a hook of the store."""
        for _ in range(deaths):
            try:
                return self.drive()
            except Died:
                continue
            except BaseExceptionGroup as group:
                if group.subgroup(Died) is None:
                    raise
        return self.drive()

    def die_at(self, number: int, *, when: str) -> None:
        """Kill the process at the given append from now on counted, before or after it is written."""

        def strike(count: int) -> None:
            if count == number:
                self.life.end()

        self.store.before = strike if when == "before" else None
        self.store.after = strike if when == "after" else None

    def send(self, message: Message) -> None:
        """A person says something from another process."""
        self.store.put(RUN, message)


@dataclass(kw_only=True)
class Harness(Mortals):
    """Everything that outlives a driver."""

    folder: Path
    plan: Plan
    agent: Agent = field(default_factory=WritingAgent)
    others: dict[str, Agent] = field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    budget: float | None = None
    quota_wait: float = 900.0
    mode: str = "parallel"
    autonomy: str = "autopilot"
    retries: int = 2
    selection: tuple[StepId, ...] | None = None
    script: Callable[[Job], Ended] = judge
    recover: Recover = recover
    jobs: int = 2
    flow: str = ""
    require: str = "kept"
    configured: tuple[str, ...] = ()
    mutants: Mutants = Mutants.SHOW
    rigor: str = ""
    review: Review = Review.RISK
    step_timeout: float | None = None

    def __post_init__(self) -> None:
        self.store = MemoryStore()
        self.roster = FakeRoster()
        self.clock = FakeClock()
        self.planfiles = FakePlanFiles(self.plan)
        self.workspaces = FakeWorkspaces(self.folder / "work", files={"README": "hello\n"}, plan_paths=["plan"])
        self.joined: list[DriverId] = []
        self.life = Life()

    @property
    def source(self) -> PlanFiles:
        """Where the drivers read the plan and write its marks."""
        return self.planfiles

    def services(self) -> Services:
        """The tools of one driver."""

        def equip(driver: DriverId) -> Tools:
            self.joined.append(driver)
            return Tools(
                processes=FakeProcesses(self.script), open_agent=self._open, open_models=lambda: cast(Models, None)
            )

        self.life = life = Life()
        return Services(
            store=cast(Store, Mortal(self.store, life)),
            roster=cast(Roster, Mortal(self.roster, life)),
            workspaces=cast(Workspaces, Mortal(self.workspaces, life)),
            planfiles=cast(PlanFiles, Mortal(self.source, life)),
            clock=self.clock,
            logs=self.folder / "logs",
            equip=equip,
            open_flows=self.flow_services,
            quota_wait=self.quota_wait,
            step_timeout=self.step_timeout,
        )

    def flow_services(self) -> FlowServices:
        """What steps need that walk a flow: those of the folder `flows`, or shipped ones."""
        return FlowServices(
            library=FlowLibrary(top=self.folder, keep=self.folder / "kept", default=AGENT),
            expressions=SafeExpressions(),
            schemas=JsonSchemas(),
            skills=cast(Skills, None),
        )

    def _open(self, name: str) -> Worker:
        if name == AGENT:
            return Worker(agent=self.agent)
        if name in self.others:
            return Worker(agent=self.others[name])
        raise InvalidInput(f"there is no agent {name!r}", hint="drumline agents")

    async def begin(self) -> None:
        """Record the beginning of the run, as the use case does; nothing happens if it is recorded."""
        await self.workspaces.start(self.workspaces.first)
        if self.store.read(Stream(RUN)):
            return
        reading = self.source.read()
        started = RunStarted(
            plan=self.plan.path,
            plan_name=self.plan.name,
            plan_digest="",
            branch="drumline/demo-run-1",
            base=Commit(self.workspaces.first),
            agent=AGENT,
            mode=Mode(self.mode),
            autonomy=self.autonomy,
            retries=self.retries,
            selection=self.selection,
            named=self.selection is not None,
            fallback=self.fallback,
            budget=self.budget,
            flow=self.flow,
            require=self.require,
            checks=self.configured,
            mutants=self.mutants,
            rigor=self.rigor,
            review=self.review,
        )
        pinned = PlanPinned(format=reading.plan.format, title="Demo", steps=reading.plan.steps, digests=reading.digests)
        await self.store.append({Stream(RUN): Addition(events=[started, pinned], expected=0)})

    async def _session(self) -> RunState:
        await self.begin()
        driver = Driver(upkeep=Upkeep(services=self.services(), recover=self.recover), run_id=RUN, jobs=self.jobs)
        return await driver.drive(resuming=bool(self.joined))

    def drive(self) -> RunState:
        """One driver process from start to end; whatever dies in it leaves the roster as a dead driver."""
        try:
            return anyio.run(self._session)
        finally:
            for driver in self.joined:
                self.roster.die(driver)
