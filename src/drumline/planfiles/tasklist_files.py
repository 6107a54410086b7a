"""Plans that are lists of tasks in one markdown file: read, and ticked by changing the character in a box.

A box says done or not, in some formats also in work. Everything else is kept in the sidecar, and so are corrective
steps. A task that is optional in its format, or deferred, counts as skipped while its box is not ticked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Problem, Status, Step
from drumline.planfiles.annotated import AnnotatedFiles
from drumline.planfiles.criteria import name_criteria
from drumline.planfiles.document import Parsed, Span
from drumline.planfiles.outline import Entry, Outline, read_outline
from drumline.planfiles.overall import list_ticked
from drumline.planfiles.sidecar import Added
from drumline.planfiles.source import DOCUMENT_BYTES, DOCUMENT_LINES, decode, digest, read_bytes
from drumline.planfiles.stepfile import replace_spans
from drumline.planfiles.tasklist import DONE_MARK, OPEN_MARK, Grammar, Task, TaskList, find_tasks, read_mark
from drumline.planfiles.tasklist_groups import Group, hand_down
from drumline.planfiles.tasklist_text import Texts, find_checks, find_files, find_group_checks
from drumline.planfiles.weaving import weave_beside
from drumline.planfiles.writing import match_checks
from drumline.ports.planfiles import Correction, ProgressReport
from drumline.record import field, replace

SUFFIXES = (".md", ".markdown")


class TasksParsed(Parsed):
    """What the document says, and the tasks that are not done by what it says."""

    skipped: Mapping[StepId, Task] = field(default_factory=dict)


class TaskListDialect:
    """The words of a list of tasks, as one grammar has them."""

    reports_progress = False
    muted: frozenset[str] = frozenset({"redundant_need"})
    adds_beside = True

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.name = grammar.name
        self._take_apart = lru_cache(maxsize=4)(self._read_tasks)

    def parse(self, text: str, path: str) -> TasksParsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        outline, tasks = self._take_apart(text, path)
        order = self.grammar.order(tasks, outline, path)
        boxes = name_criteria(tasks.criteria, outline)
        steps = [
            replace(_step(task, text, outline, path), needs=needs, **_list_manual(order.manual.get(task.id, ()), boxes))
            for task, needs in zip(tasks.tasks, order.needs, strict=True)
        ]
        checked, unchecked = hand_down(steps, _find_groups(tasks, outline), path)
        return TasksParsed(
            steps=checked,
            marks={task.id: self._marks(task) for task in tasks.tasks},
            texts=Texts(text, outline, tasks),
            problems=(*tasks.problems, *order.problems, *unchecked),
            title=outline.title(),
            skipped={task.id: task for task in tasks.tasks if task.skipped},
        )

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """The boxes to change: the step's own, those of its items and groups once it is done, those of checks."""
        outline, tasks = self._take_apart(text, step.path)
        task = next((task for task in tasks.tasks if task.id == step.id), None)
        if task is None:
            return []
        spans = list(self._own_spans(task, marks, outline))
        spans += self._group_spans(task, marks, outline, tasks)
        boxes = {outline.entries[number].line: outline.entries[number].box for number in task.items(outline)}
        lines = match_checks(step.checks, find_checks(task, outline))
        wanted = {boxes.get(lines.get(line, 0), -1) for line in ticked}
        by_hand = name_criteria(tasks.criteria, outline) if step.manual_lines else {}
        wanted |= {by_hand[item].box for item in list_ticked(step, ticked) if item in by_hand}
        spans += [(box, box + 1, DONE_MARK) for box in wanted if box >= 0 and text[box] == OPEN_MARK]
        return list(dict.fromkeys(spans))

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """Nothing: corrective steps are kept beside the document."""
        return []

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """Nothing: the format has no progress report."""
        return []

    def shown(self, marks: Marks) -> Marks:
        """What a box can say."""
        in_work = marks.status is Status.CLAIMED and bool(self.grammar.claimed)
        return Marks(status=marks.status if in_work or marks.status is Status.DONE else Status.READY)

    def weave(self, parsed: Parsed, added: Sequence[Added]) -> Parsed:
        """The document's tasks with the corrective steps behind the ones they help."""
        return weave_beside(parsed, added)

    def _read_tasks(self, text: str, path: str) -> tuple[Outline, TaskList]:
        outline = read_outline(text)
        return outline, find_tasks(outline, self.grammar, path)

    def _marks(self, task: Task) -> Marks:
        return skip(task, Marks(status=read_mark(task.entry.mark, self.grammar)))

    def _own_spans(self, task: Task, marks: Marks, outline: Outline) -> Iterator[Span]:
        entry = task.entry
        if marks.status is Status.SKIPPED and self._marks(task).status is Status.SKIPPED:
            return
        wanted = Marks(status=Status.READY) if marks.status is Status.SKIPPED else marks
        if read_mark(entry.mark, self.grammar) is not wanted.status:
            yield entry.box, entry.box + 1, self._mark(wanted.status)
        if wanted.status is not Status.DONE:
            return
        for item in (outline.entries[number] for number in task.items(outline)):
            if item.box >= 0 and item.mark.isspace():
                yield item.box, item.box + 1, DONE_MARK

    def _group_spans(self, task: Task, marks: Marks, outline: Outline, tasks: TaskList) -> Iterator[Span]:
        """A group is ticked with the last of its tasks, and opened again with the first that is."""
        before = read_mark(task.entry.mark, self.grammar)
        for group in task.groups:
            entry = outline.entries[group]
            mates = [other for other in tasks.tasks if group in other.groups and other.id != task.id]
            done = all(self._marks(mate).status in (Status.DONE, Status.SKIPPED) for mate in mates)
            ticked = read_mark(entry.mark, self.grammar) is Status.DONE
            if marks.status is Status.DONE and done and not ticked:
                yield entry.box, entry.box + 1, DONE_MARK
            elif marks.status is not Status.DONE and before is Status.DONE and ticked:
                yield entry.box, entry.box + 1, OPEN_MARK

    def _mark(self, status: Status) -> str:
        if status is Status.DONE:
            return DONE_MARK
        return self.grammar.claimed if status is Status.CLAIMED and self.grammar.claimed else OPEN_MARK


class TaskListFiles(AnnotatedFiles):
    """One list of tasks. `file` is the document itself."""

    def __init__(self, file: Path, grammar: Grammar, *, repo: Path, locks: Path | None = None) -> None:
        super().__init__(file, TaskListDialect(grammar), repo=repo, locks=locks)
        self._shows: Parsed = TasksParsed()

    def _parse(self, text: str) -> Parsed:
        self._shows = super()._parse(text)
        return self._shows

    def _shown(self, step: StepId, marks: Marks) -> Marks:
        """A corrective step shows nothing; a task that is not to be done shows that it is skipped."""
        if step not in self._shows.marks:
            return Marks()
        shown = self._frugal.shown(marks)
        task = self._shows.skipped.get(step) if isinstance(self._shows, TasksParsed) else None
        return shown if task is None else skip(task, shown)


def skip(task: Task, marks: Marks) -> Marks:
    """The marks of a task; skipped if it is not to be done and is not done."""
    begun = marks.status is Status.CLAIMED and not task.deferred
    kept = not task.skipped or begun or marks.status is Status.DONE
    return marks if kept else Marks(status=Status.SKIPPED, reason=task.skipped)


def read_document(place: Path) -> str:
    """The text of a markdown file, "" if it is none that can be read; for telling formats apart."""
    if place.suffix.casefold() not in SUFFIXES or not place.is_file():
        return ""
    data = read_bytes(place, "", most=DOCUMENT_BYTES)
    text = data if isinstance(data, Problem) else decode(data, "", most_lines=DOCUMENT_LINES)
    return "" if isinstance(text, Problem) else text


def _find_groups(tasks: TaskList, outline: Outline) -> list[Group]:
    """The groups that name checks in items of their own."""
    checks = find_group_checks(tasks, outline)
    members: dict[int, list[StepId]] = {number: [] for number in checks}
    for task in tasks.tasks:
        for number in task.groups:
            if number in members and not task.skipped:
                members[number].append(task.id)
    return [
        Group(
            name=f"the group {tasks.groups[number].id or tasks.groups[number].title}",
            members=tuple(members[number]),
            checks=found,
            line=outline.entries[number].line,
        )
        for number, found in checks.items()
    ]


def _list_manual(items: tuple[str, ...], boxes: Mapping[str, Entry]) -> dict[str, tuple[Any, ...]]:
    """What a person verifies about a task, with the lines of those items that have a box."""
    lines = tuple(boxes[item].line if item in boxes else 0 for item in items)
    return {"manual": items, "manual_lines": lines if any(lines) else ()}


def _step(task: Task, text: str, outline: Outline, path: str) -> Step:
    entry = task.entry
    boxes = [outline.entries[number].box for number in (task.number, *outline.inside(task.number))]
    written = text[entry.start : entry.end]
    cuts = [(box - entry.start, box - entry.start + 1, OPEN_MARK) for box in boxes if box >= 0]
    neutral = replace_spans(written, cuts).rstrip()
    checks = find_checks(task, outline)
    words = " ".join([entry.words, *(outline.entries[number].words for number in task.items(outline))])
    return Step(
        id=task.id,
        title=task.named.title or task.id,
        files=find_files(words),
        checks=checks,
        binding=False,
        ordered=True,
        path=path,
        line=entry.line,
        text_digest=digest(neutral.encode("utf-8", "surrogatepass")),
    )
