"""Our own small agent, for people who have an API key and no agent program: a model with tools for one workspace.

The rule: it is held to the promises of every other agent. The libraries of providers are imported when it works.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio

from drumline.core.redaction import find_secrets
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.isolation.outside import look_on
from drumline.models.tiers import KEYS, check_provider, find_default
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.jail import Wrapper
from drumline.ports.processes import Processes
from drumline.profiles import NOTHING, Grant, McpServer
from drumline.record import Record, field, replace

NOBODY = f"there is no model to ask: set one of {', '.join(KEYS)}, or name a model as builtin:provider:model"


class BuiltinAgent(Record):
    """Works with a model of a provider. `model` overrules the tiers but not the assignment."""

    processes: Processes
    model: str = ""
    tiers: Mapping[str, str] = field(default_factory=dict)
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    jail: Wrapper | None = None
    grant: Grant = NOTHING
    environ: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Without the environment: it may hold secrets."""
        return f"{type(self).__name__}(model={self.model!r})"

    async def work(self, assignment: Assignment) -> Outcome:
        """Do the assignment in its workspace. No process of it is left when this returns or is cancelled."""
        model = self.choose_model(assignment)
        if not model:
            return Outcome(failure=Failure.AUTH.value, message=NOBODY)
        work = partial(self._work_with, assignment, model)
        return await (work() if self.jail else look_on(assignment, work))

    async def _work_with(self, assignment: Assignment, model: str) -> Outcome:
        try:
            return replace(await self._work(assignment, model), model=model)
        except InvalidInput as error:
            return Outcome(failure=Failure.PERMANENT.value, message=error.with_hint)

    def choose_model(self, assignment: Assignment) -> str:
        """The model asked for, else that of the tier: the configured one, or that of a provider whose key is set."""
        tier = assignment.tier
        return assignment.model or self.model or self.tiers.get(tier) or find_default(tier, self.environ)

    async def _work(self, assignment: Assignment, model: str) -> Outcome:
        from drumline.models.builtin_session import BuiltinSession, Equipment

        secrets = find_secrets(self.environ, *(server.env.values() for server in self.servers.values()))
        equipment = Equipment(
            model=model,
            secrets=secrets,
            processes=self.processes,
            jail=self.jail,
            grant=self.grant,
            servers=self.servers,
        )
        session = BuiltinSession(assignment, equipment)
        found: list[Outcome] = []
        silent = False
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                nonlocal silent
                await session.wait_silence()
                silent = True
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            with anyio.move_on_after(assignment.timeout):
                found.append(await session.run())
            tasks.cancel_scope.cancel()
        return found[0] if found else session.explain_stop(silent=silent)


def open_builtin(
    argument: str,
    *,
    processes: Processes,
    base: Path,
    tiers: Mapping[str, str],
    servers: Mapping[str, McpServer],
    jail: Wrapper | None,
    grant: Grant = NOTHING,
) -> Agent:
    """The agent with the model `argument`, as `provider:model`, or without one that of the tier."""
    provider, _, name = argument.partition(":")
    if argument and not (provider.strip() and name.strip()):
        legal = "builtin or builtin:provider:model, such as builtin:openai:gpt-6.1-terra"
        raise InvalidInput(f"{argument!r} does not name a model (legal: {legal})", hint="drumline agents")
    environ = dict(os.environ)
    check_provider(provider or find_default("standard", environ).partition(":")[0])
    return BuiltinAgent(
        processes=processes,
        model=argument,
        tiers=tiers,
        servers=servers,
        jail=jail,
        grant=grant,
        environ=environ,
    )
