"""A project: a repository as Drumline sees it from one folder: its settings, its state, its plans and runs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.app.brought import Sources
from drumline.app.foreign import state_file
from drumline.app.look import Watcher
from drumline.app.pins import Present
from drumline.app.readings import NAME, Readings
from drumline.configfiles import has_own_flow, read_config, read_own_config
from drumline.core.checkenv import CheckEnv, choose_environment
from drumline.core.flow.model import Flow
from drumline.core.ids import NO_DRIVER, RunId, StepId
from drumline.core.plan import Check, Plan, Step
from drumline.core.redaction import Redaction, read_redaction
from drumline.core.routing import TIERS, name_agent
from drumline.core.state import RunState
from drumline.core.task import has_files
from drumline.core.trust import Brought
from drumline.core.vocabulary import Place
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.ports.planfiles import PlanFiles
from drumline.processes.census import MARK
from drumline.processes.roster import FileRoster
from drumline.profiles import PLACE, read_profiles
from drumline.record import asdict, replace
from drumline.settings import Settings, list_given, resolve
from drumline.store.sqlite import SqliteStore
from drumline.store.trustfile import FileTrust
from drumline.views.transcript import Happened
from drumline.workspace.repository import Repository, find_repository

STORE = "state.db"
STEP_FLOW = "step"
"""The flow that steps walk which name none, if the repository has one of this name."""

if TYPE_CHECKING:
    from drumline.app.leftovers import Cleanup
    from drumline.store.lessonfiles import FileLessons
    from drumline.workspace.workspaces import GitWorkspaces


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project: a repository as Drumline sees it from one folder: where its state is, and what is configured.

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

    @property
    def lessons(self) -> FileLessons:
        """What was learned in this repository."""
        from drumline.store.lessonfiles import FileLessons

        return FileLessons(folder=self.state_dir / "learning", top=self.repository.top)

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
        from drumline.agents import open_agent
        from drumline.processes.supervised import SupervisedProcesses

        processes = SupervisedProcesses(self.state_dir, NO_DRIVER)
        open_agent(spec, processes=processes, base=self.repository.top, sandbox=self.settings.sandbox)

    def check_model(self, name: str) -> None:
        """Refuse a model that cannot be asked, before a run begins; a tier is whatever is configured by then."""
        from drumline.agents import open_agent
        from drumline.models import open_models
        from drumline.processes.supervised import SupervisedProcesses

        processes, base = SupervisedProcesses(self.state_dir, NO_DRIVER), self.repository.top
        open_it = partial(open_agent, processes=processes, base=base, sandbox=self.settings.sandbox)
        if name not in TIERS:
            open_models(open_agent=open_it, processes=processes).check(name)

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

    @property
    def check_environment(self) -> CheckEnv:
        """What checks do not see of the environment."""
        top = str(self.repository.top.resolve())
        return choose_environment(os.environ, allowed=self.settings.check_env, checkout=top, resolve=os.path.realpath)

    def present(self) -> Present:
        """The configuration as a run pins it."""
        agent = self.anchor(self.settings.agent, typed="agent" in self.given)
        commands = read_profiles(self.config).commands
        present = Present(settings=self.settings, agent=agent, profiles=self.profiles, commands=commands)
        if not self.settings.held_out:
            return present
        from drumline.wiring.heldout import list_files, list_jailed  # brings what holds agents

        return replace(present, held_out=list_files(self.held_out), jailed=list_jailed(self.settings.sandbox))

    @cached_property
    def held_out(self) -> Path | None:
        """The folder of checks that agents do not see; None if there is none."""
        if not self.settings.held_out:
            return None
        from drumline.wiring.heldout import find_folder

        repository = self.repository
        return find_folder(self.settings.held_out, apart=(repository.top, repository.common_dir, self.worktrees))

    def check_agents(self, agent: str, steps: Iterable[Step]) -> None:
        """Refuse a run whose agent, or one that takes over or works on a step, cannot be opened; all are named."""
        from drumline.processes.supervised import SupervisedProcesses
        from drumline.wiring.agents import AgentRegistry

        registry = AgentRegistry(
            agent=agent,
            profiles=self.profiles,
            processes=SupervisedProcesses(self.state_dir, NO_DRIVER),
            base=self.repository.top,
            sandbox=self.settings.sandbox,
        )
        registry.open(agent)
        wanted = [("the setting fallback", name) for name in self.settings.fallback]
        named = ((step, name_agent(step, self.profiles)) for step in steps if not step.elsewhere)
        wanted += [(step.path or step.id, name) for step, name in named if name]
        problems = [f"{place}: {why}" for place, name in wanted if (why := registry.find_fault(name))]
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
        """Refuse to hear what a live driver of this repository has started.

        In a jail the drivers are hidden: there the git of an agent tells, or a place for runs that only can be read.
        """
        from drumline.app.inbox import check_speaker  # brings what decides, which a look does without
        from drumline.isolation.owngit import is_of_agent  # brings what only jails need

        hidden = os.path.ismount(self.state_dir) and not os.access(self.state_dir, os.W_OK)
        jailed = hidden or is_of_agent(self.repository.common_dir)
        check_speaker(self.roster.find_around(os.environ.get(MARK, ""), os.getpid()), jailed=jailed)

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
        """The plan a run was started with; a task and a flow have no plan files."""
        if not has_files(run.plan):
            from drumline.planfiles.task import TaskFiles

            return TaskFiles(run.plan)
        top, locks = self.repository.top, self.state_dir / "locks"
        return open_plan(top / run.begun.plan, repo=top, locks=locks, format=run.plan.format)

    def with_settings(
        self,
        flags: Mapping[str, object],
        plan: Mapping[str, object],
        foreign: Mapping[str, object] | None = None,
        *,
        kinds: Sequence[Check] = (),
    ) -> Project:
        """The same project with the settings of one command; `kinds` are commands that the plan names for them."""
        settings = resolve(flags, os.environ, plan, self.config, own=self.own, foreign=foreign)
        settings = replace(settings, kinds=(*settings.kinds, *kinds))
        if not settings.flow and has_own_flow(STEP_FLOW, top=self.repository.top):
            settings = replace(settings, flow=STEP_FLOW)
        return dataclasses.replace(self, settings=settings, given=list_given(flags, os.environ))

    def with_plan(self, plan: Plan) -> Project:
        """The same project with the commands that the plan names for kinds of checks."""
        return dataclasses.replace(self, settings=replace(self.settings, kinds=(*self.settings.kinds, *plan.kinds)))

    def logs(self, run: RunId) -> Path:
        """Where transcripts and check logs of a run are."""
        return self.state_dir / "runs" / run

    @property
    def worktrees(self) -> Path:
        """Where the worktrees of runs are."""
        configured = Path(self.settings.worktrees) if self.settings.worktrees else None
        return self.repository.worktrees_root(configured)

    @property
    def is_inplace(self) -> bool:
        """Whether runs that begin now work in the checkout itself."""
        return self.settings.work_in == Place.INPLACE.value

    def workspaces(self, run: RunState, *, started_at: float = 0.0, patterns: Sequence[str] = ()) -> GitWorkspaces:
        """The workspaces of a run; `patterns` match the files of its plan."""
        from drumline.workspace.checkoutspaces import CheckoutWorkspaces
        from drumline.workspace.workspaces import GitWorkspaces

        checkout = run.begun.checkout
        return (CheckoutWorkspaces if checkout else GitWorkspaces)(
            replace(self.repository, top=Path(checkout)) if checkout else self.repository,
            run=run.id,
            branch=run.begun.branch,
            root=self.worktrees,
            plan_patterns=patterns,
            started=int(started_at),
            git_limit=self.settings.git_timeout,
        )

    def watcher(self, store: SqliteStore, run: RunState, *, given: bool = False) -> Watcher:
        """Looks at a run for the views; a plan that is gone does not keep people from looking.

        If the fold is `given` to it, the watcher continues it, and the run is not read twice.
        """
        # Of a run that is over nobody reads the plan's files: what reads them is not even imported.
        reads = run.ended is None and has_files(run.plan) and (self.repository.top / run.begun.plan).exists()
        return Watcher(
            store=store,
            roster=self.roster,
            readings=Readings(planfiles=self.plan_of(run), cache=self.logs(run.id) / NAME) if reads else None,
            run=run.id,
            begun=run if given else None,
            stale_after=self.settings.stale_claim,
            recall=partial(self._recall, run.id),
            hear=partial(self._hear, self.logs(run.id)),
        )

    def _hear(self, logs: Path, step: StepId) -> Happened | None:
        """What the agent of a step told last; only runs that are looked at while they go on pay for reading it."""
        from drumline.app.hearing import hear_last

        return hear_last(logs / step)

    def _recall(self, run: RunId, path: str, digest: str) -> Flow:
        """A flow as the run first saw it; reading flows is paid for only where one is walked."""
        from drumline.flowfiles.library import FlowLibrary

        return FlowLibrary(top=self.repository.top, keep=self.logs(run) / "flows").recall(path, digest)

    def cleanup(self, store: SqliteStore | None, *, dry: bool = False) -> Cleanup:
        """Where leftovers of this repository are looked for; without a store only those in git and of drivers."""
        from drumline.app.leftovers import Cleanup

        return Cleanup(
            store=store,
            roster=self.roster,
            common_dir=self.repository.common_dir.resolve(),
            top=self.repository.top,
            worktrees=self.worktrees,
            open_workspaces=self.workspaces,
            dry=dry,
        )


def open_project(here: Path | None = None) -> Project:
    """The repository around a folder, with its configuration."""
    folder = (here or Path.cwd()).resolve()
    repository = find_repository(folder)
    config, path = read_config(folder, repository.top)
    own = read_own_config(os.environ)
    return Project(
        repository=repository,
        settings=resolve({}, os.environ, {}, config, own=own),
        own=own,
        given=list_given({}, os.environ),
        config=config,
        config_path=path,
        here=folder,
    )
