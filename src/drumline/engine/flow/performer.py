"""What each kind of node does. Whatever goes wrong is an outcome; nothing a node does ends the driver."""

from __future__ import annotations

from collections.abc import Callable
from shlex import quote

from drumline.core.flow.kinds import kind_name
from drumline.core.flow.model import (
    AgentNode,
    CheckNode,
    DocumentNode,
    LandNode,
    LlmNode,
    Node,
    PlanNode,
    ScriptNode,
    SettleNode,
    WorkspaceNode,
)
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.visitattempts import choose_agent
from drumline.core.flow.walk import RunNode
from drumline.core.routing import USUAL
from drumline.core.taxonomy import Failure
from drumline.engine.agent_call import open_worker
from drumline.engine.brought import list_node_commands
from drumline.engine.nodes.agent import Terms, ask_agent, choose_session, find_worker, list_callees
from drumline.engine.nodes.document import write_document
from drumline.engine.nodes.llm import ask_model
from drumline.engine.nodes.nodecheck import Scene, run_checks
from drumline.engine.nodes.prompts import drop_unknown
from drumline.engine.nodes.script import run_script
from drumline.engine.nodes.visit import Visit
from drumline.engine.services import FlowServices, Services, Tools
from drumline.record import Record


class NodePerformer(Record):
    """Who acts for the visits of one driver."""

    services: Services
    flows: FlowServices
    tools: Tools
    warn: Callable[[str], None] = lambda text: None

    async def perform(self, command: RunNode, visit: Visit) -> Outcome:
        """Let a visit act, unless it would execute what a person has not accepted."""
        node = command.node
        if refusal := self._refuse(node, visit):
            return Outcome(blocked=refusal, failure_class=Failure.PERMANENT.value)
        match node:
            case ScriptNode():
                return await run_script(node, visit, self.tools.processes, self.services.clock.sleep)
            case CheckNode():
                scene = Scene(
                    timeout=self.services.check_timeout,
                    limits={kind.value: limit for kind, limit in self.services.kind_timeouts.items()},
                    commands=self.flows.commands,
                    sleep=self.services.clock.sleep,
                    warn=self.warn,
                    hold=self.tools.checks,
                    slots=self.tools.slots,
                )
                return await run_checks(node, visit, self.tools.processes, scene)
            case LlmNode():
                return await ask_model(
                    drop_unknown(node, tools=self.flows.tools, servers=self.flows.mcp_servers),
                    visit,
                    models=self.tools.open_models(),
                    schemas=self.flows.schemas,
                    skills=self.flows.skills.near(visit.source),
                    clock=self.services.clock,
                )
            case AgentNode():
                return await self._ask_agent(node, visit)
            case DocumentNode():
                return write_document(node, visit)
            case WorkspaceNode() | LandNode() | PlanNode() | SettleNode():
                told = f"only in a run of a plan a {kind_name(node)!r} node can act; drumline run PLAN --flow NAME"
                return Outcome(failure=told)
            case _:
                raise AssertionError(f"a {type(node).__name__} does not act")

    def _refuse(self, node: Node, visit: Visit) -> str:
        """Why the node may not act: its script or command is new, or changed since the run began."""
        if (visit.agent and isinstance(node, AgentNode)) or (visit.model and isinstance(node, LlmNode)):
            return ""
        found = list_node_commands(node, visit.flow, commands=self.flows.commands, base=self.services.base)
        untrusted = self.services.trust.find_untrusted(found)
        if not untrusted:
            return ""
        told = ", ".join(f"{item.kind} {item.shown}" for item in untrusted)
        return f"not accepted: {told}; look at it, then: drumline trust {quote(visit.flow.path)} --accept"

    async def _ask_agent(self, node: AgentNode, visit: Visit) -> Outcome:
        own = self.flows.library.find_callee(node.agent, around=visit.source)
        if own.warning:
            self.warn(own.warning)
        candidates = list_callees(own, self.flows.fallback)
        name = choose_agent(candidates, visit.attempts).name
        worker = find_worker(name, own, self.flows.fallback)
        opened = open_worker(self.tools.open_agent, worker.agent)
        terms = Terms(
            name=name,
            tier=next((one.tier for one in candidates if one.name == name), USUAL),
            model=worker.model or opened.model,
            spec=worker.agent,
            session=choose_session(node, visit, name=name, spec=worker.agent),
            idle=self.services.agent_idle,
            timeout=self.services.agent_timeout,
            price=self.services.price,
            candidates=candidates,
            now=self.services.clock.now,
        )
        return await ask_agent(node, visit, agent=opened.agent, schemas=self.flows.schemas, terms=terms)
