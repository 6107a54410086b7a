"""Agents by name. The rule: an agent's module is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from drumline.errors import InvalidInput
from drumline.ports.agents import Agent
from drumline.ports.processes import Processes


class Opener(Protocol):
    """Makes an agent from what stands behind the colon of its spec."""

    def __call__(self, argument: str, *, processes: Processes, base: Path) -> Agent:
        """The agent, or InvalidInput naming everything that is wrong with the argument."""
        ...


AGENTS: Mapping[str, str] = MappingProxyType(
    {
        "scripted": "drumline.agents.scripted:open_scripted",
        "command": "drumline.agents.command:open_command",
    }
)
EXAMPLES: Mapping[str, str] = MappingProxyType({"scripted": "scripted:FILE", "command": "command:CMD"})
HINT = "drumline run PLAN --agent 'command:my-agent --print'"


def open_agent(spec: str, *, processes: Processes, base: Path) -> Agent:
    """The agent that a spec such as `scripted:FILE` or `command:CMD` names; FILE is relative to `base`."""
    name, colon, argument = spec.partition(":")
    if name not in AGENTS or not colon or not argument.strip():
        legal = ", ".join(EXAMPLES[known] for known in AGENTS)
        raise InvalidInput(f"{spec!r} does not name an agent (legal: {legal})", hint=HINT)
    module, _, function = AGENTS[name].partition(":")
    opener: Opener = getattr(import_module(module), function)
    return opener(argument, processes=processes, base=base)
