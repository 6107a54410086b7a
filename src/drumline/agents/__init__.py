"""Agents by name. The rule: an agent's module is imported only when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast

from drumline.errors import InvalidInput
from drumline.ports.agents import Agent
from drumline.ports.processes import Processes
from drumline.protection import AUTO, REQUIRED
from drumline.record import replace

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from drumline.agents.jail import Jail
    from drumline.agents.program import Program
    from drumline.profiles import Grant, McpServer


class Opener(Protocol):
    """Makes an agent from what stands behind the colon of its spec."""

    def __call__(self, argument: str, *, processes: Processes, base: Path) -> Agent:
        """The agent, or InvalidInput naming everything that is wrong with the argument."""
        ...


class Outfitter(Protocol):
    """Makes an agent of ours that is not a program on the command line, but needs what those have."""

    def __call__(
        self,
        argument: str,
        *,
        processes: Processes,
        base: Path,
        tiers: Mapping[str, str],
        servers: Mapping[str, McpServer],
        jail: Jail | None,
        grant: Grant,
    ) -> Agent:
        """The agent, or InvalidInput naming everything that is wrong with the argument."""
        ...


AGENTS: Mapping[str, str] = MappingProxyType(
    {
        "scripted": "drumline.agents.scripted:open_scripted",
        "command": "drumline.agents.command:open_command",
        "acp": "drumline.agents.acp:open_acp",
    }
)
"""Agents that need an argument, each with its Opener."""
PROGRAMS: Mapping[str, str] = MappingProxyType(
    {
        "claude": "drumline.agents.claude:PROGRAM",
        "codex": "drumline.agents.codex:PROGRAM",
        "gemini": "drumline.agents.gemini:PROGRAM",
        "opencode": "drumline.agents.opencode:PROGRAM",
        "qwen": "drumline.agents.qwen:PROGRAM",
        "goose": "drumline.agents.goose:PROGRAM",
        "copilot": "drumline.agents.copilot:PROGRAM",
        "builtin": "drumline.models.builtin:open_builtin",
    }
)
"""Agents whose argument is a model and may be left out, each with its Program or Opener."""
EXAMPLES: Mapping[str, str] = MappingProxyType(
    {"scripted": "scripted:FILE", "command": "command:CMD", "acp": "acp:CMD"}
)
EQUIPPED = frozenset({"acp", "builtin", "command"})
"""Agents whose opener is an Outfitter."""
GROUP = "drumline.agents"
"""The entry points by which other packages bring agents: each names a Program or an Opener."""
HINT = "drumline run PLAN --agent 'command:my-agent --print'"


def open_agent(
    spec: str,
    *,
    processes: Processes,
    base: Path,
    tiers: Mapping[str, str] | None = None,
    servers: Mapping[str, McpServer] | None = None,
    grant: Grant | None = None,
    sandbox: str = AUTO,
) -> Agent:
    """The agent that a spec such as `claude`, `codex:MODEL`, `scripted:FILE`, `command:CMD` or `acp:CMD` names.

    FILE is relative to `base`. `tiers` are models and `servers` MCP servers for agents that are programs; `grant` is
    what such a program may see and write to beside its own. `sandbox` is the setting of that name.
    """
    name, colon, argument = spec.partition(":")
    if (colon and not argument.strip()) or (name in AGENTS and not colon):
        raise _refuse(spec)
    found = load(name)
    if found is None:
        raise _refuse(spec)
    if callable(found) and name not in EQUIPPED:
        if sandbox == REQUIRED:
            from drumline.agents.sandbox import refuse_unjailed

            refuse_unjailed(name, sandbox)
        return found(argument, processes=processes, base=base)
    from drumline.agents.cli import open_program
    from drumline.agents.jail import tighten
    from drumline.agents.sandbox import choose_jail
    from drumline.profiles import NOTHING

    grant = grant or NOTHING
    jail = tighten(choose_jail(sandbox), grant)
    if callable(found):
        outfit = cast("Outfitter", found)
        return outfit(
            argument,
            processes=processes,
            base=base,
            tiers=tiers or {},
            servers=servers or {},
            jail=jail,
            grant=grant,
        )
    program = replace(found, keep=(*found.keep, *grant.env), folders=(*found.folders, *grant.folders))
    try:
        return open_program(program, processes=processes, jail=jail, model=argument, tiers=tiers, servers=servers)
    except InvalidInput as error:
        here = ", ".join(list_installed()) or "none"
        raise InvalidInput(f"{error} (agents installed here: {here})", hint=error.hint) from error


def load(name: str) -> Program | Opener | None:
    """What stands behind the name of an agent, or None if nobody has heard of it."""
    place = AGENTS.get(name) or PROGRAMS.get(name)
    if place is None:
        return _load_foreign(name)
    module, _, value = place.partition(":")
    return cast("Program | Opener", getattr(import_module(module), value))


def list_names() -> list[str]:
    """Every agent there is, our own first."""
    return [*PROGRAMS, *AGENTS, *sorted(_find_foreign().keys() - PROGRAMS.keys() - AGENTS.keys())]


def list_installed() -> list[str]:
    """Our own programs that are on this machine."""
    from drumline.agents.cli import find_executable
    from drumline.agents.program import Program

    programs = {name: load(name) for name in PROGRAMS}
    return [name for name, found in programs.items() if isinstance(found, Program) and find_executable(found)]


def _load_foreign(name: str) -> Program | Opener | None:
    point = _find_foreign().get(name) if name else None
    if point is None:
        return None
    try:
        found = point.load()
    except (Exception, SystemExit) as error:  # what runs there is theirs, and so is whatever it raises
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message = f"the agent {name!r} cannot be loaded from {point.value}{_name_package(point)}: {why}"
        raise InvalidInput(message, hint=HINT) from error
    from drumline.agents.program import Program

    if isinstance(found, Program) or callable(found):
        return cast("Program | Opener", found)
    raise InvalidInput(f"the agent {name!r} is neither a Program nor an Opener: {point.value}", hint=HINT)


def _name_package(point: EntryPoint) -> str:
    return f" of the package {point.dist.name}" if point.dist is not None else ""


def _find_foreign() -> Mapping[str, EntryPoint]:
    """The agents of other packages, by name; asked only when ours do not suffice, as it takes a while."""
    return _look_for_foreign(tuple(sys.path))


@lru_cache(maxsize=1)
def _look_for_foreign(path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """What the packages in these folders bring: each is looked into once per process."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


def _refuse(spec: str) -> InvalidInput:
    from difflib import get_close_matches

    names = list_names()
    legal = ", ".join([EXAMPLES[name] for name in AGENTS] + [f"{name}[:MODEL]" for name in names if name not in AGENTS])
    close = get_close_matches(spec.partition(":")[0], names, n=1)
    meant = f"; the nearest is {close[0]!r}" if close else ""
    return InvalidInput(f"{spec!r} does not name an agent{meant} (legal: {legal})", hint=HINT)
