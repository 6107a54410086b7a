"""A flow as data: nodes, edges and budgets, in the words of the graph format it is written in.

The node kinds `agent`, `script`, `approval`, `input`, `llm`, `rag`, `map` and `end` are the format's own; `check`,
`route`, `set` and `document` are ours and make shell glue unnecessary; `workspace`, `land`, `plan` and `settle` are
ours, for flows that runs of plans walk. Defaults are the format's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NewType, TypeAlias

from drumline.record import Record, field

NodeId = NewType("NodeId", str)
if TYPE_CHECKING:
    Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
else:
    Json = Any  # a type that names itself cannot be resolved when a record is decoded

VERSION = "1.0"
REDUCERS = ("append", "extend", "concat", "sum", "max", "min", "merge", "overwrite")
END_STATES = ("done", "failed", "blocked", "rejected")
SWEEP, HANDOFF = "sweep", "handoff"
RECORDS = ("findings", "verdicts", SWEEP, HANDOFF)
"""What the engine can make of an agent's answer."""
SETTLING = ("confirmed", "accepted", "deferred", "named")
"""What a `settle` node can say of findings; `named` is what a person answers, who may name those to accept."""
INSERT, CORRECT, ANNOTATE, APPLY = "insert", "correct", "annotate", "apply"
EDITS = (INSERT, CORRECT, ANNOTATE, APPLY)
"""What a `plan` node can do: insert one corrective step, or those that put findings of a review right; let later steps
say what a sweep found for them, or what it proposed and a person saw."""


class Node(Record):
    """What every node has. `state_updates` is None where the file has none, which is not the same as empty."""

    id: NodeId
    line: int = 1
    description: str = ""
    next: tuple[NodeId, ...] = ()
    state_updates: Mapping[str, str] | None = None


class AgentNode(Node):
    """A coding agent works on a prompt. `fallback`, `read_only`, `session`, `turns` and `records` are ours.

    The format's agents can only fail, and begin anew at every visit. `session` is the node whose last session it goes
    on with, `turns` how often its model may answer. `records` says what the engine makes of its answer: findings about
    the work, verdicts about findings, a sweep for edge cases, or words for the handoff.
    """

    agent: str
    prompt: str
    fallback: NodeId | None = None
    output_schema: Mapping[str, Json] | None = None
    timeout: float = 300.0
    read_only: bool = False
    session: NodeId | None = None
    turns: int | None = None
    records: str = ""


class ScriptNode(Node):
    """A program reads the state and prints one JSON object; `_next` in it routes."""

    script: str
    fallback: NodeId | None = None
    timeout: float = 30.0


class ApprovalNode(Node):
    """A person chooses; an answer that is not an option follows `on_other`.

    Its updates see the answer as `choice`, and as `comment` what a person said beside the options.
    """

    question: str
    options: tuple[str, ...]
    routes: Mapping[str, NodeId]
    on_other: NodeId


class InputNode(Node):
    """A person writes something; `validation` is `len(input) OP N`."""

    question: str
    default: str | None = None
    validation: str | None = None


class LlmNode(Node):
    """A model answers, with tools if it is given any."""

    prompt: str
    instructions: str | None = None
    tools: tuple[str, ...] | None = None
    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    fallback: NodeId | None = None
    max_attempts: int = 1
    max_iterations: int = 10
    output_schema: Mapping[str, Json] | None = None
    timeout: float | None = None
    skills_enabled: bool | None = None
    enabled_skills: tuple[str, ...] | None = None
    inject_skill_instructions: bool | None = None
    skill_instructions: str | None = None


class RagNode(Node):
    """Documents would be searched. They are not indexed here: the node finds nothing, and the flow goes on."""

    documents: tuple[str, ...]
    query: str | None = None
    top_k: int | None = None
    timeout: float = 120.0


class MapNode(Node):
    """A branch node is run for every item of a list; results are collected in the order of the items."""

    over: str
    item: str
    branch: NodeId
    collect_into: str
    output_key: str = "output"
    max_concurrency: int | None = None


class CheckNode(Node):
    """The engine runs commands and routes on the verdict: all passed, or not.

    Without `checks` they are those that judge the step: its own, the plan's and the configured ones.
    """

    passed: NodeId
    failed: NodeId
    checks: tuple[str, ...] = ()
    into: str = "check"
    timeout: float = 1200.0


class WorkspaceNode(Node):
    """A step of a plan gets a worktree of its own, at the head of the run branch, with the setup command run in it."""


class LandNode(Node):
    """A step's work becomes one commit on the run branch. The engine refuses what its checks do not let pass.

    `refused` is where a refusal leads; without it the step is blocked. What came of it is written to the key `land`:
    `commit`, or `refused` with the reason and `again`, whether work that fails only together with what landed
    meanwhile goes back to its agent.
    """

    refused: NodeId | None = None


class PlanNode(Node):
    """The engine edits the plan: it writes a corrective step into its files, for the step or another one.

    `helps` is the step that waits for it; without it the one that is walked. With `edit: correct` it writes one for
    each cluster of confirmed findings, which its texts know as `cluster`; `annotate` and `apply` write what a sweep
    says. `fallback` is where a refusal leads.
    """

    cause: str
    title: str = ""
    what: str = ""
    why: str = ""
    edit: str = INSERT
    helps: str = ""
    files: tuple[str, ...] = ()
    test: str = ""
    into: str = "plan"
    fallback: NodeId | None = None


class DocumentNode(Node):
    """The engine renders a document, validates it and keeps it; `fallback` is where one with faults leads.

    Each of `sections` has to be a heading with something below it.
    """

    kind: str
    template: str
    sections: tuple[str, ...] = ()
    most_bytes: int = 65_536
    into: str = "document"
    fallback: NodeId | None = None


class SettleNode(Node):
    """The engine records what becomes of all open findings of a severity; ours.

    What is left afterwards is written to the key `into`.
    """

    how: str
    severity: str
    why: str = ""
    into: str = "review"


class Case(Record):
    """One condition of a route and where it leads."""

    when: str
    to: NodeId


class RouteNode(Node):
    """The first condition that holds decides; `otherwise` if none does."""

    cases: tuple[Case, ...]
    otherwise: NodeId


class SetNode(Node):
    """Writes values into the state; a value that is one reference keeps its type."""

    values: Mapping[str, Json] = field(default_factory=dict)


class EndNode(Node):
    """The flow is over, with this output. `status` is None where the file states none; see `ends.py`.

    `asks` is the question about a step that ends blocked here.
    """

    output: str = ""
    status: str | None = None
    asks: str = ""


class Variable(Record):
    """A value that the caller may give."""

    name: str
    description: str = ""
    default: Json = None


class FlowSettings(Record):
    """Budgets and habits of one flow."""

    max_loop_iterations: int = 100
    timeout: float | None = None
    log_state_snapshots: bool = True
    validate_before_run: bool = True
    max_concurrency: int = 8
    max_tokens: int | None = None
    max_cost: float | None = None


class Flow(Record):
    """A whole flow. `nodes` keeps the file's order."""

    name: str
    start: NodeId
    nodes: Mapping[NodeId, Node]
    path: str = ""
    description: str = ""
    version: str = VERSION
    settings: FlowSettings = field(default_factory=FlowSettings)
    initial_state: Mapping[str, Json] = field(default_factory=dict)
    reducers: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    global_tools: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] = ()
    skills_enabled: bool = False
    enabled_skills: tuple[str, ...] | None = None
    inject_skill_instructions: bool | None = None
    skill_instructions: str | None = None
    digest: str = ""


ASKING = (ApprovalNode, InputNode)
"""Nodes that put a question to a person; while it is open they are neither at work nor over."""
SPENDING = (AgentNode, LlmNode)
"""Nodes whose work may cost money."""
COMPUTING = (RouteNode, SetNode, RagNode)
"""Nodes whose outcome follows from the values alone."""
STEPPING = (WorkspaceNode, LandNode, PlanNode)
"""Nodes that only the walks of a plan's run can visit."""


NO_LANDING = "it has no `land` node, so that no work would land"


RUN_FLOWS = ("preflight", "final")
"""The flows that runs of plans walk themselves, before the first step and after the last, by the names they have."""
_FILES = ("graph", "flow")


def is_for_runs(flow: Flow) -> bool:
    """Whether a flow is one of those that runs walk themselves: where its file is decides that."""
    *_, folder, file = ("", "", *flow.path.split("/"))
    stem = file.rpartition(".")[0]
    return (folder if stem in _FILES else stem) in RUN_FLOWS


def is_for_steps(flow: Flow) -> bool:
    """Whether a flow is made for steps of plans."""
    return not is_for_runs(flow) and any(isinstance(node, LandNode | WorkspaceNode) for node in flow.nodes.values())


def needs_plan(flow: Flow) -> bool:
    """Whether a flow does something that only the walks of a plan's run can do."""
    return any(isinstance(node, STEPPING) for node in flow.nodes.values())
