"""The linear variant of the native format: one file with `## Phase N:` headings and criteria for each phase.

Each phase needs the one before it. The file has no word for a status: a phase is done when the box of every command
under its Automated Verification is ticked. All other marks go into the sidecar, and so does `done` for a phase without
such boxes. A phase that is not done therefore always keeps one box open.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Problem, Status, Step
from drumline.errors import InvalidInput
from drumline.patterns import compile_late
from drumline.planfiles.annotated import AnnotatedFiles
from drumline.planfiles.correction import code_span, escape_heading, list_single, newline_of, quote
from drumline.planfiles.document import Parsed, Span
from drumline.planfiles.frontmatter import read_frontmatter
from drumline.planfiles.markdown import Body, Bucket, parse_blocks, read_body
from drumline.planfiles.overall import assign_overall, list_ticked, tick_items
from drumline.planfiles.preamble import read_preamble
from drumline.planfiles.rootfile import read_final, read_root
from drumline.planfiles.sidecar import Added
from drumline.planfiles.source import (
    BOM,
    DOCUMENT_BYTES,
    DOCUMENT_LINES,
    NEWLINE,
    decode,
    digest,
    line_starts,
    read_bytes,
)
from drumline.planfiles.stepfile import manual_items, manual_lines, not_run, replace_spans, step_checks, structure
from drumline.planfiles.writing import match_checks
from drumline.ports.planfiles import Correction, ProgressReport
from drumline.record import Record, replace

_HEADING = compile_late(
    r"[*_]*phase\s+([0-9]+(?:[hm][0-9]*)?|R[0-9]+[a-z]?)\s*(?::|-|–|—)\s*(.*)", re.IGNORECASE | re.DOTALL
)
_CRITERIA = compile_late(r"criteri|acceptance|definition of done|verif|checkpoint|\bqa\b")
_SUFFIXES = (".md", ".markdown")


class _Phase(Record):
    """One section: its id and title, where it stands, and what it holds. Box offsets are those of the document."""

    id: StepId
    title: str
    corrective: bool
    line: int
    start: int
    end: int
    body: Body
    checks: tuple[Check, ...]
    text_digest: str

    def boxes(self) -> list[int]:
        """The boxes that say whether it is done, from top to bottom: those of the commands, else those of its tasks."""
        commands = [self.body.boxes[check.line] for check in self.checks if check.line in self.body.boxes]
        return commands or self._tasks()

    def _tasks(self) -> list[int]:
        """The boxes that are not criteria: nobody has verified those when the phase lands."""
        criteria = {item.line for item in self.body.items}
        headings = sorted((line, words) for words, line in self.body.headings.items())
        return [box for line, box in self.body.boxes.items() if line not in criteria and _is_task(line, headings)]


class _LinearParsed(Parsed):
    """What the document says, and which phases have boxes that can say they are done."""

    boxed: frozenset[StepId] = frozenset()


class LinearDialect:
    """The words of a plan in phases."""

    name = "dag"
    reports_progress = False
    muted: frozenset[str] = frozenset({"redundant_need"})
    adds_beside = False

    def parse(self, text: str, path: str) -> _LinearParsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        root = read_root(text, path)
        phases = _read_phases(text)
        needs = _needs(phases)
        problems = list(root.problems)
        for phase in phases:
            problems += not_run(phase.body, path)
            problems += structure(text, phase.body, None, path)
        return _LinearParsed(
            steps=assign_overall([_step(phase, needs[n], path) for n, phase in enumerate(phases)], root.manual),
            marks={phase.id: _shown_marks(text, phase) for phase in phases},
            texts={phase.id: NEWLINE.sub("\n", text[phase.start : phase.end]) for phase in phases},
            problems=tuple(problems),
            title=root.title,
            preamble=read_preamble(text, steps=frozenset(phase.start for phase in phases)),
            preflight=root.preflight,
            autonomy=root.autonomy,
            require=root.require,
            kinds=root.kinds,
            final=root.final,
            not_run=root.not_run,
            boxed=frozenset(phase.id for phase in phases if phase.boxes()),
        )

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """Tick all boxes of a phase that is done; of any other those asked for, but not the last open one."""
        phase = next((phase for phase in _read_phases(text) if phase.id == step.id), None)
        if phase is None:
            return []
        return [*self._box_spans(text, phase, step, marks, ticked), *_manual_spans(text, phase, step, ticked)]

    def _box_spans(self, text: str, phase: _Phase, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        boxes = phase.boxes()
        if marks.status is Status.DONE:
            return [(box, box + 1, "x") for box in boxes if text[box] == " "]
        if boxes and all(text[box] != " " for box in boxes):
            return [(box, box + 1, " ") for box in boxes]
        lines = match_checks(step.checks, phase.checks)
        wanted = {phase.body.boxes.get(lines.get(line, 0), -1) for line in ticked}
        opened = [box for box in boxes if text[box] == " "]
        spans = [(box, box + 1, "x") for box in opened if box in wanted]
        return spans[:-1] if len(spans) == len(opened) else spans

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """A further phase behind the one it helps."""
        phase = next((phase for phase in _read_phases(text) if phase.id == helps.id), None)
        if phase is None:
            raise InvalidInput(f"there is no phase {helps.id!r}", hint="drumline validate PATH/TO/PLAN")
        newline = newline_of(text)
        lead = "" if text[: phase.end].endswith(("\n", "\r")) else newline
        blank = "" if text[: phase.end].endswith(newline * 2) else newline
        made = _corrective_text(correction).replace("\n", newline)
        tail = newline if phase.end < len(text) else ""
        return [(phase.end, phase.end, f"{lead}{blank}{made}{tail}")]

    def write_progress(self, _text: str, _progress: ProgressReport) -> list[Span]:
        """Nothing: the format has no progress report."""
        return []

    def shown(self, marks: Marks) -> Marks:
        """What the boxes can say: done or not."""
        return Marks(status=Status.DONE if marks.status is Status.DONE else Status.READY)

    def weave(self, parsed: Parsed, _added: Sequence[Added]) -> Parsed:
        """The document as it is: corrective phases stand in it."""
        return parsed


class LinearFiles(AnnotatedFiles):
    """One plan in phases."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        super().__init__(place, LinearDialect(), repo=repo, locks=locks)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether the file has phases with success criteria."""
        if place.suffix.casefold() not in _SUFFIXES or not place.is_file():
            return False
        data = read_bytes(place, "", most=DOCUMENT_BYTES)
        text = data if isinstance(data, Problem) else decode(data, "", most_lines=DOCUMENT_LINES)
        if isinstance(text, Problem):
            return False
        criteria = {"success criteria", *(bucket.value for bucket in Bucket)}
        return any(criteria & set(phase.body.headings) for phase in _read_phases(text))

    def _shown(self, step: StepId, marks: Marks) -> Marks:
        """A phase without boxes shows nothing."""
        parsed = self._parse(self._load())
        boxed = isinstance(parsed, _LinearParsed) and step in parsed.boxed
        return self._frugal.shown(marks) if boxed else Marks()


@lru_cache(maxsize=4)
def _read_phases(text: str) -> tuple[_Phase, ...]:
    """All phases from top to bottom; remembered, since one write looks at the same text several times."""
    front = read_frontmatter(text, "")
    first = (len(BOM) if text.startswith(BOM) else 0, 0)
    begin, lines_before = first if isinstance(front, Problem) else (front.body, front.body_line)
    starts = line_starts(text, begin)
    found: list[_Phase] = []
    sections = list(_sections(text[begin:]))
    for number, (heading, line) in enumerate(sections):
        match = _HEADING.fullmatch(heading.strip())
        if match:
            after = sections[number + 1][1] if number + 1 < len(sections) else len(starts)
            end = starts[after] if after < len(starts) else len(text)
            found.append(_phase(text, match, first_line=lines_before + line, start=starts[line], end=end))
    return tuple(found)


def _sections(body: str) -> Iterator[tuple[str, int]]:
    """Each heading of the first two levels with its line, counted from 0."""
    tokens = parse_blocks(body)
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.tag in ("h1", "h2") and token.map is not None:
            yield (tokens[number + 1].content if token.tag == "h2" else ""), token.map[0]


def _phase(text: str, match: re.Match[str], *, first_line: int, start: int, end: int) -> _Phase:
    section = text[start:end]
    body = read_body(section, 0, first_line)
    neutral = replace_spans(section, [(box, box + 1, " ") for box in body.boxes.values()])
    label = match[1]
    return _Phase(
        id=StepId(f"phase-{label.casefold()}" if label[0].isdigit() else label.upper()[0] + label[1:]),
        title=" ".join(match[2].strip("*_ ").split()),
        corrective=not label.isdigit(),
        line=first_line + 1,
        start=start,
        end=end,
        body=replace(body, boxes={line: start + box for line, box in body.boxes.items()}),
        checks=step_checks(body),
        text_digest=digest(neutral.encode()),
    )


def _is_task(line: int, headings: Sequence[tuple[int, str]]) -> bool:
    """Whether what stands on the line is not below a heading about criteria."""
    place = bisect_right(headings, line, key=lambda heading: heading[0])
    return not place or not _CRITERIA.search(headings[place - 1][1])


def _needs(phases: Sequence[_Phase]) -> list[tuple[StepId, ...]]:
    """What each phase needs: the one before it; a corrective one what the phase above it needs, which waits for it."""
    needs: list[tuple[StepId, ...]] = []
    before: tuple[StepId, ...] = ()
    inherited: tuple[StepId, ...] = ()
    above = -1
    for number, phase in enumerate(phases):
        if phase.corrective and above >= 0:
            needs.append(inherited)
            needs[above] = (*needs[above], phase.id)
            continue
        needs.append(before)
        inherited, above, before = before, number, (phase.id,)
    return needs


def _step(phase: _Phase, needs: tuple[StepId, ...], path: str) -> Step:
    items = phase.body.items
    runnable = {check.line for check in phase.checks}
    return Step(
        id=phase.id,
        title=phase.title or phase.id,
        needs=needs,
        ordered=True,
        checks=phase.checks,
        not_run=tuple(i.text for i in items if i.bucket is Bucket.VERIFICATION and i.line not in runnable),
        manual=manual_items(phase.body),
        manual_lines=manual_lines(phase.body),
        path=path,
        line=phase.line,
        text_digest=phase.text_digest,
    )


def _manual_spans(text: str, phase: _Phase, step: Step, ticked: Sequence[int]) -> Iterator[Span]:
    """The boxes of what a person verified, below the phase and for the plan as a whole."""
    items = list_ticked(step, ticked) if step.manual_lines else ()
    yield from tick_items(text, phase.body, items)
    yield from tick_items(text, read_final(text), items) if items else ()


def _shown_marks(text: str, phase: _Phase) -> Marks:
    boxes = phase.boxes()
    done = bool(boxes) and all(text[box] != " " for box in boxes)
    return Marks(status=Status.DONE if done else Status.READY)


def _corrective_text(correction: Correction) -> str:
    label = correction.id.removeprefix("phase-")
    own = [line.strip() for line in NEWLINE.split(correction.test) if line.strip()]
    commands = dict.fromkeys([*own, *list_single(replace(correction, test=""))])
    listed = "".join(f"- [ ] {code_span(command)}\n" for command in commands)
    files = f"Files: {', '.join(code_span(file) for file in correction.files)}\n\n" if correction.files else ""
    return (
        f"## Phase {label}: {escape_heading(correction.title)}\n\n{quote(correction.what)}\n\nWhy:\n\n"
        f"{quote(correction.why)}\n\n{files}#### Automated Verification:\n\n{listed}"
    )
