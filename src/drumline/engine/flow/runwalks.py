"""The flows that a run of a plan walks itself, before its first step and after its last.

The rule: a flow that comes to its end without anything that acts or asks has nothing to do, and is not walked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from drumline.core.finalreview import list_final_reasons
from drumline.core.flow.chart import Chart
from drumline.core.flow.fold import fold_flows
from drumline.core.flow.model import Json
from drumline.core.flow.state import FlowState
from drumline.core.flow.walk import Evaluate, begin_flow, walk_on
from drumline.core.ids import FINAL, StepId
from drumline.core.orders import orders_for
from drumline.core.plan import RUN_WALKS
from drumline.core.runwalks import list_open
from drumline.core.state import RunState
from drumline.core.vocabulary import WalkEnd
from drumline.engine.flow.calls import inherit
from drumline.engine.services import FlowServices
from drumline.errors import InvalidInput


@dataclass(kw_only=True)
class RunWalks:
    """What one driver knows of them: each is read once, when the driver begins."""

    open_flows: Callable[[], FlowServices]
    _charts: dict[StepId, Chart | None] = field(default_factory=dict)

    def find_pending(self, run: RunState) -> frozenset[StepId]:
        """Those that are due now and have something to do."""
        flows = self.open_flows()
        if not self._charts:
            self._charts = {name: _read(flows, name) for name in RUN_WALKS}
        evaluate = flows.expressions.evaluate
        return frozenset(name for name in list_open(run) if _has_work(self._charts[name], run, name, evaluate))


def _read(flows: FlowServices, name: StepId) -> Chart | None:
    """The flow as the run first saw it; None if it cannot be walked: who tries to is told why."""
    try:
        return Chart(flows.library.load(flows.library.locate(RUN_WALKS[name].flow)))
    except InvalidInput:
        return None


def _has_work(chart: Chart | None, run: RunState, name: StepId, evaluate: Evaluate) -> bool:
    if chart is None:
        return True
    found: dict[str, FlowState] = {}
    started = begin_flow(chart, variables=inherit(chart.flow, {}), values=describe_run(run, name))
    fold_flows(found, (started,), find_chart=lambda _: chart)
    due = walk_on(found[""], evaluate).due
    ended = found[""].ended
    return bool(due) or ended is None or ended.status is not WalkEnd.DONE


def describe_run(run: RunState, name: StepId) -> dict[str, Json]:
    """The values that the walk of the run itself of this name begins with; `checks` are those that judge there."""
    begun = run.begun
    told = {
        "id": run.id,
        "plan": begun.plan,
        "title": run.plan.title or begun.plan_name,
        "branch": begun.branch,
        "base": begun.base,
        "autonomy": begun.autonomy,
        "steps": [step.id for step in run.selected()],
        "preflight": [check.command for check in run.plan.preflight],
        "review": list(list_final_reasons(run)) if name == FINAL else [],
        "checks": [check.command for check in orders_for(run, run.define(name)).checks],
    }
    return {"run": told, "step": {"id": name, "title": run.define(name).title, "autonomy": begun.autonomy}}
