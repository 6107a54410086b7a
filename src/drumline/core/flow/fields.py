"""The keys of a flow file as tables: the reader, the schema for editors and the reference page all come from them.

A default is never written here; it is the one of the model.
"""

from __future__ import annotations

from enum import Enum

from drumline.core.flow.model import (
    Node,
)
from drumline.record import Record


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


def rule(name: str, shape: Shape, about: str) -> FieldRule:
    """A key that may be missing."""
    return FieldRule(name=name, shape=shape, about=about)


def needed(name: str, shape: Shape, about: str, attribute: str = "") -> FieldRule:
    """A key that must be there."""
    return FieldRule(name=name, shape=shape, about=about, required=True, attribute=attribute)


UPDATES = rule("state_updates", Shape.TEMPLATES, "Keys of the state to write, with templates for their values.")
SCHEMA = rule(
    "output_schema", Shape.VALUES, "JSON Schema the answer must fulfil; its top-level keys go into the state."
)
FALLBACK = rule("fallback", Shape.NODE, "Where to go when the node fails.")
AGENT_FALLBACK = rule(
    "fallback",
    Shape.NODE,
    "Where to go when the agent fails; updates see why as `output`, and the class of the failure as `failure`.",
)
MODEL_FIELDS = (
    rule("model", Shape.TEXT, "The model to ask."),
    rule("temperature", Shape.NUMBER, "How freely the model chooses its words."),
    rule("top_p", Shape.NUMBER, "From how much of the likely words it chooses."),
    rule("reasoning_effort", Shape.TEXT, "How long it may think first."),
)
SKILL_FIELDS = (
    rule("skills_enabled", Shape.FLAG, "Whether skills can be loaded."),
    rule("enabled_skills", Shape.TEXTS, "Which skills can be loaded."),
    rule("inject_skill_instructions", Shape.FLAG, "Whether the model is told how to load skills."),
    rule("skill_instructions", Shape.TEXT, "What it is told about that, in place of the usual words."),
)

SETTINGS_FIELDS = (
    rule("max_loop_iterations", Shape.COUNT, "How often any one node may be visited; every cycle ends by it."),
    rule("timeout", Shape.SECONDS, "How long the whole flow may work; waiting for a person does not count."),
    rule("log_state_snapshots", Shape.FLAG, "Whether the state after each node is kept for `drumline logs`."),
    rule("validate_before_run", Shape.FLAG, "Whether an invalid flow is refused before it starts."),
    rule("max_concurrency", Shape.COUNT, "How many nodes may be in work at the same time."),
    rule("max_tokens", Shape.COUNT, "How many tokens its models and agents may use, both ways together; ours."),
    rule("max_cost", Shape.NUMBER, "How many dollars they may cost, as far as they say it; ours."),
)

VARIABLE_FIELDS = (
    needed("name", Shape.TEXT, "What the caller calls it."),
    rule("description", Shape.TEXT, "What it is for."),
    rule("default", Shape.ANY, "Its value when the caller gives none."),
)

CASE_FIELDS = (
    needed("when", Shape.TEXT, "A condition on the state."),
    needed("to", Shape.NODE, "Where to go if it holds."),
)

FLOW_FIELDS = (
    needed("name", Shape.TEXT, "What people call the flow."),
    rule("description", Shape.TEXT, "What it does."),
    rule("version", Shape.TEXT, "The version of the format."),
    needed("start", Shape.NODE, "The node that comes first."),
    needed("nodes", Shape.NODE_MAP, "All nodes by id."),
    rule("settings", Shape.SETTINGS, "Budgets and habits of the flow."),
    rule("initial_state", Shape.VALUES, "What the state holds at the start."),
    rule("reducers", Shape.REDUCERS, "How writes to a key are put together; without one, a write replaces."),
    rule("variables", Shape.VARIABLES, "Values the caller may give."),
    *MODEL_FIELDS,
    rule("global_tools", Shape.TEXTS, "Tools the nodes may choose from."),
    rule("mcp_servers", Shape.TEXTS, "MCP servers the nodes may choose from."),
    *SKILL_FIELDS,
)

NODE_FIELDS = (
    rule("id", Shape.TEXT, "The node's own key again; anything else is an error."),
    rule("description", Shape.TEXT, "What the node is for."),
    rule("next", Shape.NODES, "The node that follows; with several, all of them, at the same time."),
)
