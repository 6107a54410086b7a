"""Commands that the nodes of a flow bring, read where they are. The rule: what is shipped with Drumline brings none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import drumline
from drumline.core.flow.model import AgentNode, CheckNode, Flow, LlmNode, Node, ScriptNode
from drumline.core.plan import Step
from drumline.core.routing import name_agent
from drumline.core.trust import AGENT, CHECK, COMMANDS, SCRIPT, Brought, find_spec, list_checks

SHIPPED = Path(drumline.__file__).parent / "flows"
AGENT_MODEL = "agent:"
PLAYED = "scripted"


def list_node_commands(node: Node, flow: Flow, *, commands: Mapping[str, str], base: Path) -> list[Brought]:
    """What a node executes by the words of its flow. Agents are not looked up by their names.

    `commands` are checks by name; `base` is where the paths of specs start.
    """
    source = Path(flow.path).parent
    if source.is_relative_to(SHIPPED):
        return []
    match node:
        case ScriptNode():
            return [describe_script(source, node.script, place=flow.path)]
        case CheckNode():
            texts = [commands.get(check, check) for check in node.checks]
            return [Brought(kind=CHECK, text=text, place=flow.path) for text in texts]
        case AgentNode():
            return describe_agent(node.agent, base=base, place=flow.path)
        case LlmNode():
            return describe_model(node.model or flow.model or "", base=base, place=flow.path)
        case _:
            return []


def describe_script(source: Path, script: str, *, place: str) -> Brought:
    """A script with its content; one that is not there has none, and is another one once it is."""
    return Brought(kind=SCRIPT, text=script, place=place, content=_digest(source / script), slot=script)


def describe_agent(spec: str, *, base: Path, place: str) -> list[Brought]:
    """An agent that is a command or plays a file; none for one that is a program by its name."""
    kind, _, argument = spec.partition(":")
    if kind in COMMANDS and argument:
        return [Brought(kind=AGENT, text=spec, place=place)]
    if kind == PLAYED and argument:
        return [Brought(kind=AGENT, text=spec, place=place, content=_digest(base / argument), slot=spec)]
    return []


def list_step_commands(step: Step, profiles: Mapping[str, Mapping[str, str]], *, base: Path) -> list[Brought]:
    """What one step brings: its agent, and its checks."""
    if step.elsewhere:
        return []
    spec = find_spec(name_agent(step, profiles), profiles)
    return [*describe_agent(spec, base=base, place=step.path or step.id), *list_checks([step])]


def describe_model(model: str, *, base: Path, place: str) -> list[Brought]:
    """A model that is an agent, or plays a file."""
    return describe_agent(model.removeprefix(AGENT_MODEL), base=base, place=place)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "not there"
