"""A plan without files, keeping the promises of the port."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from shlex import quote

from drumline.core.documents import digest_document
from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Plan, Reading, Step
from drumline.core.validation import validate
from drumline.core.vocabulary import DocumentKind
from drumline.errors import InvalidInput
from drumline.ports.planfiles import Correction, ProgressReport, Revision
from drumline.record import replace


class FakePlanFiles:
    """A plan in memory.

    `ticked` holds the lines whose boxes were ticked, `writes` counts real changes, `reports` is what was reported,
    `documents` what was put in its place.
    """

    reports_progress = False

    def __init__(self, plan: Plan, marks: Mapping[StepId, Marks] | None = None) -> None:
        self._plan = plan.with_steps([_sealed(step) if not step.text_digest else step for step in plan.steps])
        self._marks = {step.id: Marks() for step in plan.steps} | dict(marks or {})
        self.ticked: dict[StepId, set[int]] = {step.id: set() for step in plan.steps}
        self.writes = 0
        self.reports: list[ProgressReport] = []
        self.documents: dict[str, str] = {}
        self._told: dict[StepId, str] = {}

    @property
    def patterns(self) -> Sequence[str]:
        """The paths of the steps."""
        return [f"{self._plan.path}/*.md"]

    def read(self, known: Reading | None = None) -> Reading:
        """The plan as it is now; an unchanged plan gives back `known`."""
        digests = {self._path(step): self._digest(step.id) for step in self._plan.steps}
        if known is not None and known.digests == digests:
            return known
        problems = tuple(validate(self._plan))
        return Reading(plan=self._plan, marks=dict(self._marks), digests=digests, problems=problems)

    def text(self, step: Step) -> str:
        """The step written out as a file would hold it."""
        now = self._step(step.id)
        checks = [(check.line, f"`{check.command}`") for check in now.checks]
        boxes = [f"- [{'x' if line in self.ticked[now.id] else ' '}] {text}" for line, text in checks]
        status = self._marks[now.id].status.value
        head = ["---", f"id: {now.id}", f"name: {now.title}", f"status: {status}", "---", f"# {now.id}: {now.title}"]
        told = [self._told[now.id]] if now.id in self._told else []
        return "\n".join([*head, *told, "#### Automated Verification:", *boxes, ""])

    def marks(self, step: Step) -> Marks:
        """The marks the step has now."""
        return self._marks[self._step(step.id).id]

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """Set the marks and tick the boxes of the checks at the given lines; see the port for the promise."""
        step_id = self._step(step.id).id
        if unless is not None and self._marks[step_id] not in (unless, marks):
            return ""
        boxes = self.ticked[step_id] | (
            {*step.manual_lines, *(check.line for check in step.checks if check.line)} & set(ticked)
        )
        if (marks, boxes) != (self._marks[step_id], self.ticked[step_id]):
            self._marks[step_id], self.ticked[step_id] = marks, boxes
            self.writes += 1
        return self._digest(step_id)

    def insert(self, correction: Correction, *, helps: Step) -> str:
        """Add a corrective step right after the step it helps; see the port for the promise."""
        helped = self._step(helps.id)
        path = f"{self._plan.path}/{correction.id}.md"
        if correction.id in self._plan.by_id:
            return self._path(self._plan.by_id[correction.id])
        commands = filter(None, (correction.test, *correction.carried))
        added = Step(
            id=correction.id,
            title=correction.title,
            needs=tuple(need for need in helped.needs if not need.startswith(f"{helped.id}h")),
            files=correction.files,
            checks=tuple(Check(command=command, line=line) for line, command in enumerate(commands, 9)),
            path=path,
        )
        waiting = replace(helped, needs=(*helped.needs, correction.id))
        self.edit(waiting)
        self._told[correction.id] = f"{correction.what}\n{correction.why}"
        place = [step.id for step in self._plan.steps].index(helps.id) + 1
        self.edit(added)
        others = [step for step in self._plan.steps if step.id != correction.id]
        self._plan = self._plan.with_steps([*others[:place], self._step(correction.id), *others[place:]])
        return path

    def revise(self, step: Step, revision: Revision, *, write: bool) -> str:
        """Change what the step says; see the port for the promise."""
        now, lead = self._step(step.id), f"From {revision.origin}: "
        words = self._told.get(now.id, now.title)
        if revision.text and lead in words:
            return ""
        if not revision.text and words.count(revision.old) != 1:
            raise InvalidInput(
                f"{revision.old!r} is not there once", hint=f"drumline validate {quote(self._plan.path)}"
            )
        added = f"{words}\n{lead}{revision.text}"
        after = added if revision.text else words.replace(revision.old, revision.new)
        if write:
            self._told[now.id] = after
            self.edit(replace(now, text=after))
        return f"-{words}\n+{after}"

    def place(self, kind: DocumentKind, step: Step) -> str:
        """Each step has a place for its handoff."""
        return f"{self._plan.path}/{step.id}-handoff.md" if kind is DocumentKind.HANDOFF else ""

    def read_document(self, kind: DocumentKind, step: Step) -> str:
        """What was put in its place."""
        return self.documents.get(self.place(kind, step), "")

    def put(self, path: str, text: str, *, before: str = "") -> str:
        """Keep a document, so that a test can look at it; see the port for the promise."""
        if not path.endswith("-handoff.md"):
            raise InvalidInput(
                f"the plan has no place for {path!r}", hint=f"drumline validate {quote(self._plan.path)}"
            )
        there = digest_document(self.documents[path]) if path in self.documents else ""
        if there not in ("", before, digest_document(text)):
            return ""
        self.documents[path] = text
        return digest_document(text)

    def keep_checks(self, checks: Mapping[StepId, Sequence[str]]) -> str:
        """Refused: each step has a place for its checks."""
        raise InvalidInput("a plan in memory keeps checks in its steps", hint="drumline validate PATH/TO/PLAN")

    def report_progress(self, progress: ProgressReport) -> str:
        """Keep the account, so that a test can look at it."""
        self.reports.append(progress)
        return ""

    def edit(self, step: Step) -> Step:
        """Change or add a step as a person's edit of its file would; return it with its new text digest."""
        edited = _sealed(step)
        others = [edited if old.id == step.id else old for old in self._plan.steps]
        self._plan = self._plan.with_steps(others if step.id in self._plan.by_id else [*others, edited])
        self._marks.setdefault(step.id, Marks())
        self.ticked.setdefault(step.id, set())
        return edited

    def _step(self, step_id: StepId) -> Step:
        step = self._plan.by_id.get(step_id)
        if step is None:
            raise InvalidInput(f"the plan has no step {step_id!r}", hint=f"drumline validate {quote(self._plan.path)}")
        return step

    def _digest(self, step_id: StepId) -> str:
        state = (self._plan.by_id[step_id], self._marks[step_id], sorted(self.ticked[step_id]))
        return _digest(state)

    def _path(self, step: Step) -> str:
        return step.path or f"{self._plan.path}/{step.id}.md"


def _sealed(step: Step) -> Step:
    bare = replace(step, text_digest="")
    return replace(bare, text_digest=_digest(bare))


def _digest(value: object) -> str:
    return hashlib.blake2b(repr(value).encode("utf-8", "replace"), digest_size=16).hexdigest()
