"""What a run, its steps and its agents have used. The rule: an attempt that a dead driver left open is in it."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core import spending
from drumline.core.ids import StepId
from drumline.core.life import Phase
from drumline.core.routing import spell_agent
from drumline.core.spending import add_up, count_attempt
from drumline.views.snapshot import Snapshot


def sum_run(snapshot: Snapshot) -> dict[str, float]:
    """What the whole run has used."""
    usage = {step: agents.values() for step, agents in snapshot.run.usage.items() if step not in snapshot.walks}
    walked = (walk.usage for walk in snapshot.walks.values())
    left = (usage for _, _, usage in _list_open(snapshot))
    return add_up((*(one for agents in usage.values() for one in agents), *walked, *left))


def sum_step(snapshot: Snapshot, step: StepId) -> dict[str, float]:
    """What one step has used."""
    if step in snapshot.walks:
        return dict(snapshot.walks[step].usage)
    left = (usage for name, _, usage in _list_open(snapshot) if name == step)
    return add_up((spending.sum_step(snapshot.run, step), *left))


def sum_agents(snapshot: Snapshot) -> dict[str, dict[str, float]]:
    """What each agent has used, by name; the nodes of a flow name theirs themselves."""
    found = spending.sum_agents(snapshot.run)
    for _, agent, usage in _list_open(snapshot):
        found[agent] = add_up((found.get(agent, {}), usage))
    return {name: usage for name, usage in found.items() if name}


def _list_open(snapshot: Snapshot) -> list[tuple[StepId, str, Mapping[str, float]]]:
    """Attempts that nobody works on any more and nobody has closed yet, each with its step and its agent."""
    return [
        (step, spell_agent(snapshot.run, state.agent), count_attempt(state.metered.usage))
        for step, state in snapshot.steps.items()
        if state.phase is Phase.WORKING and state.metered is not None and step not in snapshot.owners
    ]
