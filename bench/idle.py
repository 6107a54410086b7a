"""Walks whose acts do nothing: what is left is deciding, recording and folding, on the real store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import cast

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.flow.model import Json
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.questions import Asker
from drumline.core.flow.walk import RunNode
from drumline.core.ids import Commit, DriverId, RunId, StepId, Tree
from drumline.core.orders import orders_for
from drumline.core.plan import Check, Plan, Step
from drumline.core.proof import Colour, Compared
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import Mode
from drumline.engine.flow.course import Course
from drumline.engine.flow.stepflow import USUAL_FLOW
from drumline.engine.flow.stepwalk import StepFlowWalk
from drumline.engine.landingline import LandingLine
from drumline.engine.nodes.attempt import Terms
from drumline.engine.nodes.stepwork import Note, StepWork
from drumline.engine.nodes.visit import Visit
from drumline.engine.performer import StepPerformer
from drumline.engine.services import FlowServices, Services, Tools, Worker
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles.library import FlowLibrary
from drumline.ports.models import Models
from drumline.ports.processes import Processes
from drumline.ports.schemas import Schemas
from drumline.ports.skills import Skills
from drumline.ports.workspaces import Meant
from drumline.record import replace
from drumline.store.sqlite import SqliteStore
from drumline.testing.workspaces import FakeWorkspaces

RUN = RunId("bench")
DRIVER = DriverId("bench-driver")
COMMIT = Commit("c" * 40)
TREE = Tree("d" * 40)
BEFORE = Tree("b" * 40)
"""What is there before the work: an attempt that changes nothing is asked about."""
CHECKS = 11
SAID: Mapping[str, Json] = MappingProxyType({"autonomy": "autopilot", "rigor": "quick", "heal": False, "heals": 0})
"""What conditions of the shipped flow ask of a step."""
NOWHERE = Path(tempfile.gettempdir()) / "no-such-folder-of-the-bench"
"""No act of an idle walk touches a file; if one did, it would fail here."""


class IdleWorkspaces(FakeWorkspaces):
    """Answers from constants what an idle walk asks of its workspace, so that not even the fake's work is measured."""

    async def head(self, left: Commit | None = None, meant: Meant | None = None) -> Commit:
        """The same commit always."""
        return COMMIT

    def stands_at(self, left: Commit) -> bool:
        """Nobody moves the branch."""
        return True

    async def changed(self, base: Commit, tree: Tree) -> Mapping[str, str]:
        """One file, as a small step changes."""
        return {"src/part.py": "modified"}

    async def commit(self, step: StepId, tree: Tree, *, base: Commit, message: str, journal: str = "") -> Commit:
        """The same commit always."""
        return COMMIT

    async def remove(self, step: StepId) -> None:
        """Nothing to take away."""


class IdlePerformer(StepPerformer):
    """Real intents; every act succeeds at once and changes nothing."""

    async def intend(self, command: cmd.Command, state: StepState) -> Note:
        """What is recorded before an act; the text of the step, a file, is not kept."""
        if isinstance(command, cmd.Prepare):
            return Note(step=[ev.WorkspaceAssigned(path="workspace", base=COMMIT)])
        return await super().intend(command, state)

    async def perform(self, command: cmd.Command, state: StepState, terms: Terms) -> Note:
        """The outcome alone."""
        match command:
            case cmd.Prepare():
                return Note(step=[ev.WorkspaceReady(tree=BEFORE)])
            case cmd.Attempt():
                return Note(step=[ev.AttemptEnded(node=command.node, attempt=command.attempt, tree=TREE, seconds=1.5)])
            case cmd.RunCheck(number=number, check=check):
                ended = ev.CheckEnded(
                    check=number, command=check.command, tree=TREE, tree_after=TREE, exit_code=0, output="ok\n"
                )
                return Note(step=[ended])
            case cmd.Compare(against=against, checks=checks):
                found = [Compared(check=one, command=f"make check-{one}", colour=Colour.RED) for one in checks]
                return Note(step=[ev.ComparisonEnded(against=against, tree=BEFORE, found=tuple(found))])
            case cmd.Land():
                return Note(step=[ev.StepLanded(commit=COMMIT, tree=TREE)])
            case _:
                return Note()


def idle_services(store: SqliteStore) -> Services:
    """Services of which a walk uses the store and the workspaces only."""
    nothing: object = None
    return Services(
        store=store,
        workspaces=IdleWorkspaces(NOWHERE),
        roster=nothing,  # type: ignore[arg-type]
        planfiles=nothing,  # type: ignore[arg-type]
        clock=nothing,  # type: ignore[arg-type]
        logs=NOWHERE,
        equip=lambda driver: cast(Tools, nothing),
        open_flows=lambda: cast(FlowServices, nothing),
    )


def idle_tools() -> Tools:
    """The tools of a driver that starts nothing; it knows the seals of the journals it has read."""
    nothing: object = None
    return Tools(
        processes=cast(Processes, nothing),
        open_agent=lambda spec: cast(Worker, nothing),
        open_models=lambda: cast(Models, nothing),
    )


def idle_flows() -> FlowServices:
    """What the shipped flow needs to be walked."""
    nothing: object = None
    return FlowServices(
        library=FlowLibrary(top=NOWHERE, keep=Path(tempfile.mkdtemp()), default="idle"),
        expressions=SafeExpressions(),
        schemas=cast(Schemas, nothing),
        skills=cast(Skills, nothing),
    )


async def refuse(command: RunNode, visit: Visit) -> Outcome:
    """The shipped flow has no node that acts by itself."""
    raise AssertionError(f"{command.key} acts")


def idle_run(plan: Plan) -> RunState:
    """A run that has just begun; only what walks look at is in it."""
    return fold_run(RunState(id=RUN), begin_run(plan))


def begin_run(plan: Plan) -> list[ev.Event]:
    """What the stream of a run of this plan begins with."""
    return [begun(plan), ev.PlanPinned(format=plan.format, title=plan.title, steps=plan.steps, digests={})]


def begun(plan: Plan) -> ev.RunStarted:
    """The first event of a run of this plan."""
    return ev.RunStarted(
        plan=plan.path,
        plan_name=plan.name,
        plan_digest="",
        branch=f"drumline/{plan.name}-{RUN}",
        base=COMMIT,
        agent="idle",
        mode=Mode.PARALLEL,
        autonomy="autopilot",
        retries=2,
    )


def idle_step(number: int) -> Step:
    """A step with eleven checks: a chain of fifteen nodes."""
    checks = tuple(Check(command=f"make check-{part}", line=20 + part) for part in range(CHECKS))
    name = f"step-{number}"
    return Step(id=StepId(name), title=f"Do part {number}", checks=checks, path=f"plans/bench/{name}.md")


Opening = Callable[[Step], list[ev.Event]]


def claim_walks(
    store: SqliteStore,
    run: RunState,
    steps: Iterable[Step],
    opening: Opening = lambda step: [],
    *,
    tools: Tools,
    flows: FlowServices | None = None,
) -> list[tuple[StepFlowWalk, list[ev.Event]]]:
    """A claimed walk for each step, with the events that open it in the run's stream; `flows` are the driver's."""
    services = idle_services(store)
    flows = flows or idle_flows()
    flow = flows.library.load(flows.library.locate(USUAL_FLOW))
    found = []
    for step in steps:
        token = store.take(run.id, step.id, DRIVER)
        if token is None:
            raise AssertionError(f"{step.id} is claimed although nobody else is here")
        line = LandingLine(store=store, roster=services.roster, run=run)
        work = StepWork(services=services, tools=tools, given=orders_for(run, step), run=run, line=line)
        values: dict[str, Json] = {"step": {"id": step.id, "title": step.title, **SAID}}
        course = Course(path=flow.path, digest=flow.digest, folder=NOWHERE, values=values)
        walk = StepFlowWalk(
            services=services,
            flows=flows,
            run=run,
            driver=DRIVER,
            token=token,
            act=refuse,
            course=course,
            asker=Asker(step=step.id),
            work=work,
            open_course=partial(replace, course),
            open_performer=IdlePerformer.of,
        )
        found.append((walk, opening(step)))
    return found


async def walk_together(walks: Sequence[tuple[StepFlowWalk, list[ev.Event]]]) -> None:
    """All walks at once in one loop, to their ends."""
    async with anyio.create_task_group() as tasks:
        for walk, opening in walks:
            tasks.start_soon(walk.go, opening)
