"""Flows that nodes call: found by name, walked in a scope of their own, no deeper than a cap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowStarted
from drumline.core.flow.extraction import extract_json
from drumline.core.flow.model import AgentNode, Flow, Json
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import FlowState
from drumline.core.flow.templates import render_strict
from drumline.core.flow.walk import RunNode, begin_flow
from drumline.engine.services import FlowServices
from drumline.errors import InvalidInput
from drumline.record import replace

DEEPEST = 8
"""How many flows may be called inside each other."""


@dataclass(kw_only=True, slots=True)
class FlowCalls:
    """Answers a stack's questions about calls; flows are kept as they were when the run first used them."""

    flows: FlowServices
    warn: Callable[[str], None] = lambda text: None
    _charts: dict[str, Chart] = field(default_factory=dict)
    _loaded: dict[Path, Chart] = field(default_factory=dict)

    def begin(self, state: FlowState, command: RunNode) -> FlowStarted | None:
        """The first event of the flow that the node calls; None if it calls none."""
        node = command.node
        if not isinstance(node, AgentNode):
            return None
        callee = self.flows.library.find_callee(node.agent, around=Path(state.chart.flow.path).parent)
        if callee.flow is None:
            return None
        scope = call_scope(*command.key)
        if _depth(scope) > DEEPEST:
            message = f"flow {node.agent!r} would be called {DEEPEST + 1} deep in {scope}; legal is {DEEPEST}"
            raise InvalidInput(message, hint=f"drumline flow graph {callee.flow}")
        prompt = render_strict(node.prompt, state.view(command.key))
        chart = self._load(callee.flow)
        variables = inherit(chart.flow, state.started.variables if state.started else {})
        begun = begin_flow(chart, prompt=prompt, scope=scope, variables=variables, timeout=command.timeout)
        return replace(begun, values={**begun.values, **_hand_down(state)})

    def find_chart(self, started: FlowStarted) -> Chart:
        """The flow that was started, as it was then."""
        return self.find_pinned(started.path, started.digest)

    def find_pinned(self, path: str, digest: str) -> Chart:
        """A flow of this run by its digest."""
        if digest not in self._charts:
            self._charts[digest] = Chart(self.flows.library.recall(path, digest))
        return self._charts[digest]

    def judge(self, node: AgentNode, child: FlowState) -> Outcome:
        """The output of the end that the called flow came to; a failure if it came to none."""
        ended = child.ended
        if ended is None or not ended.node:
            reason = ended.reason if ended else "it did not end"
            name = child.chart.flow.name
            failed = Outcome(failure=f"flow {name!r}: {reason}", failure_class="validation", usage=child.usage)
            return replace(failed, login=ended.login if ended else "")
        if node.output_schema is None:
            return Outcome(output=ended.output, usage=child.usage)
        return replace(self._judge_structure(node, ended.output), usage=child.usage)

    def _judge_structure(self, node: AgentNode, text: str) -> Outcome:
        try:
            value = extract_json(text)
        except InvalidInput as error:
            return Outcome(failure=str(error), failure_class="validation", stage="structured-extraction")
        faults = self.flows.schemas.find_faults(value, node.output_schema or {})
        if faults:
            message = f"its output does not fit the schema: {'; '.join(faults)}"
            return Outcome(failure=message, failure_class="validation", stage="structured-extraction")
        return Outcome(output=value)

    def _load(self, path: Path) -> Chart:
        """A flow called a second time in a run is the one that was called the first time."""
        if path not in self._loaded:
            flow = self.flows.library.load(path)
            self._loaded[path] = self._charts.setdefault(flow.digest, Chart(flow))
        return self._loaded[path]


def inherit(flow: Flow, given: Mapping[str, Json]) -> dict[str, Json]:
    """The variables of a called flow: its caller's, and its own defaults where the caller has none."""
    values: dict[str, Json] = {variable.name: variable.default for variable in flow.variables}
    return values | dict(given)


def _hand_down(state: FlowState) -> dict[str, Json]:
    """The step of a plan that a called flow is about, as its caller knows it; the text is in its prompt."""
    step = state.started.values.get("step") if state.started else None
    if not isinstance(step, Mapping):
        return {}
    return {"step": {key: value for key, value in step.items() if key != "text"}}


def _depth(scope: str) -> int:
    """How many calls a scope is deep; the items of a map are none."""
    return sum(1 for name in scope.split("/") if not name.endswith("]"))
