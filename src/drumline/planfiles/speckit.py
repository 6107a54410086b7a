"""The format `speckit`: a Spec Kit tasks.md. Boxes with ids such as T012 are tasks; phases and `[P]` give the order.

Stories need everything before the first of them and may run beside each other; what follows them needs all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import Status
from drumline.planfiles.checklist import find_list
from drumline.planfiles.outline import Entry, Kind, Outline, read_outline
from drumline.planfiles.speckit_phases import Phase, find_phases
from drumline.planfiles.speckit_prose import add_prose
from drumline.planfiles.tasklist import Order, Task, TaskList
from drumline.planfiles.tasklist_files import TaskListFiles, read_document
from drumline.planfiles.tasklist_names import Named, take_name

FILE = "tasks.md"
BESIDE = ("plan.md", "spec.md", "research.md", "data-model.md", "quickstart.md")
"""Documents that belong to the same feature."""
IDS = re.compile(r"[A-Z]{1,3}[0-9]{3,4}[A-Za-z]?(?:[.-][0-9]{1,2})?\b")
_CHECKPOINT = re.compile(
    r"[\W_]{0,4}(?P<what>Checkpoint|Independent Test)(?: criteria)?[*_:\s]{0,8}(?P<words>.*)", re.IGNORECASE
)
_SIGN = re.compile(r"\[P\]|\[US[0-9]+\]|^##+\s+Phase\s", re.MULTILINE)


class SpeckitGrammar:
    """Only boxes with an id are tasks: the others are the template's checklists."""

    name = "speckit"
    reads: Mapping[str, Status] = {"~": Status.CLAIMED, "/": Status.CLAIMED}
    claimed = ""
    stars = False
    flat = True
    judges = False

    def name_task(self, words: str) -> Named:
        """The id, tags and title of a task's words."""
        return take_name(words, IDS)

    def is_task(self, entry: Entry, outline: Outline) -> bool:
        """None without an id is one."""
        return False

    def order(self, tasks: TaskList, outline: Outline, path: str) -> Order:
        """What follows from phases, stories and `[P]`, and what prose adds to it."""
        phases = find_phases(tasks.tasks, outline)
        needs = _order_phases(phases)
        problems = add_prose(needs, phases, tasks.tasks, outline, path=path)
        return Order(
            needs=[tuple(needs[task.id]) for task in tasks.tasks],
            manual=dict(_find_checkpoints(phases, outline)),
            problems=tuple(problems),
        )


class SpeckitFiles(TaskListFiles):
    """One tasks.md, given as the file or as the folder of its feature."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        super().__init__(find_list(place, beside=BESIDE), SpeckitGrammar(), repo=repo, locks=locks)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether it has boxes with ids, and phases, stories or `[P]`."""
        text = read_document(place / FILE if place.is_dir() else find_list(place, beside=BESIDE))
        if not _SIGN.search(text):
            return False
        boxes = [entry.words for entry in read_outline(text).entries if entry.box >= 0]
        return any(take_name(words, IDS).id for words in boxes)


def _find_checkpoints(phases: Sequence[Phase], outline: Outline) -> Iterator[tuple[StepId, tuple[str, ...]]]:
    """What a person verifies when a phase is over, by the last of its tasks."""
    told: dict[int, list[str]] = {}
    for block in outline.blocks:
        found = _CHECKPOINT.fullmatch(" ".join(block.content.split())) if block.kind is Kind.PARAGRAPH else None
        if found:
            told.setdefault(block.heading, []).append(f"{found['what']}: {found['words'].strip(' *')}")
    for phase in phases:
        headings = dict.fromkeys(number for task in phase.tasks for number in outline.around(task.entry.heading))
        items = [item for number in headings for item in told.pop(number, ())]
        last = next((task.id for task in reversed(phase.tasks) if not task.skipped), None)
        if items and last is not None:
            yield last, tuple(sorted(items, reverse=True))


def _order_phases(phases: Sequence[Phase]) -> dict[StepId, list[StepId]]:
    needs: dict[StepId, list[StepId]] = {}
    base: list[StepId] = []
    stories: list[StepId] = []
    for phase in phases:
        entered = base if phase.story else stories or base
        left = _order_tasks(phase.tasks, entered, needs)
        if phase.story:
            stories = [*stories, *left]
        else:
            base, stories = left, []
    return needs


def _order_tasks(tasks: Sequence[Task], base: Sequence[StepId], needs: dict[StepId, list[StepId]]) -> list[StepId]:
    """Tasks in a row that are marked `[P]` run side by side, below one heading; any other waits for all before it."""
    before = list(base)
    for row in _rows(tasks):
        for task in row:
            needs[task.id] = list(before)
        before = [task.id for task in row]
    return before


def _rows(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    row: list[Task] = []
    for task in tasks:
        beside = task.named.parallel and row and row[-1].named.parallel
        if row and not (beside and row[-1].entry.heading == task.entry.heading):
            yield row
            row = []
        row.append(task)
    if row:
        yield row
