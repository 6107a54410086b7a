"""Plans in one document whose format cannot hold everything the engine writes: the rest goes into a sidecar.

The document is the truth. What the sidecar says of a step counts only while the document shows exactly what those
marks look like in its own words; after a person's edit it no longer does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Protocol, TypeVar

from drumline.core.ids import StepId
from drumline.core.plan import SIDECAR, Marks, Problem, Reading, Step
from drumline.core.validation import drop_settled, validate
from drumline.errors import InvalidInput
from drumline.planfiles import sidecar, writing
from drumline.planfiles.document import Dialect, DocumentFiles, Parsed, sort_problems
from drumline.planfiles.drafts import until_settled
from drumline.planfiles.sidecar import Added, Sidecar
from drumline.planfiles.source import DOCUMENT_BYTES, DOCUMENT_LINES, decode, digest, escape_glob, read_bytes
from drumline.planfiles.stepfile import replace_spans
from drumline.planfiles.weaving import add_checks
from drumline.ports.planfiles import Correction
from drumline.record import replace

T = TypeVar("T")


class FrugalDialect(Dialect, Protocol):
    """A dialect whose documents cannot hold everything."""

    muted: frozenset[str]
    """Codes of findings about things that the format derives, so that nobody can mend them."""

    adds_beside: bool
    """Whether corrective steps are kept in the sidecar, too."""

    def shown(self, marks: Marks) -> Marks:
        """What reading the document alone would give back of these marks."""
        ...

    def weave(self, parsed: Parsed, added: Sequence[Added]) -> Parsed:
        """The document with the corrective steps that its sidecar keeps."""
        ...


class AnnotatedFiles(DocumentFiles):
    """One plan in one file with a sidecar. A digest of the document covers the sidecar as well."""

    def __init__(self, file: Path, dialect: FrugalDialect, *, repo: Path, locks: Path | None = None) -> None:
        super().__init__(file, dialect, repo=repo, locks=locks)
        self._frugal = dialect
        self._beside = sidecar.sidecar_of(file)
        self._beside_path = self._path + SIDECAR

    @property
    def patterns(self) -> Sequence[str]:
        """The paths that are the plan's, as patterns."""
        return [escape_glob(path) for path in (self._path, self._beside_path)]

    def read(self, known: Reading | None = None) -> Reading:
        """Read the plan and collect every problem; unchanged files give back `known`."""
        data = read_bytes(self._file, self._path, most=DOCUMENT_BYTES)
        if isinstance(data, Problem):
            return self._broken(data)
        beside = sidecar.load_bytes(self._beside, self._beside_path)
        noted = b"" if isinstance(beside, Problem) else beside
        found = self._digest_of(data, noted)
        if known is not None and not known.errors and known.digests.get(self._path) == found:
            return known
        text = decode(data, self._path, most_lines=DOCUMENT_LINES)
        if isinstance(text, Problem):
            return self._broken(text)
        notes = beside if isinstance(beside, Problem) else sidecar.parse_sidecar(beside, self._beside_path)
        digests = {self._path: found, self._beside_path: digest(noted)}
        return self._reading(self._parse(text), notes, digests)

    def text(self, step: Step) -> str:
        """The step's part of the document and the notes beside it, for the prompt."""
        own = self._frugal.weave(self._parse(self._load()), self._notes().added).texts.get(step.id, "")
        return own + self._notes_beside()

    def marks(self, step: Step) -> Marks:
        """The marks the step has now; InvalidInput if they cannot be read."""
        return self._resolve(step.id, self._parse(self._load()), self._notes())

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """Set the marks and tick the boxes of the checks at the given lines; see the port for the promise."""
        wanted = writing.clean(marks)

        def write() -> str:
            text, notes = self._load(), self._notes()
            old = self._resolve(step.id, self._parse(text), notes)
            if unless is not None and old not in (writing.clean(unless), wanted):
                return ""
            changed = self._edited(text, step, wanted, ticked)
            self._store_both(step.id, old, wanted, notes=notes, before=text, after=changed)
            return self._digest_of(changed.encode(), self._noted())

        with self._lock.hold():
            return until_settled(write)

    def insert(self, correction: Correction, *, helps: Step) -> str:
        """Add a corrective step right after the step it helps; see the port for the promise."""
        if not self._frugal.adds_beside:
            path = super().insert(correction, helps=helps)
            self._assure_waiting(correction, helps)
            return path
        with self._lock.hold():
            notes = self._notes()
            self._resolve(helps.id, self._parse(self._load()), notes)
            sidecar.store(self._beside, notes.with_added(Added(correction=correction, helps=helps.id)))
            return self._path

    def keep_checks(self, checks: Mapping[StepId, Sequence[str]]) -> str:
        """Keep these checks in the sidecar, beside those that are there; return its path."""
        with self._lock.hold():
            notes = self._notes()
            merged = {
                step: tuple(dict.fromkeys([*notes.checks.get(step, ()), *checks.get(step, ())]))
                for step in (*notes.checks, *checks)
            }
            sidecar.store(self._beside, replace(notes, checks=merged))
        return self._beside_path

    def _reading(self, doc: Parsed, notes: Sidecar | Problem, digests: Mapping[str, str]) -> Reading:
        problems = list(doc.problems)
        if isinstance(notes, Problem):
            problems.append(notes)
            notes = Sidecar()
        woven = self._frugal.weave(doc, notes.added)
        plan = self._plan(woven)
        plan = plan.with_steps(add_checks(plan.steps, notes.checks))
        marks = {step.id: self._marks_of(step.id, doc.marks.get(step.id, Marks()), notes) for step in plan.steps}
        found = drop_settled(validate(plan), plan, marks)
        problems += [problem for problem in found if problem.code not in self._frugal.muted]
        return Reading(
            plan=plan, marks=marks, digests=digests, problems=sort_problems(problems), acceptance=doc.acceptance
        )

    def _marks_of(self, step: StepId, shown: Marks, notes: Sidecar) -> Marks:
        """The first that fits what the document shows: what was written last, what a torn write left, the document."""
        for found in (notes.marks.get(step), notes.before.get(step)):
            if found is not None and self._shown(step, found) == shown:
                return found
        return shown

    def _shown(self, _step: StepId, marks: Marks) -> Marks:
        """What reading the document alone would give back of these marks for this step."""
        return self._frugal.shown(marks)

    def _resolve(self, step: StepId, doc: Parsed, notes: Sidecar) -> Marks:
        """The step's marks; InvalidInput if there is no such step."""
        shown = doc.marks.get(step)
        if shown is None and any(added.correction.id == step for added in notes.added):
            shown = Marks()
        if shown is None:
            raise InvalidInput(f"{self._path} has no step {step!r}", hint=f"drumline validate {quote(self._path)}")
        return self._marks_of(step, shown, notes)

    def _edited(self, text: str, step: Step, wanted: Marks, ticked: Sequence[int]) -> str:
        if step.id not in self._parse(text).marks:
            return text
        face = self._shown(step.id, wanted)
        changed = replace_spans(text, self._dialect.edit(text, step, face, ticked))
        if changed != text:
            self._assure(text, changed, {step.id: face})
        return changed

    def _store_both(self, step: StepId, old: Marks, wanted: Marks, *, notes: Sidecar, before: str, after: str) -> None:
        """Write sidecar and document so that a crash in between leaves either the old marks or the new ones."""
        kept = wanted if self._shown(step, wanted) != wanted else None
        if before != after and kept is not None:
            left = old if self._shown(step, old) != old else None
            sidecar.store(self._beside, notes.with_marks(step, kept, before=left))
        self._store(before, after)
        sidecar.store(self._beside, notes.with_marks(step, kept))

    def _assure_waiting(self, correction: Correction, helps: Step) -> None:
        steps = {step.id: step for step in self._parse(self._load()).steps}
        if helps.id not in steps or correction.id not in steps[helps.id].needs:
            message = f"{self._path}: the step {correction.id!r} is there already, but does not help {helps.id!r}"
            raise InvalidInput(message, hint=f"drumline validate {quote(self._path)}")

    def _digest_of(self, data: bytes, noted: bytes) -> str:
        parts = [data, *filter(None, (noted, self._supplement()))]
        return digest(b"\0".join(parts))

    def _supplement(self) -> bytes:
        """What is read beside the document and its sidecar; a change of it is a change of the plan."""
        return b""

    def _noted(self) -> bytes:
        data = sidecar.load_bytes(self._beside, self._beside_path)
        return self._unless_refused(data)

    def _notes(self) -> Sidecar:
        return self._unless_refused(sidecar.parse_sidecar(self._noted(), self._beside_path))

    def _unless_refused(self, found: T | Problem) -> T:
        if isinstance(found, Problem):
            raise InvalidInput(f"{found.where}: {found.message}", hint=f"drumline validate {quote(self._path)}")
        return found
