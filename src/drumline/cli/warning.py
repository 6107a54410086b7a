"""What is said once before agents begin. The rule: only what a person can do something about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from drumline.cli.output import say
from drumline.core.plan import Step
from drumline.core.routing import name_agent
from drumline.isolation.outside import UNHELD
from drumline.protection import OFF

OWN = ("scripted",)
"""Agents that play what the user has written himself."""


def name_specs(
    names: Iterable[str], steps: Iterable[Step], profiles: Mapping[str, Mapping[str, str]]
) -> dict[str, None]:
    """The agents that may work, each by its spec: those named, and those of steps that are run here."""
    named = [*names, *(name_agent(step, profiles) for step in steps if not step.elsewhere)]
    return dict.fromkeys(profiles.get(name, {}).get("agent", name) for name in named if name)


def say_unjailed(agents: Iterable[str], *, sandbox: str) -> None:
    """Say what a real agent could do where no sandbox holds it, and how to get one."""
    if all(agent.partition(":")[0] in OWN for agent in agents):
        return
    if sandbox == OFF:
        say(f"the sandbox is off: {UNHELD}")
        return
    from drumline.agents.sandbox import choose_jail, explain_absence

    if choose_jail(sandbox) is None:
        absence = explain_absence()
        say(f"bubblewrap {absence.reason} (next: {absence.hint}): {UNHELD}")


def say_uncommitted(changed: Sequence[str]) -> None:
    """Say that changes of the checkout are not part of a run."""
    if changed:
        word = "change is" if len(changed) == 1 else "changes are"
        say(f"{len(changed)} uncommitted {word} not part of the run and untouched in your checkout")
