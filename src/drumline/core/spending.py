"""What agents have used, and whether the next one may be launched.

The rule: work whose cost nobody knows is unpriced. It counts as nothing against a budget and is never shown as free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drumline.core import gates
from drumline.core.events import UsageCounted
from drumline.core.ids import StepId
from drumline.core.state import Gate, RunState
from drumline.core.vocabulary import GateKind
from drumline.record import Record

COST = "cost_usd"
ATTEMPTS = "attempts"
UNPRICED = "unpriced"
REPLAYED = "replayed"
"""Counts attempts whose usage a recording tells: it was paid for when that was made."""
Usage = Mapping[str, float]


class SpendingPermission(Record):
    """A person's permission for further spending, or refusal, and what was spent by then; old journals do not tell."""

    choice: str
    spent: float | None = None


def add_up(usages: Iterable[Usage]) -> dict[str, float]:
    """The sum of several counts, name by name."""
    total: dict[str, float] = {}
    for usage in usages:
        for name, amount in usage.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def count_attempt(usage: Usage) -> dict[str, float]:
    """One attempt's usage as it is added to a total: with itself counted, and with whether its cost is known."""
    return {**usage, ATTEMPTS: 1.0, **({} if COST in usage else {UNPRICED: 1.0})}


def count_usage(step: StepId, agent: str, spent: Usage) -> list[UsageCounted]:
    """What the run records of all that an agent has used for a step; nothing while nobody counts it."""
    counted = spent.keys() - {ATTEMPTS, UNPRICED}
    return [UsageCounted(step=step, agent=agent, usage=spent)] if counted else []


def sum_run(run: RunState) -> dict[str, float]:
    """What the whole run has used."""
    return add_up(usage for agents in run.usage.values() for usage in agents.values())


def sum_step(run: RunState, step: StepId) -> dict[str, float]:
    """What one step has used."""
    return add_up(run.usage.get(step, {}).values())


def sum_agents(run: RunState) -> dict[str, dict[str, float]]:
    """What each agent has used, by name."""
    names = dict.fromkeys(name for agents in run.usage.values() for name in agents)
    return {
        name or run.begun.agent: add_up(agents[name] for agents in run.usage.values() if name in agents)
        for name in names
    }


def count_left(run: RunState, step: StepId, own: Iterable[Usage]) -> float | None:
    """Dollars that may still be spent; None without a budget. `own` is the step's count, newer than the run's."""
    budget = run.begun.budget
    return None if budget is None else count_allowed(budget, list_permissions(run)) - count_spent(run, step, own)


def count_spent(run: RunState, step: StepId, own: Iterable[Usage]) -> float:
    """Dollars that the whole run has spent. `own` is the step's count, newer than the run's."""
    others = add_up(usage for name, agents in run.usage.items() if name != step for usage in agents.values())
    return others.get(COST, 0.0) + add_up(own).get(COST, 0.0)


def count_allowed(budget: float, leaves: Iterable[SpendingPermission]) -> float:
    """Dollars that may be spent in all: the budget once, and after each yes once more than what was spent by then."""
    allowed = budget
    for leave in leaves:
        if leave.choice == gates.YES:
            allowed = budget + (allowed if leave.spent is None else max(allowed, leave.spent))
    return allowed


def is_refused(run: RunState) -> bool:
    """Whether a person said that no more money may be spent, and has not tried a step again since."""
    return any(leave.choice == gates.NO for leave in list_permissions(run))


def count_asked(run: RunState) -> int:
    """How many questions about the budget were answered."""
    return len(list_permissions(run))


def list_permissions(run: RunState) -> list[SpendingPermission]:
    """What was answered to the questions about the budget, oldest first."""
    asked = (gate for gate in run.gates.values() if gate.opened.kind is GateKind.BUDGET)
    return [
        SpendingPermission(choice=gate.answer.choice, spent=_spent_by(gate))
        for gate in asked
        if gate.answer is not None
    ]


def _spent_by(gate: Gate) -> float | None:
    """What was spent when a question about money was answered, or, as old journals have it, put."""
    told = [one.spent for one in (gate.opened, gate.answer) if one is not None and one.spent is not None]
    return max(told, default=None)
