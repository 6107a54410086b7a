"""Plans kept in one document: several steps in one file, each with its own marks.

A dialect knows one format's words; this module reads, caches, locks and writes the same way for all of them. A write
is checked by reading it back: whatever a dialect does, only what was asked for may have changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Protocol

from drumline.core.ids import StepId
from drumline.core.plan import Acceptance, Check, Marks, Plan, Problem, Reading, Step
from drumline.core.validation import drop_settled, validate
from drumline.errors import InvalidInput
from drumline.planfiles import writing
from drumline.planfiles.drafts import PlanLock, put_file, until_settled
from drumline.planfiles.notes import find_notes, read_notes
from drumline.planfiles.revising import Revisable, is_revised, unlike
from drumline.planfiles.source import DOCUMENT_BYTES, DOCUMENT_LINES, decode, digest, escape_glob, read_bytes
from drumline.planfiles.stepfile import replace_spans
from drumline.ports.planfiles import Correction, ProgressReport
from drumline.record import Record, field

Span = tuple[int, int, str]

UNTELLING = frozenset({"implement", "plan", "root", "active-session", "tasks"})
"""Names of files that say nothing about the plan in them."""


class Parsed(Record):
    """What a document says: the plan's own words, its steps in order, their marks and texts, and every problem.

    `texts` is what a step's prompt shows of the document. `need_lines` may hold the line of a step's needs, for
    problems about them; the step's own line is used otherwise.
    """

    steps: tuple[Step, ...] = ()
    marks: Mapping[StepId, Marks] = field(default_factory=dict)
    texts: Mapping[StepId, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    title: str = ""
    ticket: str = ""
    autonomy: str = ""
    require: str = ""
    kinds: tuple[Check, ...] = ()
    final: tuple[Check, ...] = ()
    not_run: tuple[str, ...] = ()
    complexity: str = ""
    express: bool = False
    acceptance: tuple[Acceptance, ...] = ()
    preamble: str = ""
    preflight: tuple[Check, ...] = ()
    repositories: tuple[str, ...] = ()


class Dialect(Protocol):
    """One format's words for steps and marks in one document. Pure: text in, text out."""

    name: str
    reports_progress: bool

    def parse(self, text: str, path: str) -> Parsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        ...

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """The replacements that give the step these marks, in the format's own words and place.

        `ticked` are lines of the step's checks as it was read whose boxes should be ticked.
        """
        ...

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """The replacements that add a corrective step right after the step it helps."""
        ...

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """The replacements that bring the document's own progress report up to date; none where it has none."""
        ...


class DocumentFiles(Revisable):
    """One plan in one file. `file` and `repo` are real paths; all drivers of a plan must name the same `locks`."""

    def __init__(self, file: Path, dialect: Dialect, *, repo: Path, locks: Path | None = None) -> None:
        self._file, self._repo = file, repo
        self._dialect = dialect
        self._path = file.relative_to(repo).as_posix()
        lock = locks / f"plan-{digest(self._path.encode())}.lock" if locks else None
        self._lock = PlanLock([file.parent], lock)
        self._name = plan_name(file)
        self._note_file = find_notes(file, repo=repo)
        self._notes_beside = partial(read_notes, file, repo=repo)
        self._last: tuple[str, Parsed] | None = None

    @property
    def reports_progress(self) -> bool:
        """Whether the document has a place for more than marks."""
        return self._dialect.reports_progress

    @property
    def patterns(self) -> Sequence[str]:
        """The paths that are the plan's, as patterns."""
        notes = self._note_file
        beside = [] if notes is None else [escape_glob(notes.relative_to(self._repo).as_posix())]
        return [escape_glob(self._path), *beside]

    def read(self, known: Reading | None = None) -> Reading:
        """Read the plan and collect every problem; an unchanged file gives back `known`."""
        data = read_bytes(self._file, self._path, most=DOCUMENT_BYTES)
        if isinstance(data, Problem):
            return self._broken(data)
        found = digest(data)
        if known is not None and not known.errors and dict(known.digests) == {self._path: found}:
            return known
        text = decode(data, self._path, most_lines=DOCUMENT_LINES)
        if isinstance(text, Problem):
            return self._broken(text)
        parsed = self._parse(text)
        plan = self._plan(parsed)
        problems = [*parsed.problems, *drop_settled(validate(plan), plan, parsed.marks)]
        return Reading(plan=plan, marks=parsed.marks, digests={self._path: found}, problems=sort_problems(problems))

    def text(self, step: Step) -> str:
        """The step's part of the document and the notes beside it, for the prompt."""
        return self._parse(self._load()).texts.get(step.id, "") + self._notes_beside()

    def marks(self, step: Step) -> Marks:
        """The marks the step has in the document now; InvalidInput if they cannot be read."""
        found = self._parse(self._load()).marks.get(step.id)
        if found is None:
            raise InvalidInput(f"{self._path} has no step {step.id!r}", hint=f"drumline validate {quote(self._path)}")
        return found

    def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
        """Set the marks and tick the boxes of the checks at the given lines; see the port for the promise."""
        wanted = writing.clean(marks)

        def write() -> str:
            if unless is not None and self.marks(step) not in (writing.clean(unless), wanted):
                return ""
            text = self._load()
            changed = replace_spans(text, self._dialect.edit(text, step, wanted, ticked))
            self._assure(text, changed, {step.id: wanted})
            return self._store(text, changed)

        with self._lock.hold():
            return until_settled(write)

    def insert(self, correction: Correction, *, helps: Step) -> str:
        """Add a corrective step right after the step it helps; see the port for the promise."""

        def insert() -> str:
            text = self._load()
            if correction.id not in self._parse(text).marks:
                changed = replace_spans(text, self._dialect.insert(text, correction, helps))
                self._assure(text, changed, {correction.id: Marks()}, new=(correction.id, helps.id))
                self._store(text, changed)
            return self._path

        with self._lock.hold():
            return until_settled(insert)

    def _find_file(self, step: Step) -> Path:
        return self._file

    def _read_words(self, step: Step) -> str:
        return self._load()

    def _add_case(self, text: str, step: Step, said: str, *, by: StepId) -> str | None:
        """No room, unless the format says otherwise."""
        return None

    def _assure_revised(self, before: str, after: str, step: Step, *, adds: bool) -> None:
        then, now = self._parse(before), self._parse(after)
        pairs = zip(then.steps, now.steps, strict=False)
        same = [one == other or (one.id == step.id and is_revised(one, other, adds=adds)) for one, other in pairs]
        if dict(then.marks) != dict(now.marks) or len(then.steps) != len(now.steps) or not all(same):
            raise unlike(step, self._path)

    def keep_checks(self, checks: Mapping[StepId, Sequence[str]]) -> str:
        """Refused: the document has a place for checks."""
        message = f"{self._path} keeps checks in the document"
        raise InvalidInput(message, hint="write them under Automated Verification of each step")

    def report_progress(self, progress: ProgressReport) -> str:
        """Bring the document's own progress report up to date, where the format has one."""

        def write_progress() -> None:
            text = self._load()
            changed = replace_spans(text, self._dialect.write_progress(text, progress))
            self._assure(text, changed, {})
            self._store(text, changed)

        with self._lock.hold():
            until_settled(write_progress)
        return ""

    def _parse(self, text: str) -> Parsed:
        """Parse, remembering the last text: one round asks for marks and texts of many steps."""
        found = digest(text.encode("utf-8", "surrogatepass"))
        if self._last is None or self._last[0] != found:
            self._last = (found, self._dialect.parse(text, self._path))
        return self._last[1]

    def _plan(self, parsed: Parsed) -> Plan:
        return Plan(
            name=self._name,
            path=self._path,
            format=self._dialect.name,
            title=parsed.title or self._name,
            autonomy=parsed.autonomy,
            require=parsed.require,
            kinds=parsed.kinds,
            final=parsed.final,
            not_run=parsed.not_run,
            ticket=parsed.ticket,
            complexity=parsed.complexity,
            express=parsed.express,
            preamble=parsed.preamble,
            preflight=parsed.preflight,
            repositories=parsed.repositories,
            steps=parsed.steps,
        )

    def _broken(self, problem: Problem) -> Reading:
        plan = Plan(name=self._name, path=self._path, format=self._dialect.name)
        return Reading(plan=plan, marks={}, digests={}, problems=(problem,))

    def _load(self) -> str:
        data = read_bytes(self._file, self._path, most=DOCUMENT_BYTES)
        text = data if isinstance(data, Problem) else decode(data, self._path, most_lines=DOCUMENT_LINES)
        if isinstance(text, Problem):
            raise InvalidInput(f"{text.where}: {text.message}", hint=f"drumline validate {quote(self._path)}")
        return text

    def _store(self, before: str, after: str) -> str:
        data = after.encode()
        if after != before:
            put_file(self._file, data, before=before.encode())
        return digest(data)

    def _assure(self, before: str, after: str, wanted: Mapping[StepId, Marks], *, new: tuple[StepId, ...] = ()) -> None:
        """Refuse a result that does not read back as asked, or that changes what people wrote or other steps' marks.

        `new` are steps whose texts may differ: an added one, and the one that now waits for it.
        """
        then, now = self._parse(before), self._parse(after)
        expected = {**then.marks, **wanted}
        texts_then = {step.id: step.text_digest for step in then.steps if step.id not in new}
        texts_now = {step.id: step.text_digest for step in now.steps if step.id not in new}
        if dict(now.marks) == expected and texts_then == texts_now:
            return
        raise InvalidInput(
            f"{self._path}: is written in a way that cannot carry the marks; nothing was written",
            hint=f"drumline validate {quote(self._path)}",
        )


def plan_name(file: Path) -> str:
    """What branches call a plan: its file's name, or its folder's where the name says nothing."""
    names = [file.stem, *(folder.name for folder in file.parents)]
    stem = next((name for name in names if name not in UNTELLING), "")
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "plan"


def sort_problems(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """The problems of one document from top to bottom."""
    return tuple(sorted(problems, key=lambda problem: problem.line))
