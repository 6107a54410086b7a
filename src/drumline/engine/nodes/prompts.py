"""What a model or an agent is told: its prompt, its instructions, the skills and tools it may use.

Templates are filled in first and everything else is added afterwards, so that no text of a skill is ever expanded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from shlex import quote

from drumline.core.blocked import OFFER
from drumline.core.flow.extraction import write_schema_hint
from drumline.core.flow.model import AgentNode, Flow, Json, LlmNode
from drumline.core.flow.noderules import MCP
from drumline.core.flow.templates import list_references, render_strict
from drumline.core.plaintext import name_some
from drumline.engine.nodes.visit import Visit
from drumline.errors import InvalidInput
from drumline.ports.skills import Skills
from drumline.record import Record, field, replace

MOST_LISTED = 100

FOLLOW = "These skills say how the work is done. Follow them where they apply."
LOAD = (
    "Skills say how a kind of work is done. Before you begin work that one of these is about, load its text with the "
    "tool `skill_load`, if you have it, and follow it."
)
LEFT = "What it had changed is still in the folder: look at it, and go on from there."


class Brief(Record):
    """The texts for one question; `skills` are those that can be loaded, by name."""

    prompt: str
    instructions: str = ""
    skills: Mapping[str, str] = field(default_factory=dict)


class Toolbox(Record):
    """What a node lets its model call."""

    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()


def write_brief(node: LlmNode, flow: Flow, values: Mapping[str, Json], *, skills: Skills) -> Brief:
    """The texts of a node's question; InvalidInput naming all paths that lead nowhere, or a skill there is not."""
    written = node.instructions or ""
    instructions, prompt = render_together([written, node.prompt], values)
    told, loadable = tell_skills(node, flow, skills)
    instructions = _join(instructions, told)
    if node.output_schema is not None:
        hint = write_schema_hint(node.output_schema)
        if instructions.strip():
            instructions = _join(instructions, hint)
        else:
            prompt = _join(prompt, hint)
    return Brief(prompt=prompt, instructions=instructions, skills=loadable)


def write_assignment(node: AgentNode, visit: Visit) -> str:
    """The prompt of an agent, with what people answered and what became of the attempt before it in this visit.

    InvalidInput naming all paths that lead nowhere.
    """
    parts = [render_strict(node.prompt, visit.values)]
    if node.output_schema is not None:
        parts.append(f"When the work is done: {write_schema_hint(node.output_schema)}")
    else:
        parts.append(OFFER)
    for reply in visit.answers:
        parts.append(f"## A person answered a question\n\n{reply.asked.strip()}\n\nThe answer: {reply.said.strip()}")
    cut_short = visit.attempts.cut_short if visit.attempts else ""
    if cut_short:
        left = "" if node.read_only else f"\n\n{LEFT}"
        parts.append(f"## An attempt before this one was cut short\n\n{cut_short.strip()}{left}")
    return "\n\n".join(parts)


def render_together(texts: Sequence[str], values: Mapping[str, Json]) -> list[str]:
    """Every text filled in; InvalidInput naming what is missing in any of them at once."""
    render_strict("".join(f"{{{{{path}}}}}" for text in texts for path in list_references(text)), values)
    return [render_strict(text, values) for text in texts]


def tell_skills(node: LlmNode, flow: Flow, skills: Skills) -> tuple[str, Mapping[str, str]]:
    """What the instructions say about skills, and those that can be loaded besides.

    A node's own list is put into its instructions as a whole; of the flow's list, or of all there are if there is
    none, only names and descriptions.
    """
    switched = flow.skills_enabled or bool(node.enabled_skills)
    if not (switched if node.skills_enabled is None else node.skills_enabled):
        return "", {}
    names = _choose_names(node, flow, skills)
    texts = {name: skills.load(name) for name in names}
    inject = (
        flow.inject_skill_instructions if node.inject_skill_instructions is None else node.inject_skill_instructions
    )
    if inject is False or not texts:
        return "", texts
    own = flow.skill_instructions if node.skill_instructions is None else node.skill_instructions
    if node.enabled_skills is not None:
        parts = [f'<skill name="{name}">\n{text}\n</skill>' for name, text in texts.items()]
        return "\n\n".join([FOLLOW if own is None else own, *parts]), {}
    lines = [f"- {name}: {skills.find_skill(name).description}" for name in texts]
    return "\n".join([LOAD if own is None else own, *lines]), texts


def drop_unknown(
    node: LlmNode, *, tools: Collection[str] | None = None, servers: Collection[str] | None = None
) -> LlmNode:
    """The node without the tools and MCP servers that there are not; None stands for "not known": all are kept.

    Graphs name tools of the installation they were written for. Validation has warned of them.
    """

    def is_known(name: str) -> bool:
        if name.startswith(MCP):
            return servers is None or name.removeprefix(MCP) in servers
        return tools is None or _bare(name) in tools

    return replace(node, tools=tuple(name for name in node.tools or () if is_known(name)))


def choose_tools(node: LlmNode, flow: Flow) -> Toolbox:
    """The tools and MCP servers that a node names; InvalidInput if its flow's own list, where it has one, lacks one."""
    named = node.tools or ()
    servers = tuple(name.removeprefix(MCP) for name in named if name.startswith(MCP))
    tools = tuple(name for name in named if not name.startswith(MCP))
    if flow.global_tools:
        _refuse_outside(flow, "global_tools", [_bare(tool) for tool in tools], [_bare(t) for t in flow.global_tools])
    if flow.mcp_servers:
        _refuse_outside(flow, "mcp_servers", servers, flow.mcp_servers)
    return Toolbox(tools=tools, servers=servers)


def _choose_names(node: LlmNode, flow: Flow, skills: Skills) -> Sequence[str]:
    if node.enabled_skills is None:
        if flow.enabled_skills is not None:
            return flow.enabled_skills
        return [skill.name for skill in skills.list_skills() if not skill.fault][:MOST_LISTED]
    if flow.enabled_skills is not None:
        _refuse_outside(flow, "enabled_skills", node.enabled_skills, flow.enabled_skills)
    return node.enabled_skills


def _refuse_outside(flow: Flow, key: str, named: Collection[str], whole: Collection[str]) -> None:
    wrong = [name for name in named if name not in whole]
    if wrong:
        message = f"{name_some(wrong)}: not among the flow's `{key}` ({name_some(whole) or 'none'}); add it there, too"
        raise InvalidInput(message, hint=f"drumline flow validate {quote(flow.path)}")


def _bare(tool: str) -> str:
    """Tools are named by their file or by its stem."""
    return tool.removesuffix(".sh")


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())
