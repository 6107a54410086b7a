"""A flow walked in one process on the shipped fakes, so that a crash can be put at every append."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
import anyio.lowlevel
from tests.integration.harness import RUN, Life, Mortal, Mortals
from tests.unit.flows import refuse

from drumline.core.events import FlowPinned, RunStarted
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.model import Flow, Json
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.walk import RunNode
from drumline.core.ids import FLOW, Commit, DriverId, Stream
from drumline.core.plan import Plan
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode
from drumline.engine.driver import Driver
from drumline.engine.flow.walk import Perform
from drumline.engine.nodes.visit import Visit
from drumline.engine.services import FlowServices, Services, Tools, Worker
from drumline.engine.upkeep import Upkeep
from drumline.errors import InvalidInput
from drumline.planfiles.task import TaskFiles
from drumline.ports.journal import Addition, Store
from drumline.ports.library import Callee
from drumline.ports.models import Models
from drumline.ports.processes import Ended, Job
from drumline.ports.roster import Roster
from drumline.ports.skills import Skills
from drumline.ports.workspaces import Workspaces
from drumline.record import replace
from drumline.testing.clock import FakeClock
from drumline.testing.processes import FakeProcesses
from drumline.testing.roster import FakeRoster
from drumline.testing.store import MemoryStore

Act = Callable[[RunNode, Visit], Outcome]


class Conditions:
    """Conditions of tests are the names of values."""

    def check(self, text: str) -> str:
        return ""

    def evaluate(self, text: str, values: Mapping[str, Json]) -> Json:
        return values[text] if text in values else refuse(text, values)


class NoSchemas:
    """Every value fits."""

    def check(self, schema: Mapping[str, Json]) -> str:
        return ""

    def find_faults(self, value: Json, schema: Mapping[str, Json]) -> list[str]:
        return []


class Shelf:
    """Flows by name: `agent: NAME` calls the one of that name, any other name is an agent."""

    def __init__(self, flows: Mapping[str, Flow]) -> None:
        self.flows = flows

    def find_callee(self, name: str, *, around: Path) -> Callee:
        return Callee(flow=Path(name)) if name in self.flows else Callee(agent=name)

    def locate(self, name: str) -> Path:
        return Path(name)

    def load(self, path: Path) -> Flow:
        return self.flows[str(path)]

    def recall(self, path: str, digest: str) -> Flow:
        if self.flows[path].digest != digest:
            raise InvalidInput(f"{path} has changed")
        return self.flows[path]


@dataclass(kw_only=True)
class FlowHarness(Mortals):
    """Everything that outlives a driver of the flow `main`. `pauses` makes a visit take that many turns."""

    folder: Path
    flows: Mapping[str, Flow]
    act: Act
    variables: Mapping[str, str] = field(default_factory=dict)
    pauses: Mapping[str, int] = field(default_factory=dict)
    budget: float | None = None

    def __post_init__(self) -> None:
        self.flows = {name: replace(flow, path=name, digest=f"digest of {name}") for name, flow in self.flows.items()}
        self.store = MemoryStore()
        self.roster = FakeRoster()
        self.joined: list[DriverId] = []
        self.life = Life()
        self.concluded: Counter[str] = Counter()

    def services(self) -> Services:
        """The tools of one driver."""

        def equip(driver: DriverId) -> Tools:
            return Tools(processes=FakeProcesses(refuse_job), open_models=refuse_models, open_agent=refuse_agent)

        self.life = life = Life()
        return Services(
            store=cast(Store, Mortal(self.store, life)),
            roster=cast(Roster, Mortal(self.roster, life)),
            clock=FakeClock(),
            workspaces=cast(Workspaces, None),
            planfiles=TaskFiles(Plan(name="flow", path="")),
            logs=self.folder / "logs",
            equip=equip,
            open_flows=self.flow_services,
        )

    def flow_services(self) -> FlowServices:
        """What a walk works with beside the rest."""
        return FlowServices(
            library=Shelf(self.flows), expressions=Conditions(), schemas=NoSchemas(), skills=cast(Skills, None)
        )

    def driver(self) -> Driver:
        """A new driver with an act that is counted once it has concluded."""
        return Driver(upkeep=Upkeep(services=self.services(), perform=self.performing()), run_id=RUN)

    def performing(self) -> Perform:
        """What nodes do in the process that the last services are for."""
        life = self.life

        async def perform(command: RunNode, visit: Visit) -> Outcome:
            for _ in range(self.pauses.get(visit.name, 1)):
                await anyio.lowlevel.checkpoint()
            life.check()
            outcome = self.act(command, visit)
            self.concluded[visit.name] += 1
            return outcome

        return perform

    async def begin(self) -> None:
        """Record the beginning of the run, as the use case does; nothing happens if it is recorded."""
        if self.store.read(Stream(RUN)):
            return
        main = self.flows["main"]
        started = RunStarted(
            plan="main",
            plan_name=main.name,
            plan_digest=main.digest,
            branch="",
            base=Commit(""),
            agent="test",
            mode=Mode.SEQUENTIAL,
            autonomy="critical",
            retries=0,
            budget=self.budget,
        )
        pinned = FlowPinned(
            flow=main.name,
            path="main",
            digest=main.digest,
            folder=str(self.folder),
            prompt="go",
            variables=self.variables,
        )
        await self.store.append({Stream(RUN): Addition(events=[started, pinned], expected=0)})

    async def session(self) -> RunState:
        """One driver from start to end."""
        await self.begin()
        driver = self.driver()
        self.joined.append(DriverId(f"d-{len(self.joined) + 1}"))
        return await driver.drive(resuming=len(self.joined) > 1)

    def drive(self) -> RunState:
        """One driver process; whatever dies in it leaves the roster as a dead driver."""
        try:
            return anyio.run(self.session)
        finally:
            for number in range(1, 200):
                self.roster.die(DriverId(f"d-{number}"))

    @property
    def end(self) -> FlowEnded:
        """How the walk ended."""
        ends = [r.event for r in self.store.read(Stream(RUN, FLOW)) if isinstance(r.event, FlowEnded)]
        return next(end for end in ends if end.scope == "")


def refuse_job(job: Job) -> Ended:
    """No test of the driver starts a process."""
    raise AssertionError(f"no process should be started: {job}")


def refuse_models() -> Models:
    """No test of the driver asks a model."""
    raise AssertionError("no model should be opened")


def refuse_agent(spec: str) -> Worker:
    """No test of the driver opens an agent."""
    raise AssertionError(f"no agent should be opened: {spec!r}")
