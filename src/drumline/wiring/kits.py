"""What a driver of a run works with: one kit for plans and flows; what only flows need is opened when one is walked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio

from drumline.agents.checkhold import CheckHold
from drumline.agents.sandbox import choose_jail
from drumline.app.pins import apply_pins
from drumline.core.ids import DriverId
from drumline.core.setups import read_setup
from drumline.core.state import RunState
from drumline.core.words import CheckKind
from drumline.engine.basecache import open_cache
from drumline.engine.baseruns import BaseRuns
from drumline.engine.checkslots import CheckSlots
from drumline.engine.kit import FlowServices, Kit, Tools
from drumline.engine.redacted import RedactedModels, RedactedProcesses
from drumline.isolation.homes import VERDICTS
from drumline.ports.models import Models
from drumline.ports.processes import Processes
from drumline.ports.trust import TRUSTING, Trust
from drumline.processes.census import MARK
from drumline.processes.supervised import SupervisedProcesses
from drumline.profiles import find_loan, read_profiles
from drumline.protection import AUTO, OFF
from drumline.record import replace
from drumline.settings import TOOL
from drumline.store.sqlite import SqliteStore
from drumline.wiring.agents import AgentRegistry
from drumline.wiring.site import Site

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


def open_kit(site: Site, store: SqliteStore, run: RunState, *, started_at: float, trust: Trust = TRUSTING) -> Kit:
    """Everything a driver of this run works with."""
    planfiles = site.plan_of(run)
    settings = apply_pins(site.settings, run.begun)
    workspaces = site.workspaces(run, started_at=started_at, patterns=planfiles.patterns)

    def equip(driver: DriverId) -> Tools:
        workspaces.mark_processes({MARK: driver})
        return _equip(site, driver, run)

    return Kit(
        store=store,
        roster=site.roster,
        workspaces=workspaces,
        planfiles=planfiles,
        clock=SystemClock(),
        logs=site.logs(run.id),
        equip=equip,
        open_flows=partial(_open_flows, site, run),
        price=find_price,
        stale_claim=site.settings.stale_claim,
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
        redaction=site.redaction,
        trust=trust,
        lessons=site.lessons,
        base=site.repository.top,
    )


def _open_flows(site: Site, run: RunState) -> FlowServices:
    from drumline.wiring.flows import open_flow_services  # brings readers of flows

    return open_flow_services(site, run)


def _equip(site: Site, driver: DriverId, run: RunState) -> Tools:
    """What one driver works with; nothing that is said through it has secrets in it."""
    supervised = SupervisedProcesses(site.roster.home(driver), driver)
    processes = RedactedProcesses(processes=supervised, redaction=site.redaction)
    configured = read_profiles(site.config)
    registry = AgentRegistry(
        agent=run.begun.agent,
        profiles=run.begun.profiles,
        processes=processes,
        base=site.repository.top,
        servers=configured.mcp,
        tables=configured.agents,
        redaction=site.redaction,
        ask_tool=site.settings.questions == TOOL,
        watched=not run.lands,
        sandbox=site.settings.sandbox,
        hidden=_list_held_out(site),
    )
    open_models = partial(_open_models, site, run, processes=processes, registry=registry)
    open_with = registry.open if run.lands else registry.open_spec  # a flow's library has looked up the names
    if run.lands:
        registry.open(run.begun.agent)  # an agent that cannot be opened is refused before anything is claimed
    return Tools(
        processes=processes,
        open_agent=open_with,
        open_models=open_models,
        checks=open_hold(site, provide=read_setup("", run.begun.provide).paths),
        slots=CheckSlots(site.settings.check_jobs),
        bases=BaseRuns(cache=open_cache(site.repository.common_dir / "drumline" / VERDICTS)),
    )


def open_hold(site: Site, *, provide: Sequence[str] = ()) -> CheckHold:
    """How checks of this repository are held, which find these paths of the checkout in their places."""
    tables = read_profiles(site.config).agents.values()
    # `required` is about agents: a check without a jail is named by `doctor`, and still judges.
    mode = OFF if site.settings.sandbox == OFF else AUTO
    return CheckHold(
        site.check_environment,
        checkout=site.repository.top,
        common=site.repository.common_dir,
        choose_jail=partial(choose_jail, mode),
        folders=site.settings.check_folders,
        hide=[path for table in tables for path in table.hide],
        held_out=[Path(folder) for folder in _list_held_out(site)],
        provide=provide,
    )


def _list_held_out(site: Site) -> tuple[str, ...]:
    """The folder that is shown neither to agents nor to other checks; it may have moved since the run began."""
    return (str(site.held_out),) if site.held_out is not None else ()


def _open_models(site: Site, run: RunState, *, processes: Processes, registry: AgentRegistry) -> Models:
    from drumline.agents.jail import tighten
    from drumline.models import open_models

    configured = read_profiles(site.config)
    # A model with our tools is what the built-in agent is: what that is lent, its commands may have here.
    loan = find_loan(configured.agents, "", BUILTIN)
    loan = replace(loan, hide=(*loan.hide, *_list_held_out(site)))
    models = open_models(
        open_agent=lambda spec: registry.open_spec(spec).agent,
        processes=processes,
        default=configured.model,
        tiers=configured.tiers,
        servers=list(configured.mcp.values()),
        agent=run.begun.agent or site.settings.agent,
        find_jail=lambda: tighten(choose_jail(site.settings.sandbox), loan),
        loan=loan,
    )
    return RedactedModels(models=models, redaction=site.redaction)
