"""The format `maestro`: phases as a JSON or YAML file, as an implementation plan in markdown, or as a state file.

A plan has no place for marks: they go to a sidecar. A state file holds a status in Maestro's own words and is kept
current in the style it had; who holds a phase, since when and why it is blocked goes to the sidecar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import SIDECAR, Check, Marks, Problem, Reading, Severity, Step
from drumline.core.vocabulary import DocumentKind, RunStanding
from drumline.datatext import Data, Flaw, read_data
from drumline.errors import InvalidInput
from drumline.planfiles.annotated import AnnotatedFiles
from drumline.planfiles.dataedit import Editor, Span
from drumline.planfiles.document import Parsed
from drumline.planfiles.drafts import until_settled
from drumline.planfiles.maestro_archive import STATE, archive_session
from drumline.planfiles.maestro_data import (
    Region,
    fenced,
    find_fresh,
    find_phase,
    frontmatter,
    insert_phase,
    parse_data,
    title_of,
    whole,
)
from drumline.planfiles.maestro_markdown import Section, read_drafts, read_sections
from drumline.planfiles.maestro_phases import WORDS, count_problem, find_phases, to_steps, word_for
from drumline.planfiles.maestro_progress import read_downstream, write_progress
from drumline.planfiles.maestro_sections import insert_section, tick_boxes
from drumline.planfiles.markdown import read_body
from drumline.planfiles.preamble import read_preamble
from drumline.planfiles.sidecar import Added, Sidecar
from drumline.planfiles.source import (
    BOM,
    DOCUMENT_BYTES,
    DOCUMENT_LINES,
    NEWLINE,
    decode,
    line_at,
    line_starts,
    read_bytes,
)
from drumline.ports.planfiles import Correction, ProgressReport
from drumline.record import replace

PLAN_ENDING = "-impl-plan.md"
_MARKDOWN = (".md", ".markdown")
_DATA = (".json", ".yaml", ".yml")


class _Phases:
    """What the dialects of this format have in common: corrective steps go into the document."""

    name = "maestro"
    muted: frozenset[str] = frozenset()
    adds_beside = False

    def weave(self, parsed: Parsed, added: Sequence[Added]) -> Parsed:
        """The document as it is: it has a place for corrective steps."""
        del added
        return parsed


class StateDialect(_Phases):
    """A state file: its frontmatter carries the phases, their status and the progress report."""

    reports_progress = True

    def parse(self, text: str, path: str) -> Parsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        region = frontmatter(text)
        if region is None:
            message = "does not begin with frontmatter between two lines '---'"
            return Parsed(problems=(Problem(code="no_frontmatter", message=message, where=f"{path}:1"),))
        return parse_data(text, path, region, state=True)

    def shown(self, marks: Marks) -> Marks:
        """What reading the document alone would give back of these marks."""
        return Marks(status=WORDS[word_for(marks)])

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """The replacement that gives the phase this status; it has no boxes."""
        del ticked
        region = frontmatter(text)
        data = read_data(text, region.start, region.end) if region is not None else None
        found = find_phase(data.root, step.id) if isinstance(data, Data) else None
        if found is None or not isinstance(data, Data) or self.parse(text, "").marks[step.id] == marks:
            return []
        editor = Editor(text, data.root)
        phase = found[0].items[found[1]]
        editor.set(phase, "status", word_for(marks))
        if phase is find_fresh(data.root):  # it is begun now, or waits: no longer as its session was created
            editor.set(phase, "started", None)
        return editor.spans

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """The replacements that add a corrective phase right after the one it helps."""
        region = frontmatter(text)
        return insert_phase(text, region, correction, helps, state=True) if region is not None else []

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """The replacements that bring the state file's progress report up to date."""
        region = frontmatter(text)
        return write_progress(text, region, progress) if region is not None else []


class PlanDialect(_Phases):
    """A plan without a place for marks: data, or markdown that carries data or sections."""

    reports_progress = False

    def __init__(self, *, markdown: bool) -> None:
        self._markdown = markdown

    def parse(self, text: str, path: str) -> Parsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        region = self._data_region(text)
        return self._parse_sections(text, path) if region is None else parse_data(text, path, region, state=False)

    def shown(self, marks: Marks) -> Marks:
        """Nothing: the document has no place for marks."""
        del marks
        return Marks()

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """The replacements that tick the boxes of checks, where the plan has any."""
        del marks
        section = self._section(text, step.id) if ticked and self._data_region(text) is None else None
        if section is None:
            return []
        now = next(found.checks for found in self.parse(text, "").steps if found.id == step.id)
        return tick_boxes(text, section, step, now=now, ticked=ticked)

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """The replacements that add a corrective phase right after the one it helps."""
        region = self._data_region(text)
        if region is not None:
            return insert_phase(text, region, correction, helps, state=False)
        section = self._section(text, helps.id)
        return insert_section(text, _body(text), section, correction, helps=helps) if section is not None else []

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """Nothing: a plan has no progress report."""
        del text, progress
        return []

    def _data_region(self, text: str) -> Region | None:
        return fenced(text, _body(text)) if self._markdown else whole(text)

    def _section(self, text: str, step: StepId) -> Section | None:
        found = [section for section in read_sections(text, _body(text)) if section.id == step]
        return found[-1] if found else None

    def _parse_sections(self, text: str, path: str) -> Parsed:
        body = _body(text)
        first = line_at(line_starts(text), body)
        sections = read_sections(text, body)
        drafts, problems = read_drafts(sections, text, path, first)
        steps, agent_problems = to_steps(drafts, path)
        title, complexity, front_problems = _front_words(text, path)
        return Parsed(
            steps=steps,
            marks={step.id: Marks() for step in steps},
            texts={StepId(draft.id): NEWLINE.sub("\n", draft.text) for draft in drafts},
            problems=(*front_problems, *problems, *agent_problems, *count_problem(drafts, complexity, f"{path}:1")),
            title=title or read_body(text, body, 0).title,
            preamble=read_preamble(text, until=sections[0].start if sections else None),
            complexity=complexity,
        )


class MaestroFiles(AnnotatedFiles):
    """One plan of the format: a plan's file, a state file, or the directory that holds them."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        file = _choose(place)
        if file is None or not file.resolve().is_relative_to(repo):
            message = f"{place.name!r} is not a maestro plan: give a plan, a state file or the state directory"
            raise InvalidInput(message, hint="drumline validate PATH/TO/PLAN")
        dialect = StateDialect() if _is_state(file) else PlanDialect(markdown=file.suffix.lower() in _MARKDOWN)
        super().__init__(file, dialect, repo=repo, locks=locks)
        self._repo = repo
        self._name = _session_id(file) or self._name

    def text(self, step: Step) -> str:
        """The phase's part of the document; for a state file also what its implementation plan says of the phase."""
        found = super().text(step)
        plan = self._plan_beside()
        section = PlanDialect(markdown=True).parse(_text(plan), "").texts.get(step.id, "") if plan is not None else ""
        return f"{found}\n\n{section}" if section else found

    def _with_checks(self, doc: Parsed) -> Parsed:
        """A state file has no place for checks: those that its implementation plan lists for a phase count."""
        plan = self._plan_beside()
        if plan is None:
            return doc
        listed = {step.id: step for step in PlanDialect(markdown=True).parse(_text(plan), "").steps}
        return replace(doc, steps=tuple(_prove_by(step, listed.get(step.id)) for step in doc.steps))

    def read_document(self, kind: DocumentKind, step: Step) -> str:
        """The downstream context that a state file has of a phase; plans have none."""
        text = _text(self._file) if self.reports_progress and kind is DocumentKind.HANDOFF else ""
        region = frontmatter(text)
        data = read_data(text, region.start, region.end) if region is not None else None
        return read_downstream(data.root, step.id) if isinstance(data, Data) else ""

    def report_progress(self, progress: ProgressReport) -> str:
        """Write the report into a state file; a session that is over moves to where Maestro keeps these."""
        told = super().report_progress(progress)
        archives = progress.archives and progress.state == RunStanding.DONE and self._file.name == STATE
        if not archives or not self.reports_progress:
            return told

        def archive() -> str:
            text = self._load()
            region = frontmatter(text)
            if region is None:
                return ""
            return archive_session(self._file, text, region, repo=self._repo, beside=[self._beside])

        with self._lock.hold():
            return until_settled(archive)

    def _plan_beside(self) -> Path | None:
        """The implementation plan that a state file names, if it lies in the repository or in the plans beside it."""
        text = _text(self._file)
        region = frontmatter(text) if self.reports_progress else None
        data = read_data(text, region.start, region.end) if region is not None else None
        named = data.root.text("implementation_plan") if isinstance(data, Data) else ""
        places = (self._repo / named, self._file.parent.parent / "plans" / Path(named).name) if named else ()
        return next((place for place in places if _lies_in(place, self._repo)), None)

    def _reading(self, doc: Parsed, notes: Sidecar | Problem, digests: Mapping[str, str]) -> Reading:
        found = super()._reading(self._with_checks(doc), notes, digests)
        # A document that cannot be read is one finding, not a plan without steps as well.
        known = found.problems if doc.steps or not doc.problems else doc.problems
        return replace(found, problems=known)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether the directory or file is a plan of this format."""
        file = _choose(place)
        if file is None:
            return False
        if file.name == STATE or file.name.endswith(PLAN_ENDING):
            return True
        text = _text(file)
        if file.suffix.lower() in _DATA:
            region: Region | None = whole(text)
        elif file.suffix.lower() in _MARKDOWN:
            region = _phases_in(text)
            if region is None and read_sections(text, _body(text)):
                return True
        else:
            return False
        data = read_data(text, region.start, region.end) if region is not None else None
        return isinstance(data, Data) and data.root.get("waves") is None and find_phases(data.root) is not None


def _choose(place: Path) -> Path | None:
    """The file that holds the plan: in a directory the state file, else the newest plan by name."""
    if not place.is_dir():
        return None if place.name.endswith(SIDECAR) else place
    for state in (place / "state" / STATE, place / STATE):
        if state.is_file():
            return state
    plans = [file for folder in (place / "plans", place) for file in sorted(folder.glob(f"*{PLAN_ENDING}"))]
    return plans[-1] if plans else None


def _prove_by(step: Step, listed: Step | None) -> Step:
    """The step with the other's checks, which stand in another file and have no boxes here."""
    if step.checks or listed is None:
        return step
    checks = tuple(Check(command=check.command) for check in listed.checks)
    return replace(step, checks=checks, not_run=listed.not_run, manual=listed.manual)


def _session_id(file: Path) -> str:
    """What a session calls itself: its file has the same name in every session."""
    text = _text(file) if file.name == STATE else ""
    region = frontmatter(text)
    data = read_data(text, region.start, region.end) if region is not None else None
    found = data.root.text("session_id") if isinstance(data, Data) else ""
    return found if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", found) else ""


def _lies_in(place: Path, repo: Path) -> bool:
    """Whether a name that somebody wrote is a file inside the repository."""
    try:
        return place.is_file() and place.resolve().is_relative_to(repo)
    except (OSError, ValueError):  # a name that no file can have
        return False


def _is_state(file: Path) -> bool:
    if file.suffix.lower() not in _MARKDOWN:
        return False
    text = _text(file)
    region = frontmatter(text)
    data = read_data(text, region.start, region.end) if region is not None else None
    return file.name == STATE or (isinstance(data, Data) and find_phases(data.root) is not None)


def _phases_in(text: str) -> Region | None:
    """Data with phases in a markdown file: its frontmatter or a fenced block."""
    region = frontmatter(text)
    data = read_data(text, region.start, region.end) if region is not None else None
    if isinstance(data, Data) and find_phases(data.root) is not None:
        return region
    return fenced(text, _body(text))


def _text(file: Path) -> str:
    """The file's text, "" if it cannot be read: opening it says why."""
    data = read_bytes(file, file.name, most=DOCUMENT_BYTES)
    text = decode(data, file.name, most_lines=DOCUMENT_LINES) if isinstance(data, bytes) else ""
    return text if isinstance(text, str) else ""


def _body(text: str) -> int:
    region = frontmatter(text)
    return region.after if region is not None else len(BOM) if text.startswith(BOM) else 0


def _front_words(text: str, path: str) -> tuple[str, str, list[Problem]]:
    """Title and complexity from a plan's frontmatter, which it may do without."""
    region = frontmatter(text)
    data = read_data(text, region.start, region.end) if region is not None else None
    if isinstance(data, Flaw):
        where = f"{path}:{line_at(line_starts(text), data.offset)}"
        found = Problem(code=data.code, message=data.message, where=where, severity=Severity.WARNING)
        return "", "", [found]
    return (title_of(data.root), data.root.text("task_complexity"), []) if data is not None else ("", "", [])
