"""Collects what formats that keep books want to know of a run: when steps began and ended, and what agents said."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core import events as ev
from drumline.core.ids import StepId
from drumline.core.recorded import Recorded
from drumline.core.schedule import settled
from drumline.core.state import RunState
from drumline.engine.outbox import iso
from drumline.ports.planfiles import Account, StepAccount


class Books:
    """Learns from every event it is shown; forgets nothing while the driver lives."""

    def __init__(self) -> None:
        self._started: dict[StepId, float] = {}
        self._finished: dict[StepId, float] = {}
        self._said: dict[StepId, str] = {}

    def note(self, recorded: Sequence[Recorded]) -> None:
        """Take in events in journal order."""
        for entry in recorded:
            match entry.event:
                case ev.StepStarted(step=step):
                    self._started[step] = entry.at
                case ev.StepFinished(step=step):
                    self._finished[step] = entry.at
                case ev.AttemptEnded(message=message):
                    self._said[entry.stream.step] = message
                case _:
                    continue

    def account(self, run: RunState, now: float) -> Account:
        """The run as its books should show it."""
        touched = [step.id for step in run.plan.steps if step.id in run.working or settled(run, step.id)]
        state = run.ended.state if run.ended else "parked" if run.parked else "running"
        steps = [self._step(run, step) for step in touched if step not in run.declared]
        return Account(run=run.id, state=state, mode=run.mode, now=iso(now), steps=steps)

    def _step(self, run: RunState, step: StepId) -> StepAccount:
        started = self._started.get(step)
        finished = run.finished.get(step)
        if finished is None:
            return StepAccount(step=step, state="running", started=iso(started) if started else "")
        ended = self._finished.get(step)
        gone = {*finished.created, *finished.deleted}
        return StepAccount(
            step=step,
            state=finished.state,
            started=iso(started) if started else "",
            finished=iso(ended) if ended else "",
            created=finished.created,
            modified=tuple(path for path in finished.files if path not in gone),
            deleted=finished.deleted,
            retries=max(0, finished.attempts - 1),
            error=finished.reason if finished.state in ("blocked", "failed") else "",
            said=self._said.get(step, ""),
            usage=finished.usage,
        )
