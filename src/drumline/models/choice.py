"""Who answers a question. The rule: what the question names, else what is configured, else whoever can.

In this order: the question's `model`; the configured default; the tier `standard` if an API key is in the
environment; the default agent in read-only mode; else a failure that says what to configure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from drumline.core.redaction import find_secrets
from drumline.core.routing import TIERS
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.extras import require_provider
from drumline.models.agency import AgentModels, ScriptedModels, refuse
from drumline.models.tiers import KEYS, check_provider, find_default, spell
from drumline.ports.agents import Agent
from drumline.ports.jail import Wrapper
from drumline.ports.models import Answer, Models, Question
from drumline.ports.processes import Processes
from drumline.profiles import NOTHING, Grant, McpServer
from drumline.record import Record, field, replace

SCRIPTED = "scripted:"
AGENT = "agent:"
LEGAL = f"provider:model, {', '.join(TIERS)}, {SCRIPTED}FILE, {AGENT}SPEC"
NOBODY = (
    f"there is no model to ask: set one of {', '.join(KEYS)}, or name a model (--model provider:model), "
    "or an agent that answers in read-only mode (--agent)"
)


def find_name_fault(name: str) -> str:
    """Why a text cannot name a model; "" if it can. Whether its provider has it is for the provider to say."""
    kind, _, rest = name.partition(":")
    return "" if name in TIERS or (kind and rest.strip()) else f"{name!r} does not name a model (legal: {LEGAL})"


class ChosenModels(Record):
    """Passes each question on to who is to answer it; `find_jail` is asked when commands may be started."""

    open_agent: Callable[[str], Agent]
    processes: Processes
    default: str = ""
    tiers: Mapping[str, str] = field(default_factory=dict)
    servers: Sequence[McpServer] = ()
    agent: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    find_jail: Callable[[], Wrapper | None] = lambda: None
    grant: Grant = NOTHING

    async def ask(self, question: Question) -> Answer:
        """The answer of who was chosen; nobody to ask, or a name that means nothing, is a failure."""
        name = self.resolve(question.model)
        if not name:
            return refuse(question, NOBODY, failure=Failure.AUTH)
        try:
            models = self._open(name, tier=question.model if question.model in TIERS else "standard")
        except InvalidInput as error:
            return refuse(question, error.with_hint)
        return await models.ask(replace(question, model=name))

    def resolve(self, model: str) -> str:
        """What a name comes to: `provider:model`, `scripted:FILE` or `agent:SPEC`; empty if nobody can be asked."""
        name = model or self.default or "standard"
        if name not in TIERS:
            return name
        found = self.tiers.get(name) or find_default(name, self.environ)
        if found or not self.agent:
            return found
        # Who plays a script plays it for every node, with its effects.
        return self.agent if self.agent.startswith(SCRIPTED) else AGENT + self.agent

    def check(self, model: str) -> None:
        """Refuse, before a run begins, a name that means nothing, an unknown provider, and what cannot be opened."""
        if not (name := self.resolve(model)):
            raise InvalidInput(NOBODY, hint="drumline flow run FILE --model provider:model")
        if fault := find_name_fault(name):
            raise InvalidInput(fault, hint="drumline flow run --help")
        if name.startswith((SCRIPTED, AGENT)):
            self.open_agent(name.removeprefix(AGENT))
        else:
            check_provider(spell(name).partition(":")[0])

    def _open(self, name: str, *, tier: str = "standard") -> Models:
        if fault := find_name_fault(name):
            raise InvalidInput(fault, hint="drumline flow run --help")
        rest = name.partition(":")[2]
        if name.startswith(SCRIPTED):
            return ScriptedModels(spec=name, open_agent=self.open_agent)
        if name.startswith(AGENT):
            return AgentModels(spec=rest, open_agent=self.open_agent, tier=tier)
        require_provider(spell(name).partition(":")[0])
        from drumline.models.providers import PydanticModels

        secrets = find_secrets(self.environ, *(server.env.values() for server in self.servers))
        return PydanticModels(
            processes=self.processes, servers=self.servers, secrets=secrets, jail=self.find_jail(), grant=self.grant
        )


def open_models(
    *,
    open_agent: Callable[[str], Agent],
    processes: Processes,
    default: str = "",
    tiers: Mapping[str, str] | None = None,
    servers: Sequence[McpServer] = (),
    agent: str = "",
    environ: Mapping[str, str] | None = None,
    find_jail: Callable[[], Wrapper | None] = lambda: None,
    grant: Grant = NOTHING,
) -> ChosenModels:
    """Models as configured.

    `default` is any legal name, `tiers` maps a tier to one, `agent` is the spec of the agent that answers when there is
    no model. `open_agent` opens a spec; files in it are relative to whatever it says. `environ` is ours by default.
    The commands and servers of a provider's model are held by the jail that is found, and have the `grant`.
    """
    return ChosenModels(
        open_agent=open_agent,
        processes=processes,
        default=default,
        tiers=dict(tiers or {}),
        servers=tuple(servers),
        agent=agent,
        environ=dict(os.environ if environ is None else environ),
        find_jail=find_jail,
        grant=grant,
    )
