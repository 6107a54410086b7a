"""The format `superpowers`: one document with `### Task N:` sections, each with files, interfaces and steps to tick.

Each task needs the one before it. A task is done when every box in its section is ticked; all other marks go into the
sidecar, and so does `done` of a task without boxes. Its checks are the commands that it says to run and to pass.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Problem, Status, Step
from drumline.core.validation import normal_path
from drumline.planfiles.annotated import AnnotatedFiles
from drumline.planfiles.document import Parsed, Span
from drumline.planfiles.outline import Block, Entry, Heading, Outline, read_outline
from drumline.planfiles.sidecar import Added
from drumline.planfiles.source import NEWLINE, digest
from drumline.planfiles.spans import code_spans
from drumline.planfiles.stepfile import replace_spans
from drumline.planfiles.superpowers_checks import read_checks
from drumline.planfiles.tasklist import DONE_MARK, DONE_MARKS, OPEN_MARK, warning
from drumline.planfiles.tasklist_files import read_document
from drumline.planfiles.tasklist_names import shorten
from drumline.planfiles.weaving import weave_beside
from drumline.planfiles.writing import match_checks
from drumline.ports.planfiles import Correction, ProgressReport
from drumline.record import Record

MOST_HEAD = 8_000
"""Letters of what stands above the first task that a prompt shows."""
_TASK = re.compile(
    r"[*_]*(?:Task\s+(?P<id>[0-9]+(?:\.[0-9]+)*[A-Za-z]?|[A-Z][0-9]*(?:\.[0-9]+)*)"
    r"|(?P<code>[A-Z]{1,3}[0-9]{3}[a-z]?)(?=\s*:))"
    r"[*_]*\s*(?:[:.–—-]|\)|$)[*_\s]*(?P<title>.*)",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"[*_]*(?:create|modify|tests?|delete|update|add|new|rename|move|edit|extend|remove)\b[^:`]{0,40}:", re.IGNORECASE
)
_LINES = re.compile(r":[0-9][0-9,\s-]*$")

Part = TypeVar("Part", Entry, Block)


class Section(Record):
    """One task: its heading, the items and blocks of its section, and its checks."""

    id: StepId
    title: str
    heading: Heading
    boxes: tuple[Entry, ...]
    files: tuple[str, ...]
    checks: tuple[Check, ...]
    not_run: tuple[str, ...]
    text_digest: str


class SectionsParsed(Parsed):
    """What the document says, and which tasks have boxes that can say they are done."""

    boxed: frozenset[StepId] = frozenset()


class _Texts(Mapping[StepId, str]):
    """What a prompt shows: what stands above the first task, then the task. Cut out only when asked for."""

    def __init__(self, text: str, sections: Sequence[Section], begin: int) -> None:
        self._text = text
        self._spans = {one.id: (one.heading.start, one.heading.end) for one in reversed(sections)}
        self._head = (begin, min(sections[0].heading.start, begin + MOST_HEAD) if sections else begin)

    def __getitem__(self, step: StepId) -> str:
        start, end = self._spans[step]
        return NEWLINE.sub("\n", self._text[slice(*self._head)] + "\n\n" + self._text[start:end]).lstrip("\n")

    def __iter__(self) -> Iterator[StepId]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


class SuperpowersDialect:
    """The words of a plan in tasks."""

    name = "superpowers"
    reports_progress = False
    muted: frozenset[str] = frozenset({"redundant_need"})
    adds_beside = True

    def __init__(self) -> None:
        self._sections = lru_cache(maxsize=4)(read_sections)

    def parse(self, text: str, path: str) -> SectionsParsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        sections, problems = self._sections(text, path)
        before: list[tuple[StepId, ...]] = [(), *((one.id,) for one in sections)]
        return SectionsParsed(
            steps=tuple(_step(one, needs, path) for one, needs in zip(sections, before, strict=False)),
            marks={one.id: _marks(one) for one in sections},
            texts=_Texts(text, sections, read_outline(text).begin),
            problems=problems,
            title=read_outline(text).title(),
            boxed=frozenset(one.id for one in sections if one.boxes),
        )

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """Tick all boxes of a task that is done; of any other those of its checks, but not the last open one."""
        sections, _ = self._sections(text, step.path)
        section = next((one for one in sections if one.id == step.id), None)
        if section is None or not section.boxes:
            return []
        opened = [box for box in section.boxes if box.mark not in DONE_MARKS]
        if marks.status is Status.DONE:
            return [(box.box, box.box + 1, DONE_MARK) for box in opened]
        if not opened:
            return [(box.box, box.box + 1, OPEN_MARK) for box in section.boxes]
        lines = match_checks(step.checks, section.checks)
        wanted = {lines.get(line, 0) for line in ticked}
        spans = [(box.box, box.box + 1, DONE_MARK) for box in opened if box.line in wanted and box.mark.isspace()]
        return spans[:-1] if len(spans) == len(opened) else spans

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """Nothing: corrective steps are kept beside the document."""
        return []

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """Nothing: the format has no progress report."""
        return []

    def shown(self, marks: Marks) -> Marks:
        """What the boxes can say: done or not."""
        return Marks(status=Status.DONE if marks.status is Status.DONE else Status.READY)

    def weave(self, parsed: Parsed, added: Sequence[Added]) -> Parsed:
        """The document's tasks with the corrective steps behind the ones they help."""
        return weave_beside(parsed, added)


class SuperpowersFiles(AnnotatedFiles):
    """One plan in tasks."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        super().__init__(place, SuperpowersDialect(), repo=repo, locks=locks)
        self._shows: Parsed = SectionsParsed()

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether the file has headings of tasks."""
        text = read_document(place)
        return bool(text) and has_tasks(read_outline(text))

    def _parse(self, text: str) -> Parsed:
        self._shows = super()._parse(text)
        return self._shows

    def _shown(self, step: StepId, marks: Marks) -> Marks:
        """A task without boxes, and a corrective step, show nothing."""
        boxed = isinstance(self._shows, SectionsParsed) and step in self._shows.boxed
        return self._frugal.shown(marks) if boxed else Marks()


def has_tasks(outline: Outline) -> bool:
    """Whether a document has headings of tasks."""
    return any(_TASK.fullmatch(heading.words) for heading in outline.headings)


def read_sections(text: str, path: str) -> tuple[tuple[Section, ...], tuple[Problem, ...]]:
    """The tasks from top to bottom; a task with others in it is a heading above them and no task."""
    outline = read_outline(text)
    found = [(heading, match) for heading in outline.headings if (match := _TASK.fullmatch(heading.words))]
    parents = {number for heading, _ in found for number in outline.around(heading.parent)}
    outer = {outline.headings[number].start for number in parents}
    problems: list[Problem] = []
    sections: list[Section] = []
    taken: dict[str, int] = {}
    for heading, match in found:
        if heading.start in outer:
            continue
        own = match["id"] or match["code"]
        count = taken[own] = taken.get(own, 0) + 1
        step = StepId(own if count == 1 else f"{own}-{count}")
        if count > 1:
            message = f"the id {own!r} is there already; this task is called {step!r}"
            problems.append(warning("id_twice", message, path, heading.line))
        section, faults = _read_section(text, outline, heading, step=step, title=match["title"], path=path)
        sections.append(section)
        problems += faults
    return tuple(sections), tuple(problems)


def _read_section(
    text: str, outline: Outline, heading: Heading, *, step: StepId, title: str, path: str
) -> tuple[Section, Sequence[Problem]]:
    entries = _between(outline.entries, heading)
    boxes = tuple(entry for entry in entries if entry.box >= 0)
    found = read_checks(_between(outline.blocks, heading), boxes, path)
    cuts = [(box.box - heading.start, box.box - heading.start + 1, OPEN_MARK) for box in boxes]
    neutral = replace_spans(text[heading.start : heading.end], cuts).rstrip()
    section = Section(
        id=step,
        title=shorten(title.strip("* \t")) or step,
        heading=heading,
        boxes=boxes,
        files=tuple(_find_files(entries)),
        checks=found.checks,
        not_run=found.not_run,
        text_digest=digest(neutral.encode("utf-8", "surrogatepass")),
    )
    return section, found.problems


def _between(parts: Sequence[Part], heading: Heading) -> Sequence[Part]:
    """The parts that stand in the section of a heading."""
    first = bisect_left(parts, heading.start, key=lambda part: part.start)
    last = bisect_left(parts, heading.end, key=lambda part: part.start)
    return parts[first:last]


def _find_files(entries: Sequence[Entry]) -> Iterator[str]:
    """The paths of items such as ``Modify: `src/a.py:10-20` ``, each once."""
    named = [_LINES.sub("", code) for entry in entries if _FILE.match(entry.words) for code in code_spans(entry.words)]
    paths = (normal_path(code) for code in named if not re.search(r"[\s()<>{}=;$]", code) and re.search(r"[./]", code))
    yield from dict.fromkeys(path for path in paths if path)


def _marks(section: Section) -> Marks:
    done = bool(section.boxes) and all(box.mark in DONE_MARKS for box in section.boxes)
    return Marks(status=Status.DONE if done else Status.READY)


def _step(section: Section, needs: tuple[StepId, ...], path: str) -> Step:
    return Step(
        id=section.id,
        title=section.title,
        needs=needs,
        files=section.files,
        checks=section.checks,
        not_run=section.not_run,
        binding=False,
        ordered=True,
        path=path,
        line=section.heading.line,
        text_digest=section.text_digest,
    )
