"""Collects what progress reports need to know of a run: when steps began and ended, and what agents said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core import events as ev
from drumline.core.checkfailure import CheckFailure
from drumline.core.ids import StepId
from drumline.core.needs import settled
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.core.taxonomy import Failure
from drumline.core.vocabulary import StepEnd
from drumline.ports.planfiles import ProgressReport, StepFailure, StepProgress, Trouble
from drumline.record import replace
from drumline.walltimes import write_iso

_OF_ATTEMPTS: Mapping[str, Trouble] = {
    Failure.VALIDATION.value: Trouble.WORK,
    Failure.TIMEOUT.value: Trouble.TIME,
}


class Failures:
    """The failures of one step: each is one entry, known once it is clear what followed it.

    A question, a revision that a person asks for and an attempt that was lost with its driver are not failures.
    """

    def __init__(self) -> None:
        self.over: list[StepFailure] = []
        self.retries = 0
        self._open: dict[str, Trouble] = {}
        self._at = 0.0

    def note(self, entry: Recorded) -> None:
        """Take in an event of the step's own stream."""
        match entry.event:
            case ev.AttemptEnded(failure=failure, message=message) if failure:
                self._add(entry.at, message or failure, _OF_ATTEMPTS.get(failure, Trouble.OTHER))
            case ev.CheckEnded(exit_code=code, command=command, failure=failure) if code != 0:
                slow = failure == CheckFailure.TIMEOUT.value
                self._add(entry.at, f"check failed: {command}", Trouble.TIME if slow else Trouble.WORK)
            case ev.LandingRefused(reason=reason, conflicts=conflicts):
                self._add(entry.at, reason, Trouble.CONFLICT if conflicts else Trouble.OTHER)
            case ev.AttemptStarted(reads=False):
                self._retry()
            case _:
                return

    def close(self, at: float, finished: ev.StepFinished) -> None:
        """The step is over; its reason says why it is not done, if it is not."""
        if finished.reason and finished.state in (StepEnd.BLOCKED, StepEnd.FAILED):
            trouble = Trouble.WORK if finished.failing else self._find_trouble()
            self.over.append(StepFailure(at=write_iso(at), message=finished.reason, trouble=trouble))
        self._open = {}

    def _add(self, at: float, message: str, trouble: Trouble) -> None:
        self._at = at
        self._open.setdefault(message, trouble)

    def _find_trouble(self) -> Trouble:
        """What the failures are that nothing has followed yet: the first of a kind that says something."""
        return next((kind for kind in self._open.values() if kind is not Trouble.OTHER), Trouble.OTHER)

    def _retry(self) -> None:
        """Another attempt follows: on what failed just now, or on what had ended the step before it was reopened."""
        if self._open:
            told, trouble = "; ".join(self._open), self._find_trouble()
            self.over.append(StepFailure(at=write_iso(self._at), message=told, trouble=trouble))
            self._open = {}
        if self.over and not self.over[-1].retried:
            self.over[-1] = replace(self.over[-1], retried=True)
            self.retries += 1


class ProgressReports:
    """Learns from every event it is shown; forgets nothing while the driver lives."""

    def __init__(self) -> None:
        self._started: dict[StepId, float] = {}
        self._finished: dict[StepId, float] = {}
        self._said: dict[StepId, str] = {}
        self._reading: set[StepId] = set()
        self._failures: dict[StepId, Failures] = {}

    def note(self, recorded: Sequence[Recorded]) -> None:
        """Take in events in journal order."""
        for entry in recorded:
            match entry.event:
                case ev.StepStarted(step=step):
                    self._started[step] = entry.at
                case ev.StepFinished(step=step) as finished:
                    self._finished[step] = entry.at
                    self._failures_of(step).close(entry.at, finished)
                case ev.AttemptStarted(reads=True):
                    self._reading.add(entry.stream.step)
                case ev.AttemptStarted():
                    self._reading.discard(entry.stream.step)
                case ev.AttemptEnded(message=message) if entry.stream.step not in self._reading:
                    self._said[entry.stream.step] = message
                case _:
                    pass
            if entry.stream.step:
                self._failures_of(entry.stream.step).note(entry)

    def _failures_of(self, step: StepId) -> Failures:
        return self._failures.setdefault(step, Failures())

    def report_progress(self, run: RunState, now: float) -> ProgressReport:
        """What is known of the run by now."""
        touched = [step.id for step in run.plan.steps if step.id in run.working or settled(run, step.id)]
        state = run.ended.state if run.ended else "parked" if run.parked else "running"
        steps = [self._step(run, step) for step in touched if step not in run.declared]
        return ProgressReport(
            run=run.id, state=state, mode=run.mode, now=write_iso(now), steps=steps, branch=run.begun.branch
        )

    def _step(self, run: RunState, step: StepId) -> StepProgress:
        started = self._started.get(step)
        finished = run.finished.get(step)
        failures = self._failures_of(step)
        if finished is None:
            return StepProgress(
                step=step,
                state="running",
                started=write_iso(started) if started else "",
                retries=failures.retries,
                failures=tuple(failures.over),
            )
        ended = self._finished.get(step)
        landed = finished.state is StepEnd.DONE
        gone = {*finished.created, *finished.deleted}
        return StepProgress(
            step=step,
            state=finished.state,
            started=write_iso(started) if started else "",
            finished=write_iso(ended) if ended else "",
            created=finished.created if landed else (),
            modified=tuple(path for path in finished.files if path not in gone) if landed else (),
            deleted=finished.deleted if landed else (),
            retries=failures.retries,
            failures=tuple(failures.over),
            said=self._said.get(finished.landed_by or step, ""),
            usage=finished.usage,
        )
