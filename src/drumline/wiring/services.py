"""What a driver of a run works with: one for plans and flows; what only flows need is opened when one is walked."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio

from drumline.agents.checkhold import CheckHold
from drumline.agents.sandbox import choose_jail
from drumline.app.foreign import archives_sessions
from drumline.app.pins import apply_pins
from drumline.core.ids import DriverId
from drumline.core.setups import read_setup
from drumline.core.state import RunState
from drumline.core.vocabulary import CheckKind
from drumline.engine.basecache import open_cache
from drumline.engine.baseruns import BaseRuns
from drumline.engine.checkslots import CheckSlots
from drumline.engine.redacted import RedactedModels, RedactedProcesses
from drumline.engine.services import FlowServices, Services, Tools
from drumline.errors import InvalidInput
from drumline.isolation.homes import VERDICTS
from drumline.ports.models import Models
from drumline.ports.processes import Processes
from drumline.ports.trust import TRUSTING, Trust
from drumline.processes.census import MARK
from drumline.processes.supervised import SupervisedProcesses
from drumline.profiles import find_grant, read_profiles
from drumline.protection import AUTO, OFF
from drumline.record import replace
from drumline.settings import TOOL
from drumline.store.sqlite import SqliteStore
from drumline.wiring.agents import AgentRegistry
from drumline.wiring.project import Project

BUILTIN = "builtin"


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        await anyio.sleep(seconds)


def find_price(model: str, usage: Mapping[str, float]) -> float | None:
    """The price of tokens; the table of prices is paid for only by those who need it."""
    from drumline.models import prices

    return prices.find_price(model, usage)


def open_services(
    project: Project, store: SqliteStore, run: RunState, *, started_at: float, trust: Trust = TRUSTING
) -> Services:
    """Everything a driver of this run works with."""
    if run.begun.checkout and run.begun.checkout != str(project.repository.top):
        raise InvalidInput(f"run {run.id} works in {run.begun.checkout}", hint=f"cd {run.begun.checkout}")
    planfiles = project.plan_of(run)
    settings = apply_pins(project.settings, run.begun)
    workspaces = project.workspaces(run, started_at=started_at, patterns=planfiles.patterns)

    def equip(driver: DriverId) -> Tools:
        workspaces.mark_processes({MARK: driver})
        return _equip(project, driver, run)

    return Services(
        store=store,
        roster=project.roster,
        workspaces=workspaces,
        planfiles=planfiles,
        clock=SystemClock(),
        logs=project.logs(run.id),
        equip=equip,
        open_flows=partial(_open_flows, project, run),
        price=find_price,
        stale_claim=project.settings.stale_claim,
        quota_wait=settings.quota_wait,
        step_timeout=settings.step_timeout,
        agent_timeout=settings.agent_timeout,
        agent_idle=settings.agent_idle,
        check_timeout=settings.check_timeout,
        kind_timeouts={
            CheckKind.BUILD: settings.build_timeout,
            CheckKind.LINT: settings.lint_timeout,
            CheckKind.FORMAT: settings.format_timeout,
        },
        redaction=project.redaction,
        trust=trust,
        lessons=project.lessons,
        archives=archives_sessions(os.environ),
        base=project.repository.top,
    )


def _open_flows(project: Project, run: RunState) -> FlowServices:
    from drumline.wiring.flows import open_flow_services  # brings readers of flows

    return open_flow_services(project, run)


def _equip(project: Project, driver: DriverId, run: RunState) -> Tools:
    """What one driver works with; nothing that is said through it has secrets in it."""
    supervised = SupervisedProcesses(project.roster.home(driver), driver)
    processes = RedactedProcesses(processes=supervised, redaction=project.redaction)
    configured = read_profiles(project.config)
    registry = AgentRegistry(
        agent=run.begun.agent,
        profiles=run.begun.profiles,
        processes=processes,
        base=project.repository.top,
        servers=configured.mcp,
        tables=configured.agents,
        redaction=project.redaction,
        ask_tool=project.settings.questions == TOOL,
        watched=not run.lands,
        sandbox=project.settings.sandbox,
        hidden=_list_held_out(project),
    )
    open_models = partial(_open_models, project, run, processes=processes, registry=registry)
    open_with = registry.open if run.lands else registry.open_spec  # a flow's library has looked up the names
    if run.lands:
        registry.open(run.begun.agent)  # an agent that cannot be opened is refused before anything is claimed
    return Tools(
        processes=processes,
        open_agent=open_with,
        open_models=open_models,
        checks=open_hold(project, provide=read_setup("", run.begun.provide).paths),
        slots=CheckSlots(project.settings.check_jobs),
        bases=BaseRuns(cache=open_cache(project.repository.common_dir / "drumline" / VERDICTS)),
    )


def open_hold(project: Project, *, provide: Sequence[str] = ()) -> CheckHold:
    """How checks of this repository are held, which find these paths of the checkout in their places."""
    tables = read_profiles(project.config).agents.values()
    # `required` is about agents: a check without a jail is named by `doctor`, and still judges.
    mode = OFF if project.settings.sandbox == OFF else AUTO
    return CheckHold(
        project.check_environment,
        checkout=project.repository.top,
        common=project.repository.common_dir,
        choose_jail=partial(choose_jail, mode),
        folders=project.settings.check_folders,
        hide=[path for table in tables for path in table.hide],
        held_out=[Path(folder) for folder in _list_held_out(project)],
        provide=provide,
    )


def _list_held_out(project: Project) -> tuple[str, ...]:
    """The folder that is shown neither to agents nor to other checks; it may have moved since the run began."""
    return (str(project.held_out),) if project.held_out is not None else ()


def _open_models(project: Project, run: RunState, *, processes: Processes, registry: AgentRegistry) -> Models:
    from drumline.agents.jail import tighten
    from drumline.models import open_models

    configured = read_profiles(project.config)
    # A model with our tools is what the built-in agent is: what that is granted, its commands may have here.
    grant = find_grant(configured.agents, "", BUILTIN)
    grant = replace(grant, hide=(*grant.hide, *_list_held_out(project)))
    models = open_models(
        open_agent=lambda spec: registry.open_spec(spec).agent,
        processes=processes,
        default=configured.model,
        tiers=configured.tiers,
        servers=list(configured.mcp.values()),
        agent=run.begun.agent or project.settings.agent,
        find_jail=lambda: tighten(choose_jail(project.settings.sandbox), grant),
        grant=grant,
    )
    return RedactedModels(models=models, redaction=project.redaction)
