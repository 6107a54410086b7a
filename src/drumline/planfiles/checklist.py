"""The format `checklist`: any markdown file with boxes. Their order is the dependency.

It is asked last: what another format would recognise is never taken for a mere checklist.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import Status
from drumline.errors import InvalidInput
from drumline.planfiles.criteria import assign_criteria
from drumline.planfiles.outline import Entry, Outline, read_outline
from drumline.planfiles.tasklist import Order, Task, TaskList
from drumline.planfiles.tasklist_files import TaskListFiles, read_document
from drumline.planfiles.tasklist_names import Named, take_name

NAMES = ("tasks.md", "TODO.md", "PLAN.md", "IMPLEMENTATION_PLAN.md")
"""What such a file is called in a folder that is given as the plan, in this order."""
IDS = re.compile(
    r"[A-Za-z]{1,8}[-_]?[0-9]{2,5}[a-z]?\b|[A-Za-z]{1,8}[-_][0-9]{1,5}[a-z]?\b"
    r"|(?:[A-Z]{0,3}[0-9]{1,4}(?:\.[0-9]{1,4}){1,4}[a-z]?\b)|[A-Z]?[0-9]{1,4}(?=[.:)\]]+(?:[\s*_`]|$))"
)
"""`T001`, `TASK-12`, `1.2`, `P1.2`, and `1` where a period, a colon or a bracket follows."""


class ChecklistGrammar:
    """Every box is a task, and needs the one before it; criteria are verified after the last task they judge."""

    name = "checklist"
    reads: Mapping[str, Status] = {"~": Status.CLAIMED, "/": Status.CLAIMED}
    claimed = ""
    stars = False
    flat = False
    judges = True

    def name_task(self, words: str) -> Named:
        """The id, tags and title of a task's words."""
        return take_name(words, IDS)

    def is_task(self, entry: Entry, outline: Outline) -> bool:
        """Every box is one."""
        return True

    def order(self, tasks: TaskList, outline: Outline, path: str) -> Order:
        """Each needs the one before it."""
        steps = [(task.id, task.entry) for task in tasks.tasks if not task.skipped]
        return Order(needs=chain(tasks.tasks), manual=assign_criteria(tasks.criteria, outline, steps))


class ChecklistFiles(TaskListFiles):
    """One checklist, given as the file or as the folder it lies in."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        file = find_file(place, NAMES)
        super().__init__(file, ChecklistGrammar(), repo=repo, locks=locks)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether it is a markdown file with boxes, or a folder with one of the usual names."""
        files = [place / name for name in NAMES] if place.is_dir() else [place]
        return any(_has_boxes(file) for file in files)


def chain(tasks: Sequence[Task]) -> list[tuple[StepId, ...]]:
    """The order as needs: each task needs the one before it."""
    before: list[tuple[StepId, ...]] = [()]
    before += [(task.id,) for task in tasks]
    return before[: len(tasks)]


def find_list(place: Path, *, beside: Collection[str]) -> Path:
    """The tasks.md of a tool that keeps other documents `beside` it; its folder and those documents stand for it."""
    if place.is_dir():
        return find_file(place, NAMES[:1])
    tasks = place.with_name(NAMES[0])
    return tasks if place.name in beside and tasks.is_file() else place


def find_file(place: Path, names: Sequence[str]) -> Path:
    """The document itself, or the first of these names in a folder."""
    if not place.is_dir():
        return place
    found = next((place / name for name in names if (place / name).is_file()), None)
    if found is None:
        message = f"{str(place)!r} has none of {', '.join(names)}"
        raise InvalidInput(message, hint="drumline validate PATH/TO/PLAN.md")
    return found


def _has_boxes(file: Path) -> bool:
    text = read_document(file)
    return bool(text) and any(entry.box >= 0 and entry.words for entry in read_outline(text).entries)
