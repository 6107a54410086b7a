"""The flow that a step of a plan walks: found by its name, with the step as its values and the run's agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drumline.core.flow.model import NO_LANDING, Flow, Json, is_for_steps
from drumline.core.flow.questions import Asker
from drumline.core.ids import DriverId, Token
from drumline.core.prompt import Brief, write_prompt
from drumline.core.roles import find_role
from drumline.core.routing import raise_tier, spell_agent
from drumline.core.schedule import list_remarks
from drumline.engine.flow.calls import inherit
from drumline.engine.flow.course import Course
from drumline.engine.flow.performer import NodePerformer
from drumline.engine.flow.stepwalk import StepFlowWalk
from drumline.engine.kit import FlowServices
from drumline.engine.nodes.stepwork import StepWork
from drumline.errors import InvalidInput
from drumline.ports.library import Callee, Library
from drumline.profiles import DEFAULT
from drumline.record import Record, replace


class StepLibrary(Record):
    """Finds what the flow of a step names: its default agent is who works on the step."""

    library: Library
    own: Callable[[], Callee]

    def find_callee(self, name: str, *, around: Path) -> Callee:
        """What `agent: NAME` means in a flow whose folder is `around`; InvalidInput if there is nothing to call."""
        return self.own() if name == DEFAULT else self.library.find_callee(name, around=around)

    def locate(self, name: str) -> Path:
        """The file of the flow that a plan or a setting names; InvalidInput if there is none."""
        return self.library.locate(name)

    def load(self, path: Path) -> Flow:
        """The checked flow in a file; InvalidInput with all its problems. It is kept for the run."""
        return self.library.load(path)

    def recall(self, path: str, digest: str) -> Flow:
        """A flow as it was when `load` kept it; InvalidInput if neither the copy nor the file has that digest."""
        return self.library.recall(path, digest)


def open_step_walk(
    work: StepWork,
    flows: FlowServices,
    name: str,
    *,
    driver: DriverId,
    token: Token,
    warn: Callable[[str], None],
) -> StepFlowWalk:
    """What walks the flow of this name for a step that was claimed under this token."""

    def find_worker() -> Callee:
        own = work.orders.agents[0]
        return Callee(agent=spell_agent(work.run, own.name), tier=raise_tier(own.tier, fix=walk.state.fixes))

    mine = replace(flows, library=StepLibrary(library=flows.library, own=find_worker))
    performer = NodePerformer(kit=work.kit, flows=mine, tools=work.tools, warn=warn)
    step = work.orders.step.id
    walk = StepFlowWalk(
        kit=work.kit,
        flows=mine,
        run=work.run,
        driver=driver,
        token=token,
        act=performer.perform,
        course=Course(path="", digest="", folder=work.kit.workspaces.path(step)),
        asker=Asker(step=step, round=work.run.rounds.get(step, 0)),
        warn=warn,
        work=work,
        open_course=lambda: open_course(work, mine.library, name),
    )
    return walk


def open_course(work: StepWork, library: Library, name: str) -> Course:
    """The course of a step; InvalidInput if there is no such flow, or if it has errors."""
    flow = library.load(library.locate(name))
    if not is_for_steps(flow):
        raise InvalidInput(f"a step cannot walk the flow {name!r}: {NO_LANDING}", hint="drumline flow graph step")
    return Course(
        path=flow.path,
        digest=flow.digest,
        folder=work.kit.workspaces.path(work.orders.step.id),
        prompt=_write_prompt(work),
        variables=inherit(flow, {}),
        values={"step": _describe(work)},
    )


def _write_prompt(work: StepWork) -> str:
    step, run = work.orders.step, work.run
    role = find_role(step.role)
    brief = Brief(
        step=step,
        text=work.kit.read_pinned(step),
        plan_title=run.plan.title or run.plan.name,
        checks=work.orders.checks,
        attempt=1,
        context=run.begun.context,
        role=role.briefing if role else "",
        remarks=list_remarks(run),
        offers=False,
    )
    return write_prompt(brief)


def _describe(work: StepWork) -> dict[str, Json]:
    step = work.orders.step
    return {
        "id": step.id,
        "title": step.title,
        "text": work.kit.read_pinned(step),
        "files": list(step.files),
        "checks": [check.command for check in work.orders.checks],
        "autonomy": work.orders.autonomy,
        "retries": work.orders.retries,
    }
