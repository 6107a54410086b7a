"""The plan of a task, which has no files. The rule: what it says is what the journal has, and nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Plan, Reading, Step
from drumline.errors import InvalidInput
from drumline.planfiles.placing import Placeless
from drumline.ports.planfiles import Correction, ProgressReport, Revision

HELP = "drumline do --help"


class TaskFiles(Placeless):
    """Keeps the promises of the port for a plan that nobody can edit: the claims in the journal decide alone."""

    reports_progress = False

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @property
    def patterns(self) -> Sequence[str]:
        """No path is the plan's."""
        return ()

    def read(self, known: Reading | None = None) -> Reading:
        """The plan as the journal knows it."""
        return known or Reading(plan=self._plan, marks={step.id: Marks() for step in self._plan.steps}, digests={})

    def text(self, step: Step) -> str:
        """The words of the task."""
        return step.text

    def marks(self, step: Step) -> Marks:
        """Nothing is marked where there is no file."""
        return Marks()

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """There is nothing to write; nobody else can have written, either."""
        if step.id not in self._plan.by_id:
            raise InvalidInput(f"the task has no step {step.id!r}", hint=HELP)
        return step.text_digest

    def insert(self, correction: Correction, *, helps: Step) -> str:
        """A task has one step."""
        raise InvalidInput(f"a task has one step; {correction.id!r} cannot be added to it", hint="drumline do TEXT")

    def revise(self, step: Step, revision: Revision, *, write: bool) -> str:
        """A task has no later steps."""
        raise InvalidInput(f"a task has no files in which {step.id!r} could be changed", hint=HELP)

    def keep_checks(self, checks: Mapping[StepId, Sequence[str]]) -> str:
        """Refused: there is no file beside which they could be kept."""
        raise InvalidInput("a task has no files to keep checks beside", hint=HELP)

    def report_progress(self, progress: ProgressReport) -> str:
        """There is no progress report."""
        return ""
