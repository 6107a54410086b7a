"""The composition root: reads settings, picks adapters. The only place that knows them all."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import anyio

from drumline.agents import PROGRAMS, open_agent
from drumline.agents.asking import connect
from drumline.app.brought import Sources
from drumline.app.flowlook import FlowWatcher
from drumline.app.foreign import state_file
from drumline.app.leftovers import Cleanup
from drumline.app.look import Watcher
from drumline.app.say import check_speaker
from drumline.configfiles import read_config, read_own_config
from drumline.core.ids import NO_DRIVER, DriverId, RunId
from drumline.core.plan import Step
from drumline.core.redaction import Redaction, read_redaction
from drumline.core.routing import TIERS
from drumline.core.state import RunState
from drumline.core.task import is_task
from drumline.core.trust import Brought
from drumline.engine.kit import Kit, OpenAgent, Worker
from drumline.engine.questions import AskingAgent
from drumline.engine.redacted import RedactedAgent, RedactedProcesses
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.task import TaskFiles
from drumline.ports.planfiles import PlanFiles
from drumline.ports.processes import Processes
from drumline.ports.trust import TRUSTING, Trust
from drumline.processes.census import MARK
from drumline.processes.roster import FileRoster
from drumline.processes.supervised import SupervisedProcesses
from drumline.profiles import PLACE, McpServer, Profile, find_loan, read_profiles
from drumline.protection import AUTO
from drumline.record import asdict
from drumline.settings import TOOL, Settings, list_given, resolve
from drumline.store.sqlite import SqliteStore
from drumline.store.trustfile import FileTrust
from drumline.workspace.repository import Repository, find_repository
from drumline.workspace.workspaces import GitWorkspaces

STORE = "state.db"


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        await anyio.sleep(seconds)


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Opens agents by the names that plans and settings have for them, each once. `agent` is the run's own.

    `profiles` are as the run has pinned them; `servers` and `tables` as they are now: what is lent is not pinned.
    With `ask_tool` agents that can be given one have a tool to ask a person.
    """

    agent: str
    profiles: Mapping[str, Mapping[str, str]]
    processes: Processes
    base: Path
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    tables: Mapping[str, Profile] = field(default_factory=dict)
    redaction: Redaction = field(default_factory=Redaction)
    ask_tool: bool = False
    sandbox: str = AUTO
    opened: dict[str, Worker] = field(default_factory=dict)

    def open(self, name: str) -> Worker:
        """The agent that a profile or a spec names, or InvalidInput."""
        if name not in self.opened:
            self.opened[name] = self._open(name)
        return self.opened[name]

    def find_fault(self, name: str) -> str:
        """Why an agent cannot be opened; empty if it can."""
        try:
            self.open(name)
        except InvalidInput as error:
            return str(error)
        return ""

    def _open(self, name: str) -> Worker:
        profile = self.profiles.get(name, {})
        spec = self._find_spec(name)
        kind, _, argument = spec.partition(":")
        model = profile.get("model", "") or (argument if kind in PROGRAMS else "")
        tiers = {tier: profile[tier] for tier in TIERS if profile.get(tier)}
        loan = find_loan(self.tables, name, spec)
        open_with = partial(
            open_agent,
            spec,
            processes=self.processes,
            base=self.base,
            tiers=tiers,
            loan=loan,
            sandbox=self.sandbox,
        )
        asking = AskingAgent(agent=connect(spec, open_with=open_with, servers=self.servers, tool=self.ask_tool))
        return Worker(agent=RedactedAgent(agent=asking, redaction=self.redaction), model=model)

    def _find_spec(self, name: str) -> str:
        """What a name stands for; a profile that names no agent is the run's own."""
        if name not in self.profiles:
            return name
        own = self.profiles.get(self.agent, {"agent": self.agent})
        spec = self.profiles[name].get("agent") or own.get("agent")
        if not spec:
            message = f"the profile {name!r} names no agent and cannot be the run's own"
            raise InvalidInput(message, hint=f"give [agents.{name}] in {PLACE} an agent")
        return spec


def find_price(model: str, usage: Mapping[str, float]) -> float | None:
    """The price of tokens; the table of prices is paid for only by those who need it."""
    from drumline.models import prices

    return prices.find_price(model, usage)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A repository as Drumline sees it from one folder: where its state is, and what is configured.

    `config` is the repository's file, `own` the person's; `given` are settings set by flag or variable.
    """

    repository: Repository
    settings: Settings
    config: Mapping[str, object]
    config_path: Path | None
    here: Path
    own: Mapping[str, object] = field(default_factory=dict)
    given: frozenset[str] = frozenset()

    @property
    def state_dir(self) -> Path:
        """Where the store, the drivers' leases and the runs' logs are."""
        return self.repository.state_dir

    @cached_property
    def roster(self) -> FileRoster:
        """The drivers of this repository."""
        return FileRoster(self.state_dir / "drivers", lease=self.settings.lease)

    def open_trust(
        self, *, asks: bool = False, list_new: Callable[[Sequence[Brought]], None] = lambda found: None
    ) -> FileTrust:
        """What people said about the commands of this repository; with `asks` somebody is there to be asked."""
        return FileTrust(
            path=self.repository.user_dir / "trust.json",
            repository=str(self.repository.common_dir),
            policy=self.settings.trust,
            asks=asks,
            list_new=list_new,
        )

    def list_sources(self, *, everything: bool = False) -> Sources:
        """Where commands of a run come from."""
        return Sources(
            settings=self.settings,
            config=self.config,
            profiles=read_profiles(self.config),
            specs=self.profiles,
            top=self.repository.top,
            given=self.given,
            everything=everything,
        )

    def check_agent(self, spec: str) -> None:
        """Refuse an agent that cannot be opened, before a run begins."""
        processes = SupervisedProcesses(self.state_dir, NO_DRIVER)
        open_agent(spec, processes=processes, base=self.repository.top, sandbox=self.settings.sandbox)

    @cached_property
    def profiles(self) -> Mapping[str, Mapping[str, str]]:
        """What the names of agents stand for, as plain words that a run can pin."""
        found = read_profiles(self.config).agents
        words = {name: asdict(profile).items() for name, profile in found.items()}
        return {name: {k: v for k, v in items if v and isinstance(v, str)} for name, items in words.items()}

    @cached_property
    def redaction(self) -> Redaction:
        """What no run may write down: secrets of the environment, and what MCP servers are given."""
        servers = read_profiles(self.config).mcp.values()
        return read_redaction(os.environ, *(server.env for server in servers))

    def check_agents(self, agent: str, steps: Iterable[Step]) -> None:
        """Refuse a run whose agent, or one that takes over or works on a step, cannot be opened; all are named."""
        processes = SupervisedProcesses(self.state_dir, NO_DRIVER)
        top, sandbox = self.repository.top, self.settings.sandbox
        crew = Crew(agent=agent, profiles=self.profiles, processes=processes, base=top, sandbox=sandbox)
        crew.open(agent)
        wanted = [("the setting fallback", name) for name in self.settings.fallback]
        wanted += [(step.path or step.id, step.agent) for step in steps if step.agent and not step.elsewhere]
        problems = [f"{place}: {why}" for place, name in wanted if (why := crew.find_fault(name))]
        if problems:
            known = ", ".join(self.profiles) or "none yet"
            problems.append(f"agents with a name of their own: {known}")
            raise InvalidInput("\n".join(problems), hint=f"write [agents.NAME] into {PLACE}, or: drumline agents")

    def anchor(self, spec: str, *, typed: bool) -> str:
        """An agent or model by its spec; a scripted one's file is named so that it means the same from any folder.

        Typed paths are relative to the folder they were typed in, those of the configuration to the repository.
        """
        name, _, argument = spec.partition(":")
        if name != "scripted" or not argument:
            return spec
        return f"scripted:{self.name_path((self.here if typed else self.repository.top) / argument)}"

    def name_path(self, path: Path) -> str:
        """A path as the journal names it: relative to the repository if it is inside."""
        top, place = self.repository.top, path.resolve()
        return str(place.relative_to(top) if place.is_relative_to(top) else place)

    def check_speaker(self) -> None:
        """Refuse to hear what a live driver of this repository has started."""
        check_speaker(self.roster.find_around(os.environ.get(MARK, ""), os.getpid()))

    def has_store(self) -> bool:
        """Whether anything was ever run here."""
        return (self.state_dir / STORE).exists()

    def open_store(self, *, read_only: bool = False) -> SqliteStore:
        """Open the journal; a writer frozen with the lock in its hand is ended by whoever waits for it."""
        path = self.state_dir / STORE
        if read_only and not self.has_store():
            raise InvalidInput("there is no run here yet", hint="drumline run PLAN")
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
        return SqliteStore.open(path, read_only=read_only, on_busy=self.roster.evict_frozen)

    def open_plan(self, plan: str, format: str = "") -> PlanFiles:
        """The plan at a path relative to the folder the command was typed in, or that of a ticket id or slug."""
        from drumline.app.finding import find_plan  # brings readers of plans, without which runs are looked at faster

        place = find_plan(plan, here=self.here, top=self.repository.top)
        return open_plan(place, repo=self.repository.top, locks=self.state_dir / "locks", format=format)

    def newest_plan(self) -> str:
        """The unfinished plan that was touched last, as a path from here."""
        top = self.repository.top
        also = state_file(os.environ)
        from drumline.app.finding import newest_unfinished

        place = newest_unfinished(top, lambda place: open_plan(place, repo=top).read(), also=also)
        return os.path.relpath(place, self.here)

    def plan_of(self, run: RunState) -> PlanFiles:
        """The plan a run was started with; that of a task has no files."""
        if is_task(run.plan):
            return TaskFiles(run.plan)
        top, locks = self.repository.top, self.state_dir / "locks"
        return open_plan(top / run.begun.plan, repo=top, locks=locks, format=run.plan.format)

    def with_settings(
        self, flags: Mapping[str, object], plan: Mapping[str, object], foreign: Mapping[str, object] | None = None
    ) -> Site:
        """The same site with the settings of one command."""
        settings = resolve(flags, os.environ, plan, self.config, own=self.own, foreign=foreign)
        return dataclasses.replace(self, settings=settings, given=list_given(flags, os.environ))

    def logs(self, run: RunId) -> Path:
        """Where transcripts and check logs of a run are."""
        return self.state_dir / "runs" / run

    def watcher(self, store: SqliteStore, run: RunState) -> Watcher:
        """Looks at a run for the views; a plan that is gone does not keep people from looking."""
        top = self.repository.top
        planfiles = self.plan_of(run) if (top / run.begun.plan).exists() else None
        return Watcher(
            store=store,
            roster=self.roster,
            planfiles=planfiles,
            run=run.id,
            stale_after=self.settings.stale_claim,
        )

    def flow_watcher(self, store: SqliteStore, run: RunId) -> FlowWatcher:
        """Looks at a run that walks a flow; reading flows is paid for only then."""
        from drumline.flowfiles.library import FlowLibrary

        library = FlowLibrary(top=self.repository.top, keep=self.logs(run) / "flows")
        return FlowWatcher(store=store, roster=self.roster, recall=library.recall, run=run)

    def _equip(self, driver: DriverId, run: RunState) -> tuple[Processes, OpenAgent]:
        """What one driver works with; nothing that is said through it has secrets in it."""
        supervised = SupervisedProcesses(self.roster.home(driver), driver)
        processes = RedactedProcesses(processes=supervised, redaction=self.redaction)
        configured = read_profiles(self.config)
        crew = Crew(
            agent=run.begun.agent,
            profiles=run.begun.profiles,
            processes=processes,
            base=self.repository.top,
            servers=configured.mcp,
            tables=configured.agents,
            redaction=self.redaction,
            ask_tool=self.settings.questions == TOOL,
            sandbox=self.settings.sandbox,
        )
        crew.open(run.begun.agent)  # what nobody can open is told before anything is claimed
        return processes, crew.open

    def cleanup(self, store: SqliteStore | None, *, dry: bool = False) -> Cleanup:
        """Where leftovers of this repository are looked for; without a store only those in git and of drivers."""
        configured = Path(self.settings.worktrees) if self.settings.worktrees else None
        root = self.repository.worktrees_root(configured)

        def open_workspaces(run: RunState) -> GitWorkspaces:
            return GitWorkspaces(
                self.repository,
                run=run.id,
                branch=run.begun.branch,
                root=root,
                git_limit=self.settings.git_timeout,
            )

        return Cleanup(
            store=store,
            roster=self.roster,
            common_dir=self.repository.common_dir.resolve(),
            top=self.repository.top,
            worktrees=root,
            open_workspaces=open_workspaces,
            dry=dry,
        )

    def kit(self, store: SqliteStore, run: RunState, *, started_at: float, trust: Trust = TRUSTING) -> Kit:
        """Everything a driver of this run works with."""

        def equip(driver: DriverId) -> tuple[Processes, OpenAgent]:
            workspaces.mark_processes({MARK: driver})
            return self._equip(driver, run)

        planfiles = self.plan_of(run)
        configured = Path(self.settings.worktrees) if self.settings.worktrees else None
        workspaces = GitWorkspaces(
            self.repository,
            run=run.id,
            branch=run.begun.branch,
            root=self.repository.worktrees_root(configured),
            plan_patterns=planfiles.patterns,
            started=int(started_at),
            git_limit=self.settings.git_timeout,
        )
        return Kit(
            store=store,
            roster=self.roster,
            workspaces=workspaces,
            planfiles=planfiles,
            clock=SystemClock(),
            logs=self.logs(run.id),
            equip=equip,
            price=find_price,
            stale_claim=self.settings.stale_claim,
            quota_wait=self.settings.quota_wait,
            agent_timeout=self.settings.agent_timeout,
            agent_idle=self.settings.agent_idle,
            check_timeout=self.settings.check_timeout,
            redaction=self.redaction,
            trust=trust,
            base=self.repository.top,
        )


def open_site(here: Path | None = None) -> Site:
    """The repository around a folder, with its configuration."""
    folder = (here or Path.cwd()).resolve()
    repository = find_repository(folder)
    config, path = read_config(folder, repository.top)
    own = read_own_config(os.environ)
    return Site(
        repository=repository,
        settings=resolve({}, os.environ, {}, config, own=own),
        own=own,
        given=list_given({}, os.environ),
        config=config,
        config_path=path,
        here=folder,
    )
