"""Which commands of a repository a run would execute, and what it grants agents.

The rule: what a person typed for this run, by flag or variable, or has in their own file, is not the repository's.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from drumline.configfiles import CONFIG
from drumline.core.flow.model import AgentNode, Flow, LlmNode
from drumline.core.kinds import ENVIRONMENT, PLAN
from drumline.core.plan import Step
from drumline.core.routing import name_agent
from drumline.core.setups import COMMAND
from drumline.core.trust import CHECK, GRANT, NOTIFY, SERVER, SETUP, Brought, distinct, find_spec, list_checks
from drumline.engine.brought import describe_agent, describe_model, list_node_commands
from drumline.profiles import Profiles, find_grant
from drumline.record import Record, field
from drumline.settingrows import PRESETS
from drumline.settings import Settings

PLACE = CONFIG.as_posix()
SERVER_TOOL = "mcp:"


class Sources(Record):
    """Where commands come from: the settings, the repository's file, and what a person set for this command.

    With `everything` what a person typed is listed, too.
    """

    settings: Settings
    config: Mapping[str, object]
    profiles: Profiles
    top: Path
    given: frozenset[str] = frozenset()
    everything: bool = False
    specs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def is_brought(self, key: str) -> bool:
        """Whether a setting's value is the repository's."""
        return key in self.config and key not in self.given

    def is_listed(self, key: str) -> bool:
        """Whether a setting's value is to be listed: it is the repository's, or all are."""
        return self.everything or self.is_brought(key)


class Used(NamedTuple):
    """An agent that may work, where it is named, and whether the repository chose it or says what it is."""

    name: str
    place: str
    brought: bool = True


def list_plan_commands(sources: Sources, steps: Sequence[Step]) -> list[Brought]:
    """What a run of these steps executes."""
    settings = sources.settings
    setup = [Brought(kind=SETUP, text=settings.setup, place=PLACE, slot="setup")] if settings.setup else []
    checks = [Brought(kind=CHECK, text=check, place=PLACE) for check in settings.checks]
    provided = [line.removeprefix(COMMAND) for line in settings.provide if line.startswith(COMMAND)]
    brings = [Brought(kind=SETUP, text=line, place=PLACE) for line in provided if sources.is_listed("provide")]
    own = [*(setup if sources.is_listed("setup") else ()), *brings, *(checks if sources.is_listed("checks") else ())]
    kinds = [check for check in settings.kinds if sources.everything or check.source != ENVIRONMENT]
    own += [Brought(kind=CHECK, text=c.command, place="the plan" if c.source == PLAN else PLACE) for c in kinds]
    if settings.held_out and sources.is_listed("held_out"):
        own.append(Brought(kind=CHECK, text=f"every executable file in {settings.held_out}", place=PLACE))
    tables = {name: {"agent": table.agent} for name, table in sources.profiles.agents.items()}
    named = ((step, name_agent(step, tables)) for step in steps if not step.elsewhere)
    workers = [Used(name, step.path or step.id) for step, name in named if name]
    agents = _list_agents(sources, [*_list_used(sources, settings.agent), *workers])
    return distinct([*own, *list_checks(steps), *agents, *_list_notify(sources)])


def list_flow_commands(sources: Sources, flows: Iterable[Flow], *, agent: str = "", model: str = "") -> list[Brought]:
    """What walking these flows executes; `agent` and `model`, as they were typed, stand in for those of all nodes."""
    nodes = [(flow, node) for flow in flows for node in flow.nodes.values()]
    replaced = (*([AgentNode] if agent else []), *([LlmNode] if model else []))
    found = [
        item
        for flow, node in nodes
        if not isinstance(node, replaced)
        for item in list_node_commands(node, flow, commands=sources.profiles.commands, base=sources.top)
    ]
    names = [node.agent for _, node in nodes if isinstance(node, AgentNode)]
    used = _list_used(sources, agent or sources.settings.agent) if names else []
    used += [Used(name, PLACE) for name in names if not agent and name in sources.profiles.agents]
    found += _list_agents(sources, used)
    if not model and any(isinstance(node, LlmNode) for _, node in nodes):
        models = (sources.profiles.model, *sources.profiles.tiers.values())
        found += [item for model in models for item in describe_model(model, base=sources.top, place=PLACE)]
    for flow in {flow.path: flow for flow, _ in nodes}.values():
        found += _list_servers(sources, flow)
    return distinct([*found, *_list_notify(sources)])


def _list_used(sources: Sources, own: str) -> list[Used]:
    """The run's own agent and those that take over."""
    known = sources.profiles.agents
    chosen = sources.is_brought("agent") and own == sources.settings.agent
    others = [Used(n, PLACE, n in known or sources.is_brought("fallback")) for n in sources.settings.fallback]
    return [*([Used(own, PLACE, own in known or chosen)] if own else []), *others]


def _list_agents(sources: Sources, used: Iterable[Used]) -> list[Brought]:
    """Agents that are commands, and what the repository grants each agent beside its own, no matter who chose it."""
    found: list[Brought] = []
    for name, place, brought in dict.fromkeys(used):
        spec = find_spec(name, sources.specs)
        if brought:
            found += describe_agent(spec, base=sources.top, place=place)
        grant, who = find_grant(sources.profiles.agents, name, spec), spec.partition(":")[0]
        granted = [f"{who} may write to {folder}" for folder in grant.folders]
        granted += [f"{who} may see ${variable}" for variable in grant.env]
        found += [Brought(kind=GRANT, text=text, place=PLACE) for text in granted]
    return found


def _list_servers(sources: Sources, flow: Flow) -> list[Brought]:
    """The MCP servers that a flow names. Values of their environment may be secrets: they count, and are not shown."""
    nodes = [node for node in flow.nodes.values() if isinstance(node, LlmNode)]
    tools = [tool for tools in (flow.global_tools, *(node.tools or () for node in nodes)) for tool in tools]
    names = [*flow.mcp_servers, *(tool.removeprefix(SERVER_TOOL) for tool in tools if tool.startswith(SERVER_TOOL))]
    found: list[Brought] = []
    for server in (sources.profiles.mcp[name] for name in dict.fromkeys(names) if name in sources.profiles.mcp):
        raw = _read_env(sources.config, server.name)
        gets = f" (gets {', '.join(sorted(raw))})" if raw else ""
        text = f"{server.name}: {shlex.join(server.command) or server.url}{gets}"
        content = hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
        found.append(Brought(kind=SERVER, text=text, place=PLACE, content=content, slot=server.name))
    return found


def _read_env(config: Mapping[str, object], name: str) -> dict[str, str]:
    """A server's environment as it is written, with `$NAME` for what a person's own environment has."""
    servers = config.get("mcp")
    table = servers.get(name) if isinstance(servers, Mapping) else None
    env = table.get("env") if isinstance(table, Mapping) else None
    return {str(key): str(value) for key, value in env.items()} if isinstance(env, Mapping) else {}


def _list_notify(sources: Sources) -> list[Brought]:
    notify = sources.settings.notify
    listed = notify and notify not in PRESETS and sources.is_listed("notify")
    return [Brought(kind=NOTIFY, text=notify, place=PLACE, slot="notify")] if listed else []
