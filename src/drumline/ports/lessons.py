"""What was learned from the fixes of all runs of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from drumline.core.ids import RunId, StepId
from drumline.core.learned import Fix, Lesson
from drumline.record import Record


class FixRow(Record):
    """A line of the ledger of fixes, known by run, step and number; `at` is an ISO time."""

    run: RunId
    step: StepId
    number: int
    ticket: str
    at: str
    fix: Fix

    @property
    def signature(self) -> str:
        """What makes its failure the same as another."""
        return self.fix.signature

    @property
    def remedy(self) -> str:
        """What was done."""
        return self.fix.remedy

    @property
    def success(self) -> bool:
        """Whether the check passed afterwards."""
        return self.fix.success


class RunRow(Record):
    """A line of the ledger of runs."""

    run: RunId
    ticket: str
    at: str
    state: str
    total_steps: int
    steps_completed: int
    fixes: tuple[int, int] = (0, 0)
    """How many succeeded and failed."""
    heals: tuple[int, int] = (0, 0)
    step_titles: tuple[str, ...] = ()


class Change(Record):
    """The names of the lessons that a run has promoted and demoted, all of them."""

    promoted: tuple[str, ...] = ()
    demoted: tuple[str, ...] = ()


class Lessons(Protocol):
    """The ledgers and the lessons of one repository, which several processes may write at the same time."""

    def load(self, now: float) -> tuple[Lesson, ...]:
        """The lessons that count at this time. What cannot be read is left out."""
        ...

    def note(self, rows: Sequence[FixRow]) -> Change:
        """Record lines, each once however often it is told, then promote and demote; OSError if that is refused."""
        ...

    def note_run(self, row: RunRow) -> None:
        """Record what came of a run, once however often it is told; OSError if that is refused."""
        ...


class NoLessons:
    """Learns nothing."""

    def load(self, now: float) -> tuple[Lesson, ...]:
        """Nothing is known."""
        return ()

    def note(self, rows: Sequence[FixRow]) -> Change:
        """Nothing is learned."""
        return Change()

    def note_run(self, row: RunRow) -> None:
        """Nothing is kept."""
