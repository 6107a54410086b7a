"""The one way to open an agent: by the name that a plan, a flow or a setting has for it, or by its spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from drumline.agents import PROGRAMS, open_agent
from drumline.agents.asking import connect
from drumline.core.redaction import Redaction
from drumline.core.routing import TIERS
from drumline.engine.questions import AskingAgent
from drumline.engine.redacted import RedactedAgent
from drumline.engine.services import Worker
from drumline.errors import InvalidInput
from drumline.ports.agents import Agent
from drumline.ports.library import Callee
from drumline.ports.processes import Processes
from drumline.profiles import PLACE, McpServer, Profile, find_grant
from drumline.protection import AUTO
from drumline.record import replace


@dataclass(frozen=True, kw_only=True)
class AgentRegistry:
    """Opens agents, each once. `agent` is the run's own.

    `profiles` are as the run has pinned them; `servers` and `tables` as they are now: what is granted is not pinned.
    With `ask_tool` agents that can be given one have a tool to ask a person. With `watched` the work tree is looked at
    before and after an agent: for runs that keep no trees of their own. What is `hidden` no agent sees in its jail.
    """

    agent: str
    profiles: Mapping[str, Mapping[str, str]]
    processes: Processes
    base: Path
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    tables: Mapping[str, Profile] = field(default_factory=dict)
    redaction: Redaction = field(default_factory=Redaction)
    ask_tool: bool = False
    watched: bool = False
    sandbox: str = AUTO
    hidden: tuple[str, ...] = ()
    opened: dict[tuple[str, str], Worker] = field(default_factory=dict)

    def open(self, name: str) -> Worker:
        """The agent that a profile or a spec names, or InvalidInput."""
        callee = self.find(name)
        kind, _, argument = callee.agent.partition(":")
        return self._open(callee.agent, name, callee.model or (argument if kind in PROGRAMS else ""))

    def open_spec(self, spec: str) -> Worker:
        """The agent of a spec, or InvalidInput; no profile is looked up."""
        return self._open(spec, "", "")

    def find(self, name: str) -> Callee:
        """What a name stands for; a profile that names no agent is the run's own."""
        if name not in self.profiles:
            return Callee(agent=name)
        profile = self.profiles[name]
        own = self.profiles.get(self.agent, {"agent": self.agent})
        spec = profile.get("agent") or own.get("agent")
        if not spec:
            message = f"the profile {name!r} names no agent and cannot be the run's own"
            raise InvalidInput(message, hint=f"give [agents.{name}] in {PLACE} an agent")
        return Callee(agent=spec, tier=profile.get("tier", ""), model=profile.get("model", ""))

    def find_all(self, names: Iterable[str]) -> dict[str, Callee]:
        """Those who take over, by name and in order."""
        return {name: self.find(name) for name in names}

    def find_fault(self, name: str) -> str:
        """Why an agent cannot be opened; empty if it can."""
        try:
            self.open(name)
        except InvalidInput as error:
            return str(error)
        return ""

    def _open(self, spec: str, name: str, model: str) -> Worker:
        if (spec, name) not in self.opened:
            agent = AskingAgent(agent=self._connect(spec, name))
            self.opened[spec, name] = Worker(agent=RedactedAgent(agent=agent, redaction=self.redaction), model=model)
        return self.opened[spec, name]

    def _connect(self, spec: str, name: str) -> Agent:
        grant = find_grant(self.tables, name, spec)
        open_with = partial(
            open_agent,
            spec,
            processes=self.processes,
            base=self.base,
            tiers=self._find_tiers(spec, name),
            grant=replace(grant, hide=(*grant.hide, *self.hidden)),
            sandbox=self.sandbox,
        )
        agent = connect(spec, open_with=open_with, servers=self.servers, tool=self.ask_tool)
        if not self.watched:
            return agent
        from drumline.models.guard import GuardedAgent  # brings what only those pay for who walk flows

        return GuardedAgent(agent=agent)

    def _find_tiers(self, spec: str, name: str) -> Mapping[str, str]:
        """The models of the tiers: by the profile, else by the table of the agent's kind."""
        if name in self.profiles:
            profile = self.profiles[name]
            return {tier: profile[tier] for tier in TIERS if profile.get(tier)}
        return self.tables.get(spec.partition(":")[0], Profile()).tiers
