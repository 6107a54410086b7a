"""The plan as files that belong to people: read without guessing, written back without touching another byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from drumline.core.ids import StepId
from drumline.core.plan import Correction as Correction
from drumline.core.plan import Marks, Reading, Step
from drumline.core.plan import Revision as Revision
from drumline.core.vocabulary import DocumentKind
from drumline.record import Record, field


class Trouble(Enum):
    """What kind of failure a progress report names."""

    WORK = "work"
    TIME = "time"
    CONFLICT = "conflict"
    OTHER = "other"


class StepFailure(Record):
    """One failure of a step: when (ISO time), what, of which kind, and whether another attempt followed."""

    at: str
    message: str
    trouble: Trouble = Trouble.OTHER
    retried: bool = False


class StepProgress(Record):
    """What is known of one step, for progress reports."""

    step: StepId
    state: str
    started: str = ""
    finished: str = ""
    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    retries: int = 0
    failures: tuple[StepFailure, ...] = ()
    said: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)


class ProgressReport(Record):
    """A run as of `now` (ISO time), for progress reports: its state, its mode and what is known of its steps.

    With `archives` a plan whose format has an archive goes there once it is over.
    """

    run: str
    state: str
    mode: str
    now: str
    steps: Sequence[StepProgress]
    branch: str = ""
    archives: bool = True


class PlanFiles(Protocol):
    """One plan on disk. `reports_progress` says whether `progress` does anything for this format."""

    @property
    def reports_progress(self) -> bool:
        """Whether the format has a place for more than marks."""
        ...

    @property
    def patterns(self) -> Sequence[str]:
        """The paths in the repository that are the plan's, whether they exist or not, as glob patterns of git.

        A star does not match a slash. No step's commit contains them.
        """
        ...

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
        returned: somebody else wrote there in the meantime. InvalidInput if a person's edit made it unreadable.
        """
        ...

    def insert(self, correction: Correction, *, helps: Step) -> str:
        """Add a corrective step right after the step it helps, in the format's own words; return its file's path.

        Nothing else changes. Inserting the same correction again changes nothing.
        """
        ...

    def revise(self, step: Step, revision: Revision, *, write: bool) -> str:
        """Change what a step says, and nothing else; return the change as a diff, "" if there is nothing to change.

        A line about edge cases goes where the format has room for it, else into the notes beside the plan; `origin` has
        one for each step at most. InvalidInput if the format has no place, or would read back as something else.
        Without `write` it is only shown.
        """
        ...

    def place(self, kind: DocumentKind, step: Step) -> str:
        """Where the format keeps such a document of a step, by its path in the repository; "" if it has no place."""
        ...

    def read_document(self, kind: DocumentKind, step: Step) -> str:
        """The document that the plan's files have of a step; "" if there is none or the format has no place for it."""
        ...

    def put(self, path: str, text: str, *, before: str = "") -> str:
        """Write a document at a place that `place` gave; return the file's digest.

        Atomic, under a file lock; nothing is written when nothing would change. A file that has neither this text nor
        the digest `before` is somebody else's: it is left alone, and "" is returned. Notes are not replaced: the lines
        that the plan's notes do not have are added behind them. InvalidInput for any other place.
        """
        ...

    def keep_checks(self, checks: Mapping[StepId, Sequence[str]]) -> str:
        """Keep commands that prove steps beside the plan; return the path of the file that has them.

        The id `*` stands for every step without a check. InvalidInput where the plan's own files have a place for them.
        """
        ...

    def report_progress(self, progress: ProgressReport) -> str:
        """Bring the plan's own progress report up to date, where the format has one; otherwise nothing happens.

        Returns what people should know of it, such as where a plan that is over was moved to.
        """
        ...
