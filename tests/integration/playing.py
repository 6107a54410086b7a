"""Flows of files played in one process: the real driver, library, scripts, agents and models on a store in memory."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.core.events import Event, FlowPinned, RunStarted
from drumline.core.flow.events import FlowEnded, NodeStarted
from drumline.core.flow.inspection import Surroundings
from drumline.core.ids import FLOW, Commit, DriverId, RunId, Stream
from drumline.core.plan import Plan
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode
from drumline.engine.driver import Driver
from drumline.engine.services import FlowServices, Services, Tools, Worker
from drumline.engine.upkeep import Upkeep
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles.library import FlowLibrary
from drumline.models import open_models
from drumline.planfiles.task import TaskFiles
from drumline.ports.agents import Agent
from drumline.ports.journal import Addition, Message
from drumline.ports.workspaces import Workspaces
from drumline.schemas.checking import JsonSchemas
from drumline.skills.folders import FolderSkills, search_path
from drumline.testing.clock import FakeClock
from drumline.testing.roster import FakeRoster
from drumline.testing.store import MemoryStore

RUN = RunId("played")


@dataclass(kw_only=True)
class Stage:
    """A repository in which a flow is played; `script` is the spec of both agent and model."""

    repo: Path
    flow: Path
    script: str
    prompt: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.logs = self.repo.parent / "logs"
        self.store = MemoryStore()
        self.library = FlowLibrary(
            top=self.repo,
            keep=self.logs / "flows",
            override=self.script,
            around=Surroundings(parse_expression=SafeExpressions().check),
        )

    def play(self, answers: Sequence[tuple[str, str]] = ()) -> FlowEnded:
        """Play to the end, answering the gates in their order; each must be the one that is asked."""
        self._begin()
        run = self._drive()
        for gate, answer in answers:
            assert [name for name, found in run.gates.items() if found.answer is None] == [gate]
            self.store.put(RUN, Message(kind="answer", subject=gate, value=answer, by="kim", channel="test"))
            run = self._drive(resuming=True)
        ends = [event for event in self.events if isinstance(event, FlowEnded) and event.scope == ""]
        assert len(ends) == 1, run
        return ends[0]

    @property
    def events(self) -> list[Event]:
        """All that happened in the walk."""
        return [entry.event for entry in self.store.read(Stream(RUN, FLOW))]

    @property
    def visits(self) -> Counter[str]:
        """How often each node of the flow itself was started."""
        return Counter(str(e.node) for e in self.events if isinstance(e, NodeStarted) and e.scope == "")

    def _begin(self) -> None:
        flow = self.library.load(self.flow)
        started = RunStarted(
            plan=flow.path,
            plan_name=flow.name,
            plan_digest=flow.digest,
            branch="",
            base=Commit(""),
            agent=self.script,
            mode=Mode.SEQUENTIAL,
            autonomy="critical",
            retries=0,
        )
        defaults = {variable.name: str(variable.default) for variable in flow.variables}
        pinned = FlowPinned(
            flow=flow.name,
            path=flow.path,
            digest=flow.digest,
            folder=str(self.repo),
            prompt=self.prompt,
            variables=defaults | dict(self.variables),
            agent=self.script,
            model=self.script,
        )
        anyio.run(self.store.append, {Stream(RUN): Addition(events=[started, pinned], expected=0)})

    def _drive(self, *, resuming: bool = False) -> RunState:
        driver = Driver(upkeep=Upkeep(services=self._services(), warn=self.warnings.append), run_id=RUN)

        async def session() -> RunState:
            return await driver.drive(resuming=resuming)

        return anyio.run(session)

    def _services(self) -> Services:
        return Services(
            store=self.store,
            roster=FakeRoster(),
            clock=FakeClock(),
            workspaces=cast(Workspaces, None),
            planfiles=TaskFiles(Plan(name="flow", path="")),
            logs=self.logs,
            equip=self._equip,
            open_flows=self._flow_services,
        )

    def _flow_services(self) -> FlowServices:
        return FlowServices(
            library=self.library,
            expressions=SafeExpressions(),
            schemas=JsonSchemas(),
            skills=FolderSkills(places=search_path(self.repo, {})),
        )

    def _equip(self, _driver: DriverId) -> Tools:
        processes = supervise(self.logs)

        def open_here(spec: str) -> Agent:
            return open_agent(spec, processes=processes, base=self.repo)

        models = open_models(open_agent=open_here, processes=processes, agent=self.script, environ={})
        return Tools(
            processes=processes, open_models=lambda: models, open_agent=lambda spec: Worker(agent=open_here(spec))
        )


def make_repository(folder: Path) -> Path:
    """A git repository whose only commit holds what is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    person = ("-c", "user.name=Kim", "-c", "user.email=kim@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*person, "commit", "-q", "--allow-empty", "-m", "Say hello")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder
