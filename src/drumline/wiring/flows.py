"""Which adapters stand behind the ports when a flow is walked or checked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from drumline.agents import list_names
from drumline.agents.sandbox import choose_jail
from drumline.app.flowcheck import FlowCheck
from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.model import (
    NO_LANDING,
    RUN_FLOWS,
    AgentNode,
    Flow,
    LlmNode,
    is_for_runs,
    is_for_steps,
    needs_plan,
)
from drumline.core.ids import FLOW, NO_DRIVER, RunId
from drumline.core.reviewers import REVIEWER
from drumline.core.state import RunState
from drumline.engine.flow.stepflow import USUAL_FLOW
from drumline.engine.services import FlowServices
from drumline.errors import GitError, InvalidInput
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles.library import SHIPPED, FlowLibrary, find_flow, open_flow
from drumline.flowfiles.reading import read_flow
from drumline.models.choice import find_name_fault
from drumline.models.toolbox import LEGAL, OURS, SKILLS
from drumline.processes.supervised import SupervisedProcesses
from drumline.profiles import COMMAND_NAME, DEFAULT, OTHER, PLACE, read_profiles
from drumline.protection import REQUIRED
from drumline.schemas.checking import JsonSchemas
from drumline.skills.folders import FolderSkills, search_path
from drumline.wiring.agents import AgentRegistry
from drumline.wiring.project import Project
from drumline.workspace.fingerprint import Print, compare_fingerprints, take_fingerprint
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
        known = (DEFAULT, OTHER, REVIEWER, *profiles.agents, *list_names())
        if folder is None or ":" in name or name in known:
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


def open_library(project: Project, keep: Path, *, override: str = "") -> FlowLibrary:
    """Finds flows and agents by name for one run, whose copies of flows are in `keep`."""
    return FlowLibrary(
        top=project.repository.top,
        keep=keep,
        profiles=read_profiles(project.config),
        default=project.settings.agent,
        override=override,
        list_known=list_names,
        around=describe_surroundings(project.repository.top, project.config),
    )


def open_flow_services(project: Project, run: RunState) -> FlowServices:
    """What a walk of a flow in this run works with, beside what every run has."""
    pinned = "" if run.lands else run.begun.agent
    profiles = read_profiles(project.config)
    registry = _open_registry(project, run.begun.profiles, agent=pinned or project.settings.agent)
    return FlowServices(
        library=open_library(project, project.logs(run.id) / "flows", override=pinned),
        expressions=SafeExpressions(),
        schemas=JsonSchemas(),
        skills=open_skills(project.repository.top),
        tools=TOOLS,
        mcp_servers=list(profiles.mcp),
        commands=run.begun.commands or profiles.commands,
        watch=_Onlooker(project.repository.top),
        fallback=registry.find_all(run.begun.fallback),
    )


def open_walked_flows(project: Project, names: Iterable[str]) -> list[list[Flow]]:
    """The flows of the repository that a run of a plan walks, each with those it calls: those that its steps name, and
    those that stand in for a shipped one. InvalidInput if one is not there, broken, or lands nothing.
    """
    library = open_library(project, project.state_dir / "flows")
    found: list[list[Flow]] = []
    named = tuple(names)
    for name in dict.fromkeys((*named, USUAL_FLOW, *RUN_FLOWS)):
        path = library.locate(name)
        if name not in named and path.is_relative_to(SHIPPED):
            continue
        flow, _ = open_flow(path, around=describe_surroundings(library.top, project.config, folder=path.parent))
        if not is_for_runs(flow) and not is_for_steps(flow):
            raise InvalidInput(f"a step cannot walk the flow {name!r}: {NO_LANDING}", hint="drumline flow graph step")
        found.append(list_flows(library, flow))
    return found


def check_flow_agents(project: Project, library: FlowLibrary, flow: Flow) -> list[str]:
    """Refuse a flow before it begins if one of its agents, or one that takes over, is not there; all are named.

    Flows that it calls count, too, as far as they can be read. Returns the agents that the nodes name.
    """
    if needs_plan(flow):
        message = f"the flow {flow.name!r} is for steps of plans: it has a `workspace` or `land` node"
        raise InvalidInput(message, hint=f"drumline run PLAN --flow {flow.name}")
    problems: dict[str, str] = {}
    specs: list[str] = []
    for place, name in _list_agent_nodes(library, flow):
        try:
            callee = library.find_callee(name, around=Path(place.path).parent)
            if callee.flow is None:
                project.check_agent(callee.agent)
                specs.append(callee.agent)
        except InvalidInput as error:
            problems.setdefault(str(error), error.hint)
    registry = _open_registry(project, project.profiles, agent=project.settings.agent)
    for name in project.settings.fallback:
        try:
            project.check_agent(registry.find(name).agent)
        except InvalidInput as error:
            problems.setdefault(f"the setting fallback: {name}: {error}", error.hint)
    if project.settings.sandbox == REQUIRED and any(_starts_commands(one) for one in list_flows(library, flow)):
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


def _open_registry(project: Project, profiles: Mapping[str, Mapping[str, str]], *, agent: str) -> AgentRegistry:
    processes = SupervisedProcesses(project.state_dir, NO_DRIVER)
    return AgentRegistry(agent=agent, profiles=profiles, processes=processes, base=project.repository.top)


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
        except GitError:  # a git that cannot look is not a reason for a check to fail
            return None


def flow_folder(project: Project, run: RunId) -> Path:
    """The folder in a flow run's own worktree that stands for the one we are in."""
    root = project.worktrees / file_name(run) / file_name(FLOW)
    here = project.here
    return root / here.relative_to(project.repository.top) if here.is_relative_to(project.repository.top) else root
