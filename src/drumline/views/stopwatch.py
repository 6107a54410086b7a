"""How long a run was driven. The rule: waiting for a person, for a quota or for a driver is not part of it."""

from __future__ import annotations

from drumline.core.events import Event, RunEnded, RunParked, RunResumed, RunStarted
from drumline.record import State

TELLING = (RunStarted, RunResumed, RunParked, RunEnded)
"""The kinds of events that start and stop it."""


class Stopwatch(State):
    """Seconds of earlier stretches, and since when it runs; None while the run is parked or over."""

    stretches: float = 0.0
    since: float | None = None

    def note(self, event: Event, at: float, *, before: float) -> None:
        """Take in an event; `before` is when the one before it was recorded, the last sign of a driver that died."""
        match event:
            case RunStarted():
                self.since = at
            case RunResumed():
                self._stop(before)
                self.since = at
            case RunParked() | RunEnded():
                self._stop(at)

    def read(self, end: float) -> float:
        """The seconds up to a moment."""
        return self.stretches + (0.0 if self.since is None else max(0.0, end - self.since))

    def _stop(self, at: float) -> None:
        self.stretches = self.read(at)
        self.since = None
