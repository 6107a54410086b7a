"""What a driver needs to know about the step it holds: who works on it, and what judges it."""

from __future__ import annotations

from drumline.core.plan import Check, Step
from drumline.core.routing import Candidate, list_workers
from drumline.core.state import RunState
from drumline.record import Record


class Orders(Record):
    """A step of a run as those see it who decide about it and act for it."""

    step: Step
    checks: tuple[Check, ...]
    agents: tuple[Candidate, ...]
    retries: int
    autonomy: str


def orders_for(run: RunState, step: Step) -> Orders:
    """The step with every check that judges it: its own, then the configured ones."""
    extra = tuple(Check(command=command, source="config") for command in run.begun.checks)
    return Orders(
        step=step,
        checks=step.checks + extra,
        agents=list_workers(run, step),
        retries=run.begun.retries,
        autonomy=run.begun.autonomy,
    )
