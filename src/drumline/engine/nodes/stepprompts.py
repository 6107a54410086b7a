"""The prompt of a node that the step's own agent works on: its template with the task and what happened before."""

from __future__ import annotations

from drumline.core.blocked import OFFER
from drumline.core.flow.model import AgentNode
from drumline.core.flow.templates import list_references, render_strict
from drumline.core.flow.values import overlay
from drumline.core.prompt import Brief, write_history, write_task
from drumline.engine.nodes.visit import Visit
from drumline.record import replace


def read_complaint(visit: Visit) -> str:
    """What the flow says is wrong with the work: the value `complaint`, where a node of it has written one."""
    said = visit.values.get("complaint")
    return said.strip() if isinstance(said, str) else ""


def write_node_prompt(node: AgentNode, visit: Visit, brief: Brief) -> str:
    """The node's prompt; what people said and what cut attempts short is added if the template does not place it."""
    named = set(list_references(node.prompt))
    history = write_history(brief if "history" in named else replace(brief, feedback=()))
    values = overlay({"initial_prompt": write_task(brief), "history": history}, visit.values)
    parts = [
        render_strict(node.prompt, values).strip(),
        "" if "initial_prompt" in named else OFFER,
        "" if "history" in named else history,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
