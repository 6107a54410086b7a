"""The kinds of nodes as a table: the word under `type`, the class in the model, and the keys that each has."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.flow.fields import (
    AGENT_FALLBACK,
    FALLBACK,
    MODEL_FIELDS,
    SCHEMA,
    SKILL_FIELDS,
    UPDATES,
    FieldRule,
    KindRule,
    Shape,
    needed,
    rule,
)
from drumline.core.flow.model import (
    EDITS,
    END_STATES,
    RECORDS,
    SETTLING,
    AgentNode,
    ApprovalNode,
    CheckNode,
    DocumentNode,
    EndNode,
    InputNode,
    LandNode,
    LlmNode,
    MapNode,
    Node,
    PlanNode,
    RagNode,
    RouteNode,
    ScriptNode,
    SetNode,
    SettleNode,
    WorkspaceNode,
)
from drumline.core.vocabulary import DocumentKind, PlanCause, Severity

CAUSES = tuple(cause for cause in PlanCause if cause is not PlanCause.EDIT)
"""Why a flow can change the plan; an edit is a person's."""

KINDS: Mapping[str, KindRule] = {
    kind.name: kind
    for kind in (
        KindRule(
            name="script",
            make=ScriptNode,
            about="A program reads the state and prints one JSON object; `_next` in it chooses the node that follows.",
            fields=(
                needed("script", Shape.TEXT, "The program's file, relative to the flow's folder: .sh, .py or .ts."),
                FALLBACK,
                rule("timeout", Shape.SECONDS, "How long it may take."),
                UPDATES,
            ),
        ),
        KindRule(
            name="agent",
            make=AgentNode,
            about="A coding agent works on a prompt.",
            fields=(
                needed("agent", Shape.TEXT, "Which agent, or which other flow."),
                needed("prompt", Shape.TEXT, "What it is asked to do; a template."),
                AGENT_FALLBACK,
                SCHEMA,
                rule("timeout", Shape.SECONDS, "How long it may take."),
                rule("read_only", Shape.FLAG, "Whether it may only read; ours."),
                rule(
                    "turns",
                    Shape.COUNT,
                    "How often its model may answer; ours. The engine counts where an agent tells what it does.",
                ),
                rule(
                    "session",
                    Shape.NODE,
                    "The agent node, itself or another, whose last session it continues with; ours.",
                ),
                FieldRule(
                    name="records",
                    shape=Shape.TEXT,
                    about="What the engine records of its answer in the walk of a plan's run: findings about the work, "
                    "verdicts about findings, a sweep for edge cases, or words for the handoff; ours.",
                    choices=RECORDS,
                ),
                UPDATES,
            ),
        ),
        KindRule(
            name="llm",
            make=LlmNode,
            about="A model answers, with tools if it is given any.",
            fields=(
                needed("prompt", Shape.TEXT, "What it is asked; a template."),
                rule("instructions", Shape.TEXT, "What it is told beforehand; a template."),
                rule("tools", Shape.TEXTS, "Tools it may use; `mcp:NAME` for those of an MCP server."),
                *MODEL_FIELDS,
                FALLBACK,
                rule("max_attempts", Shape.COUNT, "How often it is asked when the call fails for a while."),
                rule("max_iterations", Shape.COUNT, "How many rounds of tools it may take."),
                SCHEMA,
                rule("timeout", Shape.SECONDS, "How long all attempts may take together."),
                *SKILL_FIELDS,
                UPDATES,
            ),
        ),
        KindRule(
            name="approval",
            make=ApprovalNode,
            about="A person chooses one of several answers. Templates of its updates read the answer as `choice`, and "
            "as `comment` what was said beside the options: `--comment`, and an answer that is not one of them.",
            fields=(
                needed("question", Shape.TEXT, "What the person is asked; a template."),
                needed("options", Shape.TEXTS, "The answers to choose from."),
                needed("routes", Shape.TARGETS, "Where each answer leads."),
                needed("on_other", Shape.NODE, "Where any other answer leads."),
                UPDATES,
            ),
        ),
        KindRule(
            name="input",
            make=InputNode,
            about="A person writes something.",
            fields=(
                needed("question", Shape.TEXT, "What the person is asked; a template."),
                rule("default", Shape.TEXT, "What an empty answer stands for; a template."),
                rule("validation", Shape.TEXT, "`len(input) OP N` with `>`, `>=`, `<`, `<=` or `==`."),
                UPDATES,
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
                needed("documents", Shape.TEXTS, "Files, folders or addresses; they are not read."),
                rule("query", Shape.TEXT, "What to look for; a template."),
                rule("top_k", Shape.COUNT, "How many passages to find."),
                rule("timeout", Shape.SECONDS, "How long it may take."),
                UPDATES,
            ),
        ),
        KindRule(
            name="map",
            make=MapNode,
            about="One node is run for every item of a list; results are collected in the order of the items.",
            fields=(
                needed("over", Shape.TEXT, "A template that gives the list."),
                needed("as", Shape.TEXT, "The key under which the branch finds its item.", "item"),
                needed("branch", Shape.NODE, "The node to run: a script, an agent or an llm."),
                needed("collect_into", Shape.TEXT, "The key that receives the list of results."),
                rule("output_key", Shape.TEXT, "The key of the branch's result."),
                rule("max_concurrency", Shape.COUNT, "How many items may be in work at the same time."),
            ),
        ),
        KindRule(
            name="check",
            make=CheckNode,
            about="The engine runs commands and goes on by the verdict: all of them passed, or not.",
            fields=(
                rule(
                    "checks",
                    Shape.TEXTS,
                    "Commands that must exit with 0, or names of such in the config; without it, in a flow with a "
                    "`land` node, all that judge the step: its own, the plan's and the configured ones.",
                ),
                needed("on_pass", Shape.NODE, "Where to go when all passed.", "passed"),
                needed("on_fail", Shape.NODE, "Where to go when one did not.", "failed"),
                rule("into", Shape.TEXT, "The key of the state that receives the results."),
                rule("timeout", Shape.SECONDS, "How long all of them may take together."),
                UPDATES,
            ),
        ),
        KindRule(
            name="workspace",
            make=WorkspaceNode,
            about="A step of a plan gets a worktree of its own, with the setup command run in it; ours.",
            fields=(UPDATES,),
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
                UPDATES,
            ),
        ),
        KindRule(
            name="plan",
            make=PlanNode,
            about="The engine writes a corrective step into the plan's files; the step it helps waits for it; ours.",
            fields=(
                FieldRule(
                    name="edit",
                    shape=Shape.TEXT,
                    about="Insert one corrective step, or those that put confirmed findings right (`correct`); "
                    "write what a sweep says for later steps (`annotate`), or proposes and a person saw (`apply`).",
                    choices=EDITS,
                ),
                FieldRule(
                    name="cause",
                    shape=Shape.TEXT,
                    about="Why, for the journal and who reads it.",
                    required=True,
                    choices=CAUSES,
                ),
                rule("helps", Shape.TEXT, "The step that waits for it; without it the one that is walked."),
                rule("title", Shape.TEXT, "Its title; a template. A corrective step needs it."),
                rule("what", Shape.TEXT, "What it has to do; a template. A corrective step needs it."),
                rule("why", Shape.TEXT, "Why it is needed; a template. A corrective step needs it."),
                rule("files", Shape.TEXTS, "The files that it owns; templates, of which one can give a list."),
                rule(
                    "test",
                    Shape.TEXT,
                    "The command that proves it; a template. A person has to accept it. Without it, the checks of the "
                    "step that it helps do.",
                ),
                rule("into", Shape.TEXT, "The key of the state that receives its id and its file."),
                FALLBACK,
                UPDATES,
            ),
        ),
        KindRule(
            name="document",
            make=DocumentNode,
            about="The engine renders a document, validates it and keeps it in the journal, and where the plan's files "
            "have a place for it, there; ours.",
            fields=(
                FieldRule(
                    name="kind",
                    shape=Shape.TEXT,
                    about="What it is for.",
                    required=True,
                    choices=tuple(DocumentKind),
                ),
                needed("template", Shape.TEXT, "Its text; a template."),
                rule("sections", Shape.TEXTS, "Headings that it must have, each with something below it."),
                rule("most_bytes", Shape.COUNT, "How long it may be."),
                rule("into", Shape.TEXT, "The key of the state that receives its kind, its text and its path."),
                FALLBACK,
                UPDATES,
            ),
        ),
        KindRule(
            name="settle",
            make=SettleNode,
            about="The engine records what becomes of the open findings of a review; ours.",
            fields=(
                FieldRule(
                    name="how",
                    shape=Shape.TEXT,
                    about="What becomes of them; confirmed ones go back to the step's agent.",
                    required=True,
                    choices=SETTLING,
                ),
                FieldRule(
                    name="severity",
                    shape=Shape.TEXT,
                    about="Of which severity they are.",
                    required=True,
                    choices=tuple(Severity),
                ),
                rule("why", Shape.TEXT, "The reason; a template."),
                rule("into", Shape.TEXT, "The key of the state that receives what is left."),
                UPDATES,
            ),
        ),
        KindRule(
            name="route",
            make=RouteNode,
            about="The first condition that holds decides where to go.",
            fields=(
                needed("cases", Shape.CASES, "Conditions in order, each with where it leads."),
                needed("otherwise", Shape.NODE, "Where to go when none holds."),
                UPDATES,
            ),
        ),
        KindRule(
            name="set",
            make=SetNode,
            about="Writes values into the state; a value that is exactly one reference keeps its type.",
            fields=(needed("values", Shape.VALUES, "Keys with their values, which may be templates."), UPDATES),
        ),
        KindRule(
            name="end",
            make=EndNode,
            about="The flow is over.",
            fields=(
                rule("output", Shape.TEXT, "What the flow answers; a template."),
                FieldRule(
                    name="status",
                    shape=Shape.TEXT,
                    about="How the flow ended; without it the id or the first word of the output says it.",
                    choices=END_STATES,
                ),
                FieldRule(
                    name="asks",
                    shape=Shape.TEXT,
                    about="What a person is asked about a step that is blocked here: what to do about a failure, or "
                    "about a plan that is wrong.",
                    choices=("failure", "plan"),
                ),
                UPDATES,
            ),
        ),
    )
}
"""Every kind of node that is run, by the word under `type`."""


def kind_name(node: Node) -> str:
    """The word for a node under `type`; empty for one whose kind nobody knows."""
    return _NAMES.get(type(node), "")


_NAMES = {kind.make: kind.name for kind in KINDS.values()}
