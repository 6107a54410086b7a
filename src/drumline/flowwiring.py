"""The composition root of flows: which adapters stand behind the ports when a flow is walked or checked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from drumline.agents import list_names, open_agent
from drumline.agents.asking import connect
from drumline.agents.jail import tighten
from drumline.agents.sandbox import choose_jail
from drumline.app.flowcheck import FlowCheck
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.model import AgentNode, Flow, LlmNode
from drumline.core.ids import FLOW, DriverId, RunId, Tree
from drumline.core.state import RunState
from drumline.engine.flow.kit import FlowKit, Hands
from drumline.engine.questions import AskingAgent
from drumline.engine.redacted import RedactedAgent, RedactedModels, RedactedProcesses
from drumline.engine.tidying import CANCELLED
from drumline.errors import GitError, InvalidInput, NotAllowed
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles.library import FlowLibrary, find_flow
from drumline.flowfiles.reading import read_flow
from drumline.models import open_models
from drumline.models.choice import find_name_fault
from drumline.models.guard import GuardedAgent
from drumline.models.toolbox import LEGAL, OURS, SKILLS
from drumline.ports.agents import Agent
from drumline.ports.library import Callee
from drumline.ports.processes import Processes
from drumline.ports.trust import TRUSTING, Trust
from drumline.processes.census import MARK
from drumline.processes.supervised import SupervisedProcesses
from drumline.profiles import COMMAND_NAME, DEFAULT, PLACE, Profile, Profiles, find_loan, read_profiles
from drumline.protection import REQUIRED
from drumline.record import replace
from drumline.schemas.checking import JsonSchemas
from drumline.settings import TOOL
from drumline.skills.folders import FolderSkills, search_path
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Site, SystemClock, find_price
from drumline.workspace.fingerprint import Print, compare_fingerprints, take_fingerprint
from drumline.workspace.workspaces import GitWorkspaces
from drumline.workspace.worktrees import file_name

BUILTIN = "builtin"
TOOLS = (*LEGAL, *OURS, SKILLS)
"""The tools that models can have, by the names that flows use."""


def open_skills(top: Path) -> FolderSkills:
    """The skills of the repository at `top`, of the user, and the shipped ones."""
    return FolderSkills(places=search_path(top, os.environ), top=top)


def describe_surroundings(
    top: Path | None, config: Mapping[str, object], *, folder: Path | None = None
) -> Surroundings:
    """What a flow may rely on here: the language of conditions and schemas, the servers and skills there are.

    With the `folder` of the flow, names of agents are judged, too; a run tells of them when it comes to them.
    """
    skills = open_skills(top or Path.cwd())
    profiles = read_profiles(config)

    def find_agent_fault(name: str) -> str:
        if folder is None or name == DEFAULT or ":" in name or name in profiles.agents or name in list_names():
            return ""
        return "" if find_flow(name, around=folder, top=top or folder) else f"no agent or flow is called {name!r}"

    def find_skill_fault(name: str, path: str) -> str:
        try:
            skills.near(Path(path).parent).find_skill(name)
        except InvalidInput as error:
            return str(error)
        return ""

    return Surroundings(
        parse_expression=SafeExpressions().check,
        find_schema_fault=JsonSchemas().check,
        find_check_fault=lambda check: find_check_fault(check, profiles.commands),
        find_agent_fault=find_agent_fault,
        find_model_fault=find_name_fault,
        tools=TOOLS,
        mcp_servers=list(profiles.mcp),
        find_skill_fault=find_skill_fault,
    )


def open_check(top: Path | None, config: Mapping[str, object]) -> FlowCheck:
    """Checks flows of the repository at `top`, or outside of any, with those that they call."""
    return FlowCheck(
        top=top or Path.cwd(),
        describe=lambda folder: describe_surroundings(top, config, folder=folder),
        agents=tuple(read_profiles(config).agents),
    )


def find_check_fault(check: str, commands: Mapping[str, str]) -> str:
    """Why a check that is one word cannot be run: it is neither named in the configuration nor a program here."""
    if check in commands or not COMMAND_NAME.fullmatch(check) or shutil.which(check):
        return ""
    close = get_close_matches(check, commands, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"name it in [commands] of {PLACE}, or write the command"
    return f"no check and no program is called {check!r}; {advice}"


def open_library(site: Site, keep: Path, *, override: str = "") -> FlowLibrary:
    """Finds flows and agents by name for one run, whose copies of flows are in `keep`."""
    return FlowLibrary(
        top=site.repository.top,
        keep=keep,
        profiles=read_profiles(site.config),
        default=site.settings.agent,
        override=override,
        known=tuple(list_names()),
        around=describe_surroundings(site.repository.top, site.config),
    )


def open_flow_kit(
    site: Site, store: SqliteStore, run: RunState, *, started_at: float, trust: Trust = TRUSTING
) -> FlowKit:
    """Everything a driver of this flow run works with."""
    pinned = run.flow
    if pinned is None:
        raise NotAllowed(f"run {run.id} walks no flow", hint=f"drumline resume {run.id}")
    profiles = read_profiles(site.config)
    agent = pinned.agent or site.settings.agent

    def equip(driver: DriverId) -> Hands:
        if delivery is not None:
            delivery.workspaces.mark_processes({MARK: driver})
        return _equip(site, driver, profiles, agent=agent)

    delivery = _Delivery(site, run, started_at=started_at) if pinned.worktree else None
    kit = FlowKit(
        store=store,
        roster=site.roster,
        clock=SystemClock(),
        library=open_library(site, site.logs(run.id) / "flows", override=pinned.agent),
        expressions=SafeExpressions(),
        schemas=JsonSchemas(),
        skills=open_skills(site.repository.top),
        tools=TOOLS,
        mcp_servers=list(profiles.mcp),
        logs=site.logs(run.id),
        equip=equip,
        commands=profiles.commands,
        price=find_price,
        agent_idle=site.settings.agent_idle,
        fallback=_find_fallback(run.begun.fallback, run.begun.profiles, agent=agent),
        quota_wait=site.settings.quota_wait,
        redaction=site.redaction,
        trust=trust,
        base=site.repository.top,
    )
    if delivery is None:
        return replace(kit, watch=_Onlooker(site.repository.top))
    return replace(kit, prepare=delivery.prepare, deliver=delivery.deliver, watch=delivery)


def check_flow_agents(site: Site, library: FlowLibrary, flow: Flow) -> list[str]:
    """Refuse a flow before it begins if one of its agents, or one that takes over, is not there; all are named.

    Flows that it calls count, too, as far as they can be read. Returns the agents that the nodes name.
    """
    problems: dict[str, str] = {}
    specs: list[str] = []
    for place, name in _list_agent_nodes(library, flow):
        try:
            callee = library.find_callee(name, around=Path(place.path).parent)
            if callee.flow is None:
                site.check_agent(callee.agent)
                specs.append(callee.agent)
        except InvalidInput as error:
            problems.setdefault(str(error), error.hint)
    for name, callee in _find_fallback(site.settings.fallback, site.profiles, agent=site.settings.agent).items():
        try:
            site.check_agent(callee.agent)
        except InvalidInput as error:
            problems.setdefault(f"the setting fallback: {name}: {error}", error.hint)
    if site.settings.sandbox == REQUIRED and any(_starts_commands(one) for one in list_flows(library, flow)):
        choose_jail(REQUIRED)
    if problems:
        raise InvalidInput("\n".join(problems), hint=next(iter(problems.values())))
    return specs


def _starts_commands(flow: Flow) -> bool:
    """Whether a model of the flow may start something: it has tools or servers."""
    nodes = [node for node in flow.nodes.values() if isinstance(node, LlmNode)]
    shared = bool(flow.global_tools or flow.mcp_servers)
    return any(node.tools or (node.tools is None and shared) for node in nodes)


def _list_agent_nodes(library: FlowLibrary, flow: Flow) -> Iterator[tuple[Flow, str]]:
    """The names that the agent nodes of a flow have for who does the work, and those of the flows it calls."""
    for one in list_flows(library, flow):
        yield from ((one, name) for name in _name_agents(one))


def _name_agents(flow: Flow) -> list[str]:
    return list(dict.fromkeys(node.agent for node in flow.nodes.values() if isinstance(node, AgentNode)))


def list_flows(library: FlowLibrary, flow: Flow) -> list[Flow]:
    """The flow and those it calls, as far as they can be read."""
    waiting, seen = [flow], {flow.path}
    for one in waiting:  # grows while it is walked
        for name in _name_agents(one):
            called = find_flow(name, around=Path(one.path).parent, top=library.top)
            if called is None or str(called) in seen or name in library.profiles.agents:
                continue
            seen.add(str(called))
            if (inner := read_flow(called).flow) is not None:
                waiting.append(inner)
    return waiting


def _find_fallback(names: Sequence[str], profiles: Mapping[str, Mapping[str, str]], *, agent: str) -> dict[str, Callee]:
    """Those who take over, by name: a profile that names no agent is the run's own with another model."""
    found: dict[str, Callee] = {}
    for name in names:
        profile = profiles.get(name, {"agent": name})
        spec = profile.get("agent", "") or profiles.get(agent, {}).get("agent", "") or agent
        found[name] = Callee(agent=spec, tier=profile.get("tier", ""), model=profile.get("model", ""))
    return found


def _equip(site: Site, driver: DriverId, profiles: Profiles, *, agent: str) -> Hands:
    """What one driver works with; nothing that is said through it has secrets in it."""
    supervised = SupervisedProcesses(site.roster.home(driver), driver)
    processes = RedactedProcesses(processes=supervised, redaction=site.redaction)

    def open_named(spec: str) -> Agent:
        guarded = _open_guarded(spec, site, profiles, processes=processes)
        return RedactedAgent(agent=AskingAgent(agent=guarded), redaction=site.redaction)

    # A model with our tools is what the built-in agent is: what that is lent, its commands may have here.
    loan = find_loan(profiles.agents, "", BUILTIN)
    models = open_models(
        open_agent=open_named,
        processes=processes,
        default=profiles.model,
        tiers=profiles.tiers,
        servers=list(profiles.mcp.values()),
        agent=agent,
        find_jail=lambda: tighten(choose_jail(site.settings.sandbox), loan),
        loan=loan,
    )
    redacted = RedactedModels(models=models, redaction=site.redaction)
    return Hands(processes=processes, models=redacted, open_agent=open_named)


def _open_guarded(spec: str, site: Site, profiles: Profiles, *, processes: Processes) -> Agent:
    """An agent by its spec, with the models and servers configured for it; where it may only read, it is watched."""
    own = profiles.agents.get(spec.partition(":")[0], Profile())
    loan = find_loan(profiles.agents, "", spec)
    open_with = partial(
        open_agent,
        spec,
        processes=processes,
        base=site.repository.top,
        tiers=own.tiers,
        loan=loan,
        sandbox=site.settings.sandbox,
    )
    tool = site.settings.questions == TOOL
    return GuardedAgent(agent=connect(spec, open_with=open_with, servers=profiles.mcp, tool=tool))


class _Onlooker:
    """The user's own folder: what changes there is seen and left alone."""

    ours = False

    def __init__(self, top: Path) -> None:
        self._top = top
        self._seen: Mapping[str, Print] | None = None

    async def begin(self) -> None:
        """Remember what is there."""
        self._seen = await self._look()

    async def find_changes(self) -> Mapping[str, str]:
        """Paths that changed since."""
        before, self._seen = self._seen, await self._look()
        return compare_fingerprints(before, self._seen) if before is not None and self._seen is not None else {}

    async def _look(self) -> Mapping[str, Print] | None:
        try:
            return await take_fingerprint(self._top)
        except GitError:  # a git that cannot look is no reason for a check to fail
            return None


class _Delivery:
    """A worktree of the run's own, whose work becomes a commit on the run's branch if the flow ends well.

    What a check changes in it is undone.
    """

    ours = True

    def __init__(self, site: Site, run: RunState, *, started_at: float) -> None:
        self._run = run
        self._tree: Tree | None = None
        self.workspaces = flow_workspaces(site, run, started_at=started_at)

    async def prepare(self, first: bool) -> None:
        """Make the branch and the worktree; later, make it again if it was removed after the run was cancelled."""
        base = self._run.begun.base
        if first:
            await self.workspaces.start(base)
            await self.workspaces.prepare(FLOW, base)
        elif not self.workspaces.path(FLOW).exists():
            await self.workspaces.reopen(FLOW, CANCELLED, base=base)

    async def begin(self) -> None:
        """Remember what is there."""
        self._tree = await self.workspaces.snapshot(FLOW, base=self._run.begun.base)

    async def find_changes(self) -> Mapping[str, str]:
        """Paths that changed since, which are as they were again."""
        if self._tree is None:
            return {}
        return await self.workspaces.clean(FLOW, self._tree, base=self._run.begun.base)

    async def deliver(self, ended: FlowEnded) -> None:
        """Commit what was done; a flow that did not end well leaves its worktree as it is."""
        base = self._run.begun.base
        if ended.status != "done" or not self.workspaces.path(FLOW).exists():
            return
        tree = await self.workspaces.snapshot(FLOW, base=base)
        if await self.workspaces.changed(base, tree):
            message = f"{self._run.begun.plan_name}: {ended.node}"
            commit = await self.workspaces.commit(FLOW, tree, base=base, message=message)
            landing = await self.workspaces.land(FLOW, commit, head=base)
            if landing.commit is None:  # the worktree stays: it holds the only copy of the work
                why = landing.refusal or f"conflicts in {', '.join(landing.conflicts)}"
                raise GitError(f"the flow's work could not be landed: {why}", hint=f"git log {commit}")
        await self.workspaces.remove(FLOW)


def flow_folder(site: Site, run: RunId) -> Path:
    """The folder in a flow run's own worktree that stands for the one we are in."""
    root = site.repository.worktrees_root(_configured(site)) / file_name(run) / file_name(FLOW)
    here = site.here
    return root / here.relative_to(site.repository.top) if here.is_relative_to(site.repository.top) else root


def flow_workspaces(site: Site, run: RunState, *, started_at: float) -> GitWorkspaces:
    """Where the worktree of a flow run is."""
    return GitWorkspaces(
        site.repository,
        run=run.id,
        branch=run.begun.branch,
        root=site.repository.worktrees_root(_configured(site)),
        plan_paths=[],
        started=int(started_at),
        git_limit=site.settings.git_timeout,
    )


def _configured(site: Site) -> Path | None:
    return Path(site.settings.worktrees) if site.settings.worktrees else None
