"""The flow that a step of a plan walks: found by its name, with the step as its values and the run's agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drumline.core.corrections import count_corrections, is_asked_for, list_tried
from drumline.core.finalreview import list_final_reasons
from drumline.core.flow.model import NO_LANDING, Flow, Json, is_for_steps
from drumline.core.flow.questions import Asker
from drumline.core.ids import DriverId, Token
from drumline.core.life import Phase
from drumline.core.plan import Step
from drumline.core.prompt import write_task
from drumline.core.reviewers import REVIEWER, choose_reviewer
from drumline.core.routing import STRONGER_FROM, raise_tier, spell_agent
from drumline.core.steprules import recover
from drumline.core.vocabulary import QUICK
from drumline.engine.closing import Recover
from drumline.engine.flow.calls import inherit
from drumline.engine.flow.course import Course
from drumline.engine.flow.performer import NodePerformer
from drumline.engine.flow.runwalks import describe_run
from drumline.engine.flow.stepwalk import StepFlowWalk
from drumline.engine.nodes.attempt import open_brief
from drumline.engine.nodes.review import write_whole_task
from drumline.engine.nodes.stepwork import StepWork
from drumline.engine.services import FlowServices
from drumline.errors import InvalidInput
from drumline.ports.library import Callee, Library
from drumline.profiles import DEFAULT, OTHER
from drumline.record import Record, replace

USUAL_FLOW = "step"
"""The flow of steps that name none: the shipped one, or one of this name in `.drumline/flows`."""


class StepLibrary(Record):
    """Finds what the flow of a step names: its default agent works on the step, the other one takes over from it.

    The reviewer is neither, if there is somebody else.
    """

    library: Library
    own: Callable[[], Callee]
    other: Callable[[], Callee]
    reviewer: Callable[[], Callee]

    def find_callee(self, name: str, *, around: Path) -> Callee:
        """What `agent: NAME` means in a flow whose folder is `around`; InvalidInput if there is nothing to call."""
        known = {DEFAULT: self.own, OTHER: self.other, REVIEWER: self.reviewer}
        return known[name]() if name in known else self.library.find_callee(name, around=around)

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
    recover: Recover = recover,
) -> StepFlowWalk:
    """What walks the flow of this name for a step that was claimed under this token."""

    def find_worker() -> Callee:
        own = work.orders.agents[0]
        return Callee(agent=spell_agent(work.run, own.name), tier=raise_tier(own.tier, fix=walk.state.fixes))

    def find_other() -> Callee:
        first, *others = work.orders.agents
        if others:
            return Callee(agent=spell_agent(work.run, others[0].name), tier=others[0].tier)
        return Callee(agent=spell_agent(work.run, first.name), tier=raise_tier(first.tier, fix=STRONGER_FROM))

    def find_reviewer() -> Callee:
        chosen = choose_reviewer(work.run, work.orders.agents, strong=not work.orders.lands)
        return Callee(agent=chosen.name, tier=chosen.tier)

    library = StepLibrary(library=flows.library, own=find_worker, other=find_other, reviewer=find_reviewer)
    mine = replace(flows, library=library)
    performer = NodePerformer(services=work.services, flows=mine, tools=work.tools, warn=warn)
    step = work.orders.step.id
    walk = StepFlowWalk(
        services=work.services,
        flows=mine,
        run=work.run,
        driver=driver,
        token=token,
        act=performer.perform,
        course=Course(path="", digest="", folder=work.services.workspaces.path(step)),
        asker=Asker(step=step, round=work.run.rounds.get(step, 0)),
        warn=warn,
        work=work,
        recover=recover,
        open_course=lambda: open_course(work, mine.library, name, worked=walk.state.phase is Phase.WORKED),
    )
    return walk


def open_course(work: StepWork, library: Library, name: str, *, worked: bool = False) -> Course:
    """The course of a step, or of a walk of the run itself; InvalidInput if there is no such flow, or it has errors.

    `worked` says that there is work of an earlier round.
    """
    flow = library.load(library.locate(name))
    if not work.orders.lands:
        return Course(
            path=flow.path,
            digest=flow.digest,
            folder=work.services.workspaces.path(work.orders.step.id),
            prompt=write_whole_task(work) if list_final_reasons(work.run) else "",
            variables=inherit(flow, {}),
            values=describe_run(work.run, work.orders.step.id),
        )
    if not is_for_steps(flow):
        raise InvalidInput(f"a step cannot walk the flow {name!r}: {NO_LANDING}", hint="drumline flow graph step")
    return Course(
        path=flow.path,
        digest=flow.digest,
        folder=work.services.workspaces.path(work.orders.step.id),
        prompt=write_task(replace(open_brief(work), offers=False)),
        variables=inherit(flow, {}),
        values={"step": _describe(work, worked=worked)},
        timeout=work.services.step_timeout,
    )


def _describe(work: StepWork, *, worked: bool) -> dict[str, Json]:
    step = work.orders.step
    return {
        "id": step.id,
        "title": step.title,
        "folder": str(work.services.workspaces.path(step.id)),
        "text": work.services.read_pinned(step),
        "files": list(step.files),
        "checks": [check.command for check in work.orders.checks],
        "by_hand": _list_manual(step),
        "autonomy": work.orders.autonomy,
        "rigor": work.run.begun.rigor or QUICK,
        "retries": work.orders.retries,
        "heals": count_corrections(work.run, step.id),
        "heal": worked and is_asked_for(work.run, step.id),
        "other_ways": "; ".join(list_tried(work.run, step.id)) or "none",
    }


def _list_manual(step: Step) -> str:
    """What only a person can verify, as the end of a question."""
    items = "".join(f"\n  - {item}" for item in step.manual)
    return f" Please verify by hand:{items}" if items else ""
