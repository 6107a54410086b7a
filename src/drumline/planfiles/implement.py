"""The format `implement`: one implement.md, steps in order, in either of its two variants.

`**Status:**` lines or `[status]` tags hold what they can; who has a step and since when, that a step failed rather
than blocked, and reasons of other statuses are kept in the sidecar. A foreign `in-progress` is a claim without an
owner. A skipped step is `skipped` in both variants: readers that do not know the word never start such a step.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

import yaml

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Problem, Reading, Severity, Step
from drumline.errors import InvalidInput
from drumline.planfiles import implement_writing
from drumline.planfiles.annotated import AnnotatedFiles
from drumline.planfiles.criteria import find_criteria
from drumline.planfiles.document import Parsed, Span
from drumline.planfiles.drafts import until_settled
from drumline.planfiles.frontmatter import Frontmatter
from drumline.planfiles.implement_sections import Sections, read_sections
from drumline.planfiles.implement_steps import StepPart, helped_by, link, name_repositories, read_part, read_repos
from drumline.planfiles.markdown import BY_HAND, Body, Bucket, read_body
from drumline.planfiles.outline import read_outline
from drumline.planfiles.overall import assign_overall, list_ticked, tick_items
from drumline.planfiles.preamble import read_preamble
from drumline.planfiles.rewriting import add_field
from drumline.planfiles.runstate import BRANCH, FEATURE, SPEC, STATE, find_foreign, is_spec, write_state
from drumline.planfiles.sidecar import Added
from drumline.planfiles.source import DOCUMENT_BYTES, DOCUMENT_LINES, NEWLINE, decode, escape_glob, read_bytes
from drumline.planfiles.stepfile import list_final, list_manual, list_not_run, not_run
from drumline.ports.planfiles import Correction, ProgressReport
from drumline.record import Record, replace

FILE = "implement.md"
_CHECKED = ("test", "verification")
"""Fields whose boxes are checks."""
_TITLE = re.compile(r"implementation plan\s*:\s*", re.IGNORECASE)
_TICKET = re.compile(r"#?([A-Za-z0-9][A-Za-z0-9_-]*)")


class _Document(Record):
    """A document taken apart: sections, and its steps without needs."""

    sections: Sections
    parts: tuple[StepPart, ...]

    @property
    def lined(self) -> bool:
        """Whether any step has a status line."""
        return any(part.line is not None for part in self.parts)


class _Texts(Mapping[StepId, str]):
    """What a step's prompt shows: everything above the first step, then the step. Cut out only when asked for."""

    def __init__(self, text: str, document: _Document) -> None:
        self._text = text
        self._spans = {p.step.id: (p.section.start, p.section.end) for p in reversed(document.parts)}

    def __getitem__(self, step: StepId) -> str:
        begin, end = self._spans[step]
        return NEWLINE.sub("\n", self._text[begin:end])

    def __iter__(self) -> Iterator[StepId]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


_TESTING = {"testing plan": Bucket.VERIFICATION, **BY_HAND}
"""Headings of what must hold after the last step."""


def _read_testing(text: str) -> Body:
    """What the document says must hold after the last step."""
    return read_body(text, 0, 0, buckets=_TESTING, fenced=True)


class _ImplementParsed(Parsed):
    """What the document says, and the steps that have no word for their status and get none."""

    silent: frozenset[StepId] = frozenset()


class ImplementDialect:
    """Reads and writes the words of implement.md."""

    name = "implement"
    reports_progress = False
    adds_beside = False
    # Needs follow from the order and from ids here, so nobody can write one too many.
    muted = frozenset({"redundant_need"})

    def parse(self, text: str, path: str) -> _ImplementParsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        document = _take_apart(text, path)
        marks: dict[StepId, Marks] = {}
        for part in document.parts:
            marks.setdefault(part.step.id, part.marks)
        problems = [*_head_problems(text, document, path), *(p for part in document.parts for p in part.problems)]
        final = _read_testing(text)
        return _ImplementParsed(
            steps=assign_overall(link([part.step for part in document.parts]), list_manual(final)),
            marks=marks,
            texts=_Texts(text, document),
            problems=(*problems, *not_run(final, path)),
            final=list_final(final),
            not_run=list_not_run(final),
            title=_title(document.sections.title),
            preamble=read_preamble(
                text,
                until=min((part.section.start for part in document.parts), default=None),
                after=max((part.section.end for part in document.parts), default=None),
            ),
            ticket=_ticket(document.sections, path),
            repositories=name_repositories(document.sections),
            silent=frozenset(part.step.id for part in document.parts if _is_silent(part, path)),
        )

    def shown(self, marks: Marks) -> Marks:
        """What reading the document alone would give back of these marks."""
        return implement_writing.shown(marks)

    def weave(self, parsed: Parsed, added: Sequence[Added]) -> Parsed:
        """The document as it is: corrective steps have their place in it."""
        return parsed

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """The replacements that give the step these marks, in the variant the document uses."""
        document = _take_apart(text, step.path)
        part = _find(document, step.id, step.path)
        silent = _is_silent(part, step.path)
        spans = [] if silent else implement_writing.mark_spans(text, part, marks, lined=document.lined)
        boxes = implement_writing.box_spans(part, step.checks, ticked)
        by_hand = tick_items(text, _read_testing(text), list_ticked(step, ticked)) if step.manual_lines else ()
        return [*spans, *(span for span in boxes if text[span[0]] == " "), *by_hand]

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """The insertion of a corrective step behind the step it helps and the corrections that follow it already."""
        document = _take_apart(text, helps.path)
        helped = _find(document, helps.id, helps.path)
        ids = [part.step.id for part in document.parts]
        targets = helped_by(ids)
        last = ids.index(helps.id)
        while last + 1 < len(ids) and targets.get(ids[last + 1]) == helps.id:
            last += 1
        if helped_by([*ids[: last + 1], correction.id, *ids[last + 1 :]]).get(correction.id) != helps.id:
            message = f"{correction.id!r} does not name a corrective step of {helps.id!r}; {helps.id}h would"
            raise InvalidInput(message, hint=f"drumline validate {quote(helps.path)}")
        return [implement_writing.new_step(text, correction, helped, document.parts[last].section)]

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """Nothing: the format has no progress report."""
        return []


class ImplementFiles(AnnotatedFiles):
    """One implement.md, given as the file or as the folder it lies in."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        file = place / FILE if place.is_dir() else place
        super().__init__(file, ImplementDialect(), repo=repo, locks=locks)
        self._spec = file.parent if file.name == FILE and is_spec(file.parent) else None

    @property
    def reports_progress(self) -> bool:
        """Whether other tools look for the state of a run beside the document."""
        return self._spec is not None

    @property
    def patterns(self) -> Sequence[str]:
        """The paths that are the plan's, as patterns."""
        beside = [f"{self._path.rpartition('/')[0]}/{name}" for name in (STATE, BRANCH)] if self._spec else []
        return [*super().patterns, *map(escape_glob, beside)]

    def read(self, known: Reading | None = None) -> Reading:
        """Read the plan, and say whether another tool may be at work on it."""
        reading = super().read(known)
        if self._spec is None or reading is known:
            return reading
        foreign = find_foreign(self._spec, self._path.rpartition("/")[0], time.time())
        problems = (*reading.problems, foreign) if foreign else reading.problems
        return replace(reading, plan=replace(reading.plan, branch=f"{FEATURE}{self._spec.name}"), problems=problems)

    def _add_case(self, text: str, step: Step, said: str, *, by: StepId) -> str | None:
        """A line `**Edge cases:**` in the step's section, or more on that line."""
        section = _find(_take_apart(text, step.path), step.id, step.path).section
        found = section.first("edge cases")
        place = (found.first, found.last) if found is not None else None
        return add_field(text, section.start, section.end, said, by=by, field=place)

    def report_progress(self, progress: ProgressReport) -> str:
        """Bring the state up to date that other tools read."""
        if self._spec is not None:
            with self._lock.hold():
                until_settled(partial(write_state, self._spec, progress))
        return ""

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether it is an implement.md, a folder with one, or a markdown file with steps of that kind."""
        if place.is_dir():
            return (place / FILE).is_file()
        if place.name == FILE:
            return True
        data = read_bytes(place, "", most=DOCUMENT_BYTES) if place.suffix == ".md" else None
        text = decode(data, "", most_lines=DOCUMENT_LINES) if isinstance(data, bytes) else None
        return isinstance(text, str) and _has_steps(text)

    def _shown(self, step: StepId, marks: Marks) -> Marks:
        """A step without a word for its status shows nothing, unless it stands in an implement.md, which gets one."""
        parsed = self._parse(self._load())
        silent = isinstance(parsed, _ImplementParsed) and step in parsed.silent
        return Marks() if silent else self._frugal.shown(marks)


def _has_steps(text: str) -> bool:
    """Whether the headings are steps: if nothing says how far they are, not with boxes below them or more boxes than
    steps elsewhere, which are the steps then.
    """
    sections = read_sections(text, "")
    if not sections.steps:
        return False
    parts = _take_apart(text, "").parts
    if any(part.tag is not None or part.line is not None for part in parts):
        return True
    checks = {i.box for part in parts for name in _CHECKED for i in getattr(part.section.first(name), "items", ())}
    outline = read_outline(text)
    criteria = find_criteria(outline)
    others = [(n, entry.box) for n, entry in enumerate(outline.entries) if entry.box >= 0 and entry.words]
    if sum(number not in criteria and box not in checks for number, box in others) > len(parts):
        return False
    boxes = [box for _, box in others if box not in checks]
    return not any(part.section.start <= box < part.section.end for part in parts for box in boxes)


def _take_apart(text: str, path: str) -> _Document:
    sections = read_sections(text, path)
    repos = read_repos(sections)
    parts = tuple(read_part(text, section, path, repos) for section in sections.steps)
    return _Document(sections=sections, parts=parts)


def _find(document: _Document, step: StepId, path: str) -> StepPart:
    for part in document.parts:
        if part.step.id == step:
            return part
    raise InvalidInput(f"{path} has no step {step!r}", hint=f"drumline validate {quote(path)}")


def _is_silent(part: StepPart, path: str) -> bool:
    """Whether a step has no word for its status in a document of somebody's own, where none is added."""
    return part.tag is None and part.line is None and path.rpartition("/")[2] != FILE


def _head_problems(text: str, document: _Document, path: str) -> Iterator[Problem]:
    front = document.sections.front
    if isinstance(front, Problem) and front.code != "no_frontmatter":
        yield replace(front, severity=Severity.WARNING)
    elif isinstance(front, Frontmatter):
        yield from (replace(problem, severity=Severity.WARNING) for problem in front.problems)
    yield from _confidence(text, front, path)
    for line in document.sections.almost:
        message = "looks like a step's heading, but nothing in it can be an id; it is read as text"
        yield _warning("heading_unread", message, path, line)
    if document.lined and any(part.tag is not None for part in document.parts):
        first = next(part for part in document.parts if part.tag is not None)
        message = "has its status in the heading, other steps have it on a line; each is kept as it is"
        yield _warning("mixed_variants", message, path, first.section.line)


def read_provenance(text: str, front: Frontmatter) -> dict[str, str]:
    """What the plan says of its own making: agent, model, created, confidence, verified."""
    entry = front.entries.get("provenance")
    if entry is None:
        return {}
    try:
        # The frontmatter was read already: it is small, shallow and without aliases.
        found = yaml.safe_load(text[entry.first : entry.last])
    except (yaml.YAMLError, ValueError):
        return {}
    value = found.get("provenance") if isinstance(found, dict) else None
    return {str(key): str(word) for key, word in value.items()} if isinstance(value, dict) else {}


def _confidence(text: str, front: Frontmatter | Problem, path: str) -> Iterator[Problem]:
    found = read_provenance(text, front) if isinstance(front, Frontmatter) else {}
    if isinstance(front, Frontmatter) and found.get("confidence", "").lower() == "low":
        message = "the plan's own confidence is low; read it before it is run"
        yield _warning("low_confidence", message, path, front.line("provenance"))


def _warning(code: str, message: str, path: str, line: int) -> Problem:
    return Problem(code=code, message=message, where=f"{path}:{line}", severity=Severity.WARNING)


def _title(heading: str) -> str:
    found = _TITLE.match(heading)
    return heading[found.end() :] if found else heading


def _ticket(sections: Sections, path: str) -> str:
    """The work item the plan names, else the id that its folder's name begins with."""
    found = sections.head("work item")
    named = _TICKET.match(found.value.strip("`[ ")) if found is not None else None
    folder = SPEC.fullmatch(path.rpartition("/")[0].rpartition("/")[2])
    return named[1] if named else folder[1] if folder else ""
