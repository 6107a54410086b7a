"""What is said once before agents begin. The rule: only what a person can do something about."""

from __future__ import annotations

from collections.abc import Iterable

from drumline.cli.output import say
from drumline.engine.outside import UNHELD

OWN = ("scripted",)
"""Agents that play what the user has written himself."""


def say_unjailed(agents: Iterable[str]) -> None:
    """Say what a real agent could do where the kernel does not hold it."""
    if all(agent.partition(":")[0] in OWN for agent in agents):
        return
    from drumline.agents.jail import find_jail

    if find_jail() is None:
        say(f"bubblewrap does not work here: {UNHELD}")
