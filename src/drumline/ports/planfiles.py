"""The plan as files that belong to people: read without guessing, written back without touching another byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from drumline.core.plan import Marks, Reading, Step


class PlanFiles(Protocol):
    """One plan on disk."""

    def read(self, known: Reading | None = None) -> Reading:
        """Read the plan and collect every problem; parses only files whose digest is not in `known`."""
        ...

    def text(self, step: Step) -> str:
        """The step's file as text, for the prompt."""
        ...

    def marks(self, step: Step) -> Marks:
        """The marks the step's file has now."""
        ...

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """Set the marks and tick the boxes of the checks at the given lines; return the file's new digest.

        Every other byte stays; atomic, under a file lock; nothing is written when nothing would change. With
        `unless`, the file is left alone if its marks are neither `unless` nor already the wanted ones, and "" is
        returned: somebody else wrote there in the meantime.
        """
        ...
