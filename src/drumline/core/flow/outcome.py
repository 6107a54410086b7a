"""What a node's work came to, and what that means: its writes, where it leads, or why it failed.

A write is what a node declares or returns, whether or not it differs from the value before. What a node's updates
call `output`, `choice`, `input` or `failure` is bound for them alone and leaves no trace in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from drumline.core.commands import Command
from drumline.core.event import Event
from drumline.core.flow.answers import accept_input
from drumline.core.flow.model import (
    AgentNode,
    ApprovalNode,
    CheckNode,
    DocumentNode,
    InputNode,
    Json,
    LandNode,
    LlmNode,
    Node,
    NodeId,
    PlanNode,
    RagNode,
    RouteNode,
    ScriptNode,
    SetNode,
    SettleNode,
    WorkspaceNode,
)
from drumline.core.flow.templates import render_lenient, resolve_all
from drumline.core.flow.values import name_type, overlay
from drumline.errors import InvalidInput
from drumline.record import Record, field

Values = Mapping[str, Json]
NOTHING_FOUND: Json = {"context": "", "sources": []}
"""What a search of documents comes to here, in the shape that graphs read."""

LANDING = "land"
"""The key under which a flow finds what came of a landing."""


class Outcome(Record):
    """What came of a node's work.

    `output` is, by kind of node: the object a script printed; a model's or an agent's text, or its validated value
    where it has an `output_schema`; the choice or the text of a person; the verdict of a check, an object with
    `passed`; the target a route chose; nothing for `set`. `failure` says why there is none, `failure_class` of which
    class of the failure taxonomy that is if anybody knows, `stage` at which point of a model's work it came (for
    example `structured-extraction`). `blocked` says why this machine could not do it, which is not a failure of the
    work: the visit stays due. `waits` says that its agent asks a person or cannot go on, so that the visit is not over.
    `effects` are what is recorded before it: the end of an attempt, or a session that later ones continue; `told` is
    what the run's stream records with it. `notices` are what was remarkable about it, `unchanged` says that it called
    itself done and no file had changed. `leaves` is with which command the step is given back before the visit is over:
    it stays due. `login` is what to type if its agent is not logged in. `comment` is what a person said beside a
    choice.
    """

    output: Json = None
    failure: str = ""
    failure_class: str = ""
    stage: str = ""
    blocked: str = ""
    spent: float = 0.0
    usage: Mapping[str, float] = field(default_factory=dict)
    waits: bool = False
    notices: tuple[str, ...] = ()
    unchanged: bool = False
    effects: tuple[Event, ...] = ()
    told: tuple[Event, ...] = ()
    leaves: Command | None = None
    login: str = ""
    comment: str = ""


class Conclusion(NamedTuple):
    """What an outcome means for the walk. `bound` is what the node's updates saw as their own result."""

    writes: Mapping[str, Json] = MappingProxyType({})
    next: tuple[NodeId, ...] = ()
    failure: str = ""
    fell_back: str = ""
    said: Json = None
    bound: Json = None


def draw_conclusion(node: Node, values: Values, outcome: Outcome) -> Conclusion:
    """Writes, targets or failure. InvalidInput if a person's answer is not acceptable: it is to be asked again."""
    if outcome.failure:
        return _fail(node, values, outcome)
    if isinstance(node, ApprovalNode):
        return _conclude_approval(node, values, str(outcome.output), outcome.comment)
    return _BY_KIND[type(node)](node, values, outcome.output)


def apply_updates(updates: Mapping[str, str] | None, values: Values, bound: Values) -> dict[str, Json]:
    """The texts that a node's updates write, in the file's order: each sees those before it."""
    if not updates:
        return {}
    written: dict[str, Json] = {}
    seen = overlay(written, bound, values)
    for key, template in updates.items():
        written[key] = render_lenient(template, seen)
    return written


def choose_case(node: RouteNode, values: Values, evaluate: Callable[[str, Values], Json]) -> Outcome:
    """Where a route leads: to the first case whose condition is true, else to `otherwise`."""
    for case in node.cases:
        try:
            held = evaluate(case.when, values)
        except InvalidInput as error:
            return Outcome(failure=f"condition {case.when!r}: {error}")
        if not isinstance(held, bool):
            return Outcome(failure=f"condition {case.when!r} is {name_type(held)}, it must be true or false")
        if held:
            return Outcome(output=case.to)
    return Outcome(output=node.otherwise)


def _fail(node: Node, values: Values, outcome: Outcome) -> Conclusion:
    if isinstance(node, LlmNode):
        said = f"LLM node {outcome.stage + ' ' if outcome.stage else ''}failed: {outcome.failure}"
        if node.fallback is None:
            return Conclusion(failure=f"LLM node failed and no fallback declared: {outcome.failure}")
        writes = apply_updates(node.state_updates, values, {"output": said})
        return Conclusion(writes=writes, next=(node.fallback,), fell_back=outcome.failure)
    if isinstance(node, AgentNode) and node.fallback is not None:
        said = f"agent failed: {outcome.failure}"
        writes = apply_updates(node.state_updates, values, {"output": said, "failure": outcome.failure_class})
        return Conclusion(writes=writes, next=(node.fallback,), fell_back=outcome.failure)
    if isinstance(node, ScriptNode | PlanNode | DocumentNode) and node.fallback is not None:
        return Conclusion(next=(node.fallback,), fell_back=outcome.failure)
    return Conclusion(failure=outcome.failure)


def _conclude_script(node: ScriptNode, values: Values, output: Json) -> Conclusion:
    if not isinstance(output, Mapping):
        return _fail(node, values, Outcome(failure=f"output must be a JSON object, got {name_type(output)}"))
    writes = dict(output)
    route = writes.pop("_next", None)
    if node.state_updates:
        writes |= apply_updates(node.state_updates, overlay(writes, values), {})
    chosen = (NodeId(route),) if isinstance(route, str) else node.next
    return Conclusion(writes=writes, next=chosen)


def _conclude_answer(node: LlmNode | AgentNode, values: Values, output: Json) -> Conclusion:
    merged: dict[str, Json] = {}
    if node.output_schema is not None and isinstance(output, Mapping):
        merged = dict(output)
    if node.state_updates:
        around = overlay(merged, values) if merged else values
        bound: dict[str, Json] = {"output": output}
        if isinstance(node, AgentNode) and node.fallback is not None:
            bound["failure"] = ""  # what an earlier failure left in the state is not this one's
        merged = merged | apply_updates(node.state_updates, around, bound)
    return Conclusion(writes=merged, next=node.next, bound=output)


def _conclude_rag(node: RagNode, values: Values, output: Json) -> Conclusion:
    return Conclusion(
        writes=apply_updates(node.state_updates, values, {"output": NOTHING_FOUND}), next=node.next, bound=NOTHING_FOUND
    )


def _conclude_approval(node: ApprovalNode, values: Values, choice: str, comment: str) -> Conclusion:
    """Its updates see `choice`, and as `comment` all words but the options; a state that has a `comment` keeps it."""
    words = "\n\n".join(part.strip() for part in (choice if choice not in node.routes else "", comment) if part.strip())
    said = {"comment": words} if "comment" not in values else {}
    writes = apply_updates(node.state_updates, values, {"choice": choice, **said})
    return Conclusion(writes=writes, next=(node.routes.get(choice, node.on_other),), said=choice)


def _conclude_input(node: InputNode, values: Values, output: Json) -> Conclusion:
    text = accept_input(node, values, str(output))
    writes = apply_updates(node.state_updates, values, {"input": text})
    return Conclusion(writes=writes, next=node.next[:1], said=text)


def _conclude_check(node: CheckNode, values: Values, output: Json) -> Conclusion:
    if not isinstance(output, Mapping) or not isinstance(output.get("passed"), bool):
        return Conclusion(failure="the check came to no verdict")
    writes = {node.into: output, **apply_updates(node.state_updates, values, {"output": output})}
    passed = output["passed"] is True
    return Conclusion(writes=writes, next=(node.passed if passed else node.failed,), said=passed)


def _conclude_workspace(node: WorkspaceNode, values: Values, output: Json) -> Conclusion:
    return Conclusion(writes=apply_updates(node.state_updates, values, {"output": output}), next=node.next)


def _conclude_made(node: PlanNode | DocumentNode | SettleNode, values: Values, output: Json) -> Conclusion:
    writes = {node.into: output, **apply_updates(node.state_updates, values, {"output": output})}
    return Conclusion(writes=writes, next=node.next)


def _conclude_land(node: LandNode, values: Values, output: Json) -> Conclusion:
    refusal = output.get("refused") if isinstance(output, Mapping) else "it came to no end"
    if refusal and node.refused is None:
        return Conclusion(failure=str(refusal))
    writes = {LANDING: output, **apply_updates(node.state_updates, values, {"output": output})}
    return Conclusion(writes=writes, next=(node.refused,) if refusal and node.refused else node.next, said=not refusal)


def _conclude_route(node: RouteNode, values: Values, output: Json) -> Conclusion:
    writes = apply_updates(node.state_updates, values, {})
    return Conclusion(writes=writes, next=(NodeId(str(output)),))


def _conclude_set(node: SetNode, values: Values, output: Json) -> Conclusion:
    try:
        writes = {key: resolve_all(value, values) for key, value in node.values.items()}
    except InvalidInput as error:
        return Conclusion(failure=str(error))
    if node.state_updates:
        writes |= apply_updates(node.state_updates, overlay(writes, values), {})
    return Conclusion(writes=writes, next=node.next)


_BY_KIND: dict[type[Node], Callable[[Any, Values, Json], Conclusion]] = {
    ScriptNode: _conclude_script,
    LlmNode: _conclude_answer,
    RagNode: _conclude_rag,
    AgentNode: _conclude_answer,
    InputNode: _conclude_input,
    CheckNode: _conclude_check,
    WorkspaceNode: _conclude_workspace,
    LandNode: _conclude_land,
    PlanNode: _conclude_made,
    DocumentNode: _conclude_made,
    SettleNode: _conclude_made,
    RouteNode: _conclude_route,
    SetNode: _conclude_set,
}
