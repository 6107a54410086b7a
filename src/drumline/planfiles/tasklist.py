"""Lists of tasks in markdown: which boxes are steps, which are a step's items, and which head a group of steps.

A box with an id is a step wherever it stands; one without is a step unless it is nested in another. A step with further
steps in it, or whose id begins theirs (`1` and `1.1`), is a group: it is ticked with the last of them, so every box
beside those is a step, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from drumline.core.ids import StepId
from drumline.core.plan import Problem, Severity, Status
from drumline.planfiles.criteria import find_criteria
from drumline.planfiles.deferral import find_deferred
from drumline.planfiles.outline import Entry, Outline
from drumline.planfiles.tasklist_names import Named, make_slug
from drumline.record import Record, field

DONE_MARKS = frozenset("xX✓✔✅☑")
OPEN_MARK = " "
DONE_MARK = "x"


class Task(Record):
    """A box that is a step: the number of its list item, what its words say, its groups from the outside in.

    `skipped` says why it is not done, "" if it is; `deferred` that this holds for work that was begun, too. `apart` are
    the boxes of the optional tasks that belong to it, which are none of its items.
    """

    id: StepId
    number: int
    entry: Entry
    named: Named
    groups: tuple[int, ...] = ()
    skipped: str = ""
    deferred: bool = False
    apart: frozenset[int] = frozenset()

    def items(self, outline: Outline) -> Iterator[int]:
        """The numbers of the items that the task is done with, from top to bottom."""
        return outline.inside(self.number, without=self.apart)


class TaskList(Record):
    """All tasks from top to bottom, the boxes that head groups by their item's number, and what is not as expected.

    `criteria` are boxes that judge the tasks, each with the number of the heading that says so.
    """

    tasks: tuple[Task, ...] = ()
    groups: Mapping[int, Named] = field(default_factory=dict)
    criteria: Mapping[int, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Order(Record):
    """What each task needs, in the order of the tasks, what a person verifies then, and what had to be assumed."""

    needs: Sequence[tuple[StepId, ...]]
    manual: Mapping[StepId, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Grammar(Protocol):
    """One format's words for tasks. `reads` are the marks in boxes that it knows beside a space and a tick.

    `claimed` is the mark it has for a task in work, "" if it has none; `stars` says that an asterisk behind a box or an
    id means that the task is optional; `flat` that a task heads those alone that stand in it and whose ids begin with
    its own; `judges` that boxes below headings such as Acceptance criteria are not tasks.
    """

    name: str
    reads: Mapping[str, Status]
    claimed: str
    stars: bool
    flat: bool
    judges: bool

    def name_task(self, words: str) -> Named:
        """The id, tags and title of a task's words."""
        ...

    def is_task(self, entry: Entry, outline: Outline) -> bool:
        """Whether a box without an id, not nested in another, is a task."""
        ...

    def order(self, tasks: TaskList, outline: Outline, path: str) -> Order:
        """What each task needs."""
        ...


def find_tasks(outline: Outline, grammar: Grammar, path: str) -> TaskList:
    """The tasks of a document; boxes that are none of it, and marks nobody knows, are named."""
    deferred = find_deferred(outline)
    criteria = find_criteria(outline) if grammar.judges else {}
    criteria = {number: heading for number, heading in criteria.items() if number not in deferred}
    named = _find_boxes(outline, grammar, criteria)
    named = _add_siblings(outline, named, grammar)
    groups, apart = _part_groups(outline, named, grammar)
    heads = {one.id: number for number, one in groups.items()}
    steps = [number for number in named if number not in groups]
    ids, problems = _make_ids(outline, named, steps, path)
    tasks = tuple(
        Task(
            id=ids[number],
            number=number,
            entry=outline.entries[number],
            named=named[number],
            groups=tuple(reversed(list(_groups_of(number, outline, groups, heads=heads, own=named[number].id)))),
            skipped=deferred.get(number) or _read_star(outline.entries[number], named[number], grammar),
            deferred=number in deferred,
            apart=apart.get(number, frozenset()),
        )
        for number in steps
    )
    problems += _name_strays(outline, {*named, *criteria}, path)
    problems += _name_marks(outline, [number for number in named if number not in deferred], grammar, path)
    problems += _name_deferred(tasks, path)
    problems += _name_ticked(outline, tasks, groups, grammar, path=path)
    return TaskList(tasks=tasks, groups=groups, criteria=criteria, problems=tuple(problems))


def _read_star(entry: Entry, named: Named, grammar: Grammar) -> str:
    return "an asterisk says that it is optional" if grammar.stars and (entry.star or named.star) else ""


def read_mark(mark: str, grammar: Grammar) -> Status:
    """What a box says. A mark that nobody knows means that something was begun: it is never taken for done."""
    if mark in DONE_MARKS:
        return Status.DONE
    return Status.READY if mark.isspace() else grammar.reads.get(mark, Status.CLAIMED)


def warning(code: str, message: str, path: str, line: int) -> Problem:
    """A warning about a line of the document."""
    return Problem(code=code, message=message, where=f"{path}:{line}", severity=Severity.WARNING)


def _find_boxes(outline: Outline, grammar: Grammar, criteria: Collection[int]) -> dict[int, Named]:
    """The boxes that are tasks or head groups, by number."""
    found: dict[int, Named] = {}
    for number, entry in enumerate(outline.entries):
        if entry.box < 0 or not entry.words or number in criteria:
            continue
        named = grammar.name_task(entry.words)
        nested = any(parent in found for parent in _ancestors(entry, outline))
        if named.id or (not nested and grammar.is_task(entry, outline)):
            found[number] = named
    return found


def _add_siblings(outline: Outline, named: Mapping[int, Named], grammar: Grammar) -> dict[int, Named]:
    """The same with boxes that have no id and stand in a group: ticking it would say that they are done."""
    groups, _ = _part_groups(outline, named, grammar)
    found = dict(named)
    for number, entry in enumerate(outline.entries):
        if number not in found and entry.box >= 0 and entry.words:
            around = next((parent for parent in _ancestors(entry, outline) if parent in found), None)
            if around in groups:
                found[number] = grammar.name_task(entry.words)
    return dict(sorted(found.items()))


def _ancestors(entry: Entry, outline: Outline) -> Iterator[int]:
    """The items around an item, innermost first."""
    parent = entry.parent
    while parent >= 0:
        yield parent
        parent = outline.entries[parent].parent


def _find_groups(outline: Outline, named: Mapping[int, Named]) -> list[int]:
    """The boxes with tasks in them, or with tasks whose ids begin with theirs."""
    around = {parent for number in named for parent in _ancestors(outline.entries[number], outline)}
    ids = {one.id for one in named.values() if one.id}
    heads = {head for step in ids for head in _heads(step)} & ids
    return [number for number, one in named.items() if number in around or one.id in heads]


def _heads(step: str) -> Iterator[str]:
    """`1` and `1.2` for `1.2.3`."""
    parts = step.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts)))


def _part_groups(
    outline: Outline, named: Mapping[int, Named], grammar: Grammar
) -> tuple[dict[int, Named], dict[int, frozenset[int]]]:
    """The groups, and what looks like one but has work of its own, with the boxes of the tasks in it.

    All tasks in it are optional, or the format has no groups, and their ids do not begin with its own.
    """
    groups = {number: named[number] for number in _find_groups(outline, named)}
    if not grammar.stars and not grammar.flat:
        return groups, {}
    heads = {one.id: number for number, one in groups.items()}
    inside: dict[int, list[int]] = {}
    for number in named:
        for group in _groups_of(number, outline, groups, heads=heads, own=named[number].id):
            inside.setdefault(group, []).append(number)
    starred = {number for number in named if _read_star(outline.entries[number], named[number], grammar)}
    apart: dict[int, frozenset[int]] = {}
    for group in reversed(groups):
        steps = [number for number in inside.get(group, ()) if number not in groups or number in apart]
        optional = bool(steps) and group not in starred and starred.issuperset(steps)
        if optional or (grammar.flat and not all(_is_part(number, group, outline, named) for number in steps)):
            apart[group] = frozenset(inside[group])
    return {number: one for number, one in groups.items() if number not in apart}, apart


def _is_part(number: int, group: int, outline: Outline, named: Mapping[int, Named]) -> bool:
    """Whether a task stands in another and is called after it, if it has a name."""
    called = not named[number].id or named[number].id.startswith(named[group].id)
    return called and group in _ancestors(outline.entries[number], outline)


def _groups_of(
    number: int, outline: Outline, groups: Collection[int], *, heads: Mapping[str, int], own: str
) -> Iterator[int]:
    """The groups a task belongs to, innermost first: those around it, else those whose ids begin its own."""
    around = [parent for parent in _ancestors(outline.entries[number], outline) if parent in groups]
    if around:
        yield from around
        return
    yield from (heads[head] for head in reversed(list(_heads(own))) if head in heads)


def _make_ids(
    outline: Outline, named: Mapping[int, Named], steps: Sequence[int], path: str
) -> tuple[dict[int, StepId], list[Problem]]:
    """An id for every task: its own, else its words; one that is there already gets a number behind it."""
    ids: dict[int, StepId] = {}
    taken: set[str] = set()
    tried: dict[str, int] = {}
    problems: list[Problem] = []
    written = {named[number].id for number in steps}
    for number in steps:
        own = named[number].id
        made = wanted = own or make_slug(named[number].title or outline.entries[number].words)
        while made in taken or (made != own and made in written):
            tried[wanted] = tried.get(wanted, 1) + 1
            made = f"{wanted}-{tried[wanted]}"
        taken.add(made)
        if own and made != own:
            message = f"the id {own!r} is there already; this task is called {made!r}"
            problems.append(warning("id_twice", message, path, outline.entries[number].line))
        ids[number] = StepId(made)
    return ids, problems


def _name_strays(outline: Outline, named: Collection[int], path: str) -> list[Problem]:
    """Boxes that are neither tasks nor their items, one warning for each heading; and what looks like a box."""
    strays: dict[int, list[Entry]] = {}
    almost: list[Entry] = []
    for number, entry in enumerate(outline.entries):
        inside = any(parent in named for parent in _ancestors(entry, outline))
        if entry.box >= 0 and number not in named and not inside:
            strays.setdefault(entry.heading, []).append(entry)
        elif entry.almost and not inside:
            almost.append(entry)
    found = [_stray(entries, outline, path) for entries in strays.values()]
    if almost:
        count = f" (and {len(almost) - 1} more)" if len(almost) > 1 else ""
        message = f"{almost[0].words[:60]!r} has no box that can be ticked{count}; write [ ] for an open task"
        found.append(warning("box_unread", message, path, almost[0].line))
    return found


def _stray(entries: Sequence[Entry], outline: Outline, path: str) -> Problem:
    heading = next((heading.words for heading in outline.above(entries[0])), "")
    below = f" below {heading!r}" if heading else ""
    boxes = "1 box" if len(entries) == 1 else f"{len(entries)} boxes"
    message = f"{boxes}{below} without an id: read as notes, not as tasks"
    return warning("box_unread", message, path, entries[0].line)


def _name_ticked(
    outline: Outline, tasks: Sequence[Task], groups: Collection[int], grammar: Grammar, *, path: str
) -> Iterator[Problem]:
    """Boxes that are ticked while something in them is open: what is in them counts."""
    left: dict[int, list[str]] = {}
    for task in tasks:
        done = read_mark(task.entry.mark, grammar) is Status.DONE
        for number in task.groups if not done and not task.skipped else ():
            left.setdefault(number, []).append(task.id)
        open_items = [outline.entries[number] for number in task.items(outline)] if done else []
        words = [item.words for item in open_items if item.box >= 0 and item.mark.isspace()]
        if words:
            message = f"{task.id} is ticked, but its item {words[0][:60]!r} is open; the task counts as done"
            yield warning("parent_ticked", message, path, task.entry.line)
    for number in groups:
        entry = outline.entries[number]
        if number in left and read_mark(entry.mark, grammar) is Status.DONE:
            message = f"{entry.words[:60]!r} is ticked, but {', '.join(left[number][:5])} in it is open and will be run"
            yield warning("parent_ticked", message, path, entry.line)


def _name_deferred(tasks: Sequence[Task], path: str) -> Iterator[Problem]:
    """Tasks that are not run, one warning for each reason."""
    told: dict[str, list[Task]] = {}
    for task in tasks:
        if task.deferred and task.entry.mark not in DONE_MARKS:
            told.setdefault(task.skipped, []).append(task)
    for reason, found in told.items():
        count = "1 task is" if len(found) == 1 else f"{len(found)} tasks are"
        message = f"{count} not run: {reason} ({', '.join(task.id for task in found[:3])}{', …' if found[3:] else ''})"
        yield warning("deferred", message, path, found[0].entry.line)


def _name_marks(outline: Outline, numbers: Sequence[int], grammar: Grammar, path: str) -> Iterator[Problem]:
    for number in numbers:
        entry = outline.entries[number]
        known = entry.mark in DONE_MARKS or entry.mark.isspace() or entry.mark in grammar.reads
        if not known:
            message = f"the mark [{entry.mark}] is read as in progress; only [x] means done"
            yield warning("mark_unknown", message, path, entry.line)
