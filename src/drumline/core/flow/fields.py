"""The keys of a flow file as tables: the reader, the schema for editors and the reference page all come from them.

A default is never written here; it is the one of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from drumline.core.flow.model import (
    END_STATES,
    AgentNode,
    ApprovalNode,
    Case,
    CheckNode,
    EndNode,
    Flow,
    FlowSettings,
    InputNode,
    Json,
    LandNode,
    LlmNode,
    MapNode,
    Node,
    RagNode,
    RouteNode,
    ScriptNode,
    SetNode,
    Variable,
    WorkspaceNode,
)
from drumline.record import NODEFAULT, Record, fields


class Shape(Enum):
    """What a value must be."""

    TEXT = "a text"
    TEXTS = "a list of texts"
    FLAG = "true or false"
    COUNT = "a whole number above 0"
    NUMBER = "a number"
    SECONDS = "a number of seconds above 0"
    NODE = "the id of a node"
    NODES = "the id of a node, or a list of them"
    TARGETS = "a mapping from texts to ids of nodes"
    TEMPLATES = "a mapping from keys to texts"
    VALUES = "a mapping"
    ANY = "any value"
    CASES = "a list of cases, each with `when` and `to`"
    VARIABLES = "a list of variables, each with a `name`"
    REDUCERS = "a mapping from keys to reducers"
    SETTINGS = "a mapping of settings"
    NODE_MAP = "a mapping from ids to nodes"


class FieldRule(Record):
    """One key: what it must be, whether it may be missing, and what it is for. `attribute` is its name in the model."""

    name: str
    shape: Shape
    about: str
    required: bool = False
    attribute: str = ""
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name in the model."""
        return self.attribute or self.name


class KindRule(Record):
    """One kind of node: its class in the model and the keys that it has beside those of every node."""

    name: str
    make: type[Node]
    about: str
    fields: tuple[FieldRule, ...]


def _rule(name: str, shape: Shape, about: str) -> FieldRule:
    return FieldRule(name=name, shape=shape, about=about)


def _needed(name: str, shape: Shape, about: str, attribute: str = "") -> FieldRule:
    return FieldRule(name=name, shape=shape, about=about, required=True, attribute=attribute)


_UPDATES = _rule("state_updates", Shape.TEMPLATES, "Keys of the state to write, with templates for their values.")
_SCHEMA = _rule(
    "output_schema", Shape.VALUES, "JSON Schema the answer must fulfil; its top-level keys go into the state."
)
_FALLBACK = _rule("fallback", Shape.NODE, "Where to go when the node fails.")
_AGENT_FALLBACK = _rule(
    "fallback",
    Shape.NODE,
    "Where to go when the agent fails; updates see why as `output`, and the class of the failure as `failure`.",
)
_MODEL_FIELDS = (
    _rule("model", Shape.TEXT, "The model to ask."),
    _rule("temperature", Shape.NUMBER, "How freely the model chooses its words."),
    _rule("top_p", Shape.NUMBER, "From how much of the likely words it chooses."),
    _rule("reasoning_effort", Shape.TEXT, "How long it may think first."),
)
_SKILL_FIELDS = (
    _rule("skills_enabled", Shape.FLAG, "Whether skills can be loaded."),
    _rule("enabled_skills", Shape.TEXTS, "Which skills can be loaded."),
    _rule("inject_skill_instructions", Shape.FLAG, "Whether the model is told how to load skills."),
    _rule("skill_instructions", Shape.TEXT, "What it is told about that, in place of the usual words."),
)

SETTINGS_FIELDS = (
    _rule("max_loop_iterations", Shape.COUNT, "How often any one node may be visited; every cycle ends by it."),
    _rule("timeout", Shape.SECONDS, "How long the whole flow may work; waiting for a person does not count."),
    _rule("log_state_snapshots", Shape.FLAG, "Whether the state after each node is kept for `drumline logs`."),
    _rule("validate_before_run", Shape.FLAG, "Whether an invalid flow is refused before it starts."),
    _rule("max_concurrency", Shape.COUNT, "How many nodes may be in work at the same time."),
    _rule("max_tokens", Shape.COUNT, "How many tokens its models and agents may use, both ways together; ours."),
    _rule("max_cost", Shape.NUMBER, "How many dollars they may cost, as far as they say it; ours."),
)

VARIABLE_FIELDS = (
    _needed("name", Shape.TEXT, "What the caller calls it."),
    _rule("description", Shape.TEXT, "What it is for."),
    _rule("default", Shape.ANY, "Its value when the caller gives none."),
)

CASE_FIELDS = (
    _needed("when", Shape.TEXT, "A condition on the state."),
    _needed("to", Shape.NODE, "Where to go if it holds."),
)

FLOW_FIELDS = (
    _needed("name", Shape.TEXT, "What people call the flow."),
    _rule("description", Shape.TEXT, "What it does."),
    _rule("version", Shape.TEXT, "The version of the format."),
    _needed("start", Shape.NODE, "The node that comes first."),
    _needed("nodes", Shape.NODE_MAP, "All nodes by id."),
    _rule("settings", Shape.SETTINGS, "Budgets and habits of the flow."),
    _rule("initial_state", Shape.VALUES, "What the state holds at the start."),
    _rule("reducers", Shape.REDUCERS, "How writes to a key are put together; without one, a write replaces."),
    _rule("variables", Shape.VARIABLES, "Values the caller may give."),
    *_MODEL_FIELDS,
    _rule("global_tools", Shape.TEXTS, "Tools the nodes may choose from."),
    _rule("mcp_servers", Shape.TEXTS, "MCP servers the nodes may choose from."),
    *_SKILL_FIELDS,
)

NODE_FIELDS = (
    _rule("id", Shape.TEXT, "The node's own key again; anything else is an error."),
    _rule("description", Shape.TEXT, "What the node is for."),
    _rule("next", Shape.NODES, "The node that follows; with several, all of them, at the same time."),
)

KINDS: Mapping[str, KindRule] = {
    kind.name: kind
    for kind in (
        KindRule(
            name="script",
            make=ScriptNode,
            about="A program reads the state and prints one JSON object; `_next` in it chooses the node that follows.",
            fields=(
                _needed("script", Shape.TEXT, "The program's file, relative to the flow's folder: .sh, .py or .ts."),
                _FALLBACK,
                _rule("timeout", Shape.SECONDS, "How long it may take."),
                _UPDATES,
            ),
        ),
        KindRule(
            name="agent",
            make=AgentNode,
            about="A coding agent works on a prompt.",
            fields=(
                _needed("agent", Shape.TEXT, "Which agent, or which other flow."),
                _needed("prompt", Shape.TEXT, "What it is asked to do; a template."),
                _AGENT_FALLBACK,
                _SCHEMA,
                _rule("timeout", Shape.SECONDS, "How long it may take."),
                _rule("read_only", Shape.FLAG, "Whether it may only read; ours."),
                _rule(
                    "session",
                    Shape.NODE,
                    "The agent node, itself or another, whose last session it goes on with; ours.",
                ),
                _UPDATES,
            ),
        ),
        KindRule(
            name="llm",
            make=LlmNode,
            about="A model answers, with tools if it is given any.",
            fields=(
                _needed("prompt", Shape.TEXT, "What it is asked; a template."),
                _rule("instructions", Shape.TEXT, "What it is told beforehand; a template."),
                _rule("tools", Shape.TEXTS, "Tools it may use; `mcp:NAME` for those of an MCP server."),
                *_MODEL_FIELDS,
                _FALLBACK,
                _rule("max_attempts", Shape.COUNT, "How often it is asked when the call fails for a while."),
                _rule("max_iterations", Shape.COUNT, "How many rounds of tools it may take."),
                _SCHEMA,
                _rule("timeout", Shape.SECONDS, "How long all attempts may take together."),
                *_SKILL_FIELDS,
                _UPDATES,
            ),
        ),
        KindRule(
            name="approval",
            make=ApprovalNode,
            about="A person chooses one of several answers.",
            fields=(
                _needed("question", Shape.TEXT, "What the person is asked; a template."),
                _needed("options", Shape.TEXTS, "The answers to choose from."),
                _needed("routes", Shape.TARGETS, "Where each answer leads."),
                _needed("on_other", Shape.NODE, "Where any other answer leads."),
                _UPDATES,
            ),
        ),
        KindRule(
            name="input",
            make=InputNode,
            about="A person writes something.",
            fields=(
                _needed("question", Shape.TEXT, "What the person is asked; a template."),
                _rule("default", Shape.TEXT, "What an empty answer stands for; a template."),
                _rule("validation", Shape.TEXT, "`len(input) OP N` with `>`, `>=`, `<`, `<=` or `==`."),
                _UPDATES,
            ),
        ),
        KindRule(
            name="rag",
            make=RagNode,
            about=(
                "Documents to search. They are not indexed here: the node finds nothing (`context` is empty, `sources` "
                "has no items), and the flow continues with a warning."
            ),
            fields=(
                _needed("documents", Shape.TEXTS, "Files, folders or addresses; they are not read."),
                _rule("query", Shape.TEXT, "What to look for; a template."),
                _rule("top_k", Shape.COUNT, "How many passages to find."),
                _rule("timeout", Shape.SECONDS, "How long it may take."),
                _UPDATES,
            ),
        ),
        KindRule(
            name="map",
            make=MapNode,
            about="One node is run for every item of a list; results are collected in the order of the items.",
            fields=(
                _needed("over", Shape.TEXT, "A template that gives the list."),
                _needed("as", Shape.TEXT, "The key under which the branch finds its item.", "item"),
                _needed("branch", Shape.NODE, "The node to run: a script, an agent or an llm."),
                _needed("collect_into", Shape.TEXT, "The key that receives the list of results."),
                _rule("output_key", Shape.TEXT, "The key of the branch's result."),
                _rule("max_concurrency", Shape.COUNT, "How many items may be in work at the same time."),
            ),
        ),
        KindRule(
            name="check",
            make=CheckNode,
            about="The engine runs commands and goes on by the verdict: all of them passed, or not.",
            fields=(
                _rule(
                    "checks",
                    Shape.TEXTS,
                    "Commands that must exit with 0, or names of such in the config; without it, in a flow with a "
                    "`land` node, all that judge the step: its own, the plan's and the configured ones.",
                ),
                _needed("on_pass", Shape.NODE, "Where to go when all passed.", "passed"),
                _needed("on_fail", Shape.NODE, "Where to go when one did not.", "failed"),
                _rule("into", Shape.TEXT, "The key of the state that receives the results."),
                _rule("timeout", Shape.SECONDS, "How long all of them may take together."),
                _UPDATES,
            ),
        ),
        KindRule(
            name="workspace",
            make=WorkspaceNode,
            about="A step of a plan gets a worktree of its own, with the setup command run in it; ours.",
            fields=(_UPDATES,),
        ),
        KindRule(
            name="land",
            make=LandNode,
            about="A step's work becomes one commit on the run branch, if the checks that judge the step let it; ours.",
            fields=(
                FieldRule(
                    name="on_refuse",
                    shape=Shape.NODE,
                    about="Where to go when it may not land; without it the step is blocked.",
                    attribute="refused",
                ),
                _UPDATES,
            ),
        ),
        KindRule(
            name="route",
            make=RouteNode,
            about="The first condition that holds decides where to go.",
            fields=(
                _needed("cases", Shape.CASES, "Conditions in order, each with where it leads."),
                _needed("otherwise", Shape.NODE, "Where to go when none holds."),
                _UPDATES,
            ),
        ),
        KindRule(
            name="set",
            make=SetNode,
            about="Writes values into the state; a value that is exactly one reference keeps its type.",
            fields=(_needed("values", Shape.VALUES, "Keys with their values, which may be templates."), _UPDATES),
        ),
        KindRule(
            name="end",
            make=EndNode,
            about="The flow is over.",
            fields=(
                _rule("output", Shape.TEXT, "What the flow answers; a template."),
                FieldRule(
                    name="status",
                    shape=Shape.TEXT,
                    about="How the flow ended; without it the id or the first word of the output says it.",
                    choices=END_STATES,
                ),
                _UPDATES,
            ),
        ),
    )
}
"""Every kind of node that is run, by the word under `type`."""

Made = type[Node] | type[Flow] | type[FlowSettings] | type[Variable] | type[Case]


def default_of(make: Made, rule: FieldRule) -> Json:
    """What the model takes when the key is missing; None if there is nothing to take."""
    for field in fields(make):
        if field.name != rule.key:
            continue
        if field.default_factory is not NODEFAULT:
            return _plain(field.default_factory())
        return None if field.default is NODEFAULT else _plain(field.default)
    return None


def kind_name(node: Node) -> str:
    """The word for a node under `type`; empty for one whose kind nobody knows."""
    return _NAMES.get(type(node), "")


_NAMES = {kind.make: kind.name for kind in KINDS.values()}


def _plain(value: object) -> Json:
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return {} if isinstance(value, Mapping) else None
