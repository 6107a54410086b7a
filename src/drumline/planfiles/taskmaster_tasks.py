"""Tasks and subtasks of a tasks.json as steps: which tag is read, what each needs, and the text for its prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from drumline.core import graph
from drumline.core.ids import StepId
from drumline.core.plaintext import name_some
from drumline.core.plan import Acceptance, Check, Problem, Status, Step
from drumline.core.validation import legal_id, normal_path
from drumline.datatext import Flaw, Kind, Node, plain, read_data
from drumline.planfiles.jsonfile import encodable, read_json
from drumline.planfiles.source import BOM, NEWLINE, digest, line_at, line_starts
from drumline.planfiles.tasklist import warning
from drumline.planfiles.tasklist_groups import Group, find_last, hand_down
from drumline.planfiles.tasklist_names import shorten
from drumline.planfiles.tasklist_text import find_files, label_command
from drumline.record import Record

MASTER = "master"
READS: Mapping[str, Status] = {
    "pending": Status.READY,
    "todo": Status.READY,
    "in-progress": Status.CLAIMED,
    "review": Status.CLAIMED,
    "done": Status.DONE,
    "completed": Status.DONE,
    "blocked": Status.BLOCKED,
    "deferred": Status.BLOCKED,
    "cancelled": Status.SKIPPED,
    "canceled": Status.SKIPPED,
}
_PROSE = (("description", "Description"), ("details", "Details"), ("testStrategy", "Test strategy"))
_CRITERIA = "acceptanceCriteria"
_LISTS = ((_CRITERIA, "Acceptance criteria"), ("checks", "Checks"))


class Item(Record):
    """A task or subtask: its node in the document, its status and line, the text for a prompt, and what it needs."""

    id: StepId
    title: str
    node: Node
    line: int
    status: Status
    text: str
    parent: StepId = StepId("")
    needs: tuple[str, ...] = ()


class Items(Record):
    """What a document holds: tasks without subtasks and subtasks (`leaves`), tasks with subtasks (`groups`)."""

    root: Node | None = None
    leaves: tuple[Item, ...] = ()
    groups: tuple[Item, ...] = ()
    problems: tuple[Problem, ...] = ()
    title: str = ""


def find_tags(value: object) -> list[str]:
    """The tags that have tasks, "" for tasks at the top of the file."""
    if not isinstance(value, Mapping):
        return []
    inner = {"": value, **{key: found for key, found in value.items() if isinstance(found, Mapping)}}
    return [tag for tag, found in inner.items() if _are_tasks(found.get("tasks"))]


def read_items(text: str, path: str, tag: str) -> Items:
    """The tasks of the chosen tag, else of `master`, else of the first one."""
    source = read_json(text, path)
    if isinstance(source, Problem):
        return Items(problems=(source,))
    if source.problems:
        return Items(problems=source.problems)
    data = read_data(text, len(BOM) if text.startswith(BOM) else 0, len(text))
    if isinstance(data, Flaw):
        return Items(problems=(Problem(code="bad_json", message=data.message, where=f"{path}:1"),))
    tags = find_tags(source.value)
    if not tags:
        return Items(root=data.root)
    chosen = next((one for one in (tag, MASTER) if one in tags), tags[0])
    holder = data.root if not chosen else data.root.pairs[chosen]
    reader = _Reader(text, path)
    reader.read(holder.pairs["tasks"])
    others = [one for one in tags if one != chosen]
    if others:
        left = name_some(map(repr, others), 3)
        message = f"reads the tasks of the tag {chosen!r}, and none of {left}; task-master use-tag changes it"
        reader.problems.insert(0, warning("tag_chosen", message, path, reader.line(holder)))
    about = holder.pairs.get("metadata")
    return Items(
        root=data.root,
        leaves=tuple(reader.leaves),
        groups=tuple(reader.groups),
        problems=tuple(reader.problems),
        title=shorten(encodable(about.text("description"))) if about is not None else "",
    )


class _Reader:
    """Goes through tasks and subtasks, noting what does not fit."""

    def __init__(self, text: str, path: str) -> None:
        self._starts = line_starts(text)
        self._path = path
        self.leaves: list[Item] = []
        self.groups: list[Item] = []
        self.problems: list[Problem] = []
        self._taken: dict[str, int] = {}

    def read(self, tasks: Node) -> None:
        for node in tasks.items:
            task = self._item(node, None)
            children = node.pairs.get("subtasks")
            if task is None:
                continue
            if children is None or children.kind is not Kind.SEQUENCE or not children.items:
                self.leaves.append(task)
                continue
            found = [self._item(child, task) for child in children.items]
            subtasks = [item for item in found if item is not None]
            (self.groups if subtasks else self.leaves).append(task)
            self.leaves += subtasks
            if task.status is Status.DONE and any(item.status is not Status.DONE for item in subtasks):
                message = f"task {task.id} is done, but not all of its subtasks are; their own status counts"
                self._warn("parent_done", message, node)

    def line(self, node: Node) -> int:
        return line_at(self._starts, node.start)

    def _item(self, node: Node, parent: Item | None) -> Item | None:
        number = _word(node.pairs.get("id"))
        step = f"{parent.id}.{number}" if parent and not number.startswith(f"{parent.id}.") else number
        if node.kind is not Kind.MAPPING or not legal_id(step):
            message = f"a task has the id {number[:40]!r}, which cannot name a step; it is left out"
            self._warn("task_unread", message, node)
            return None
        count = self._taken[step] = self._taken.get(step, 0) + 1
        if count > 1:
            message = f"the id {step!r} is there already; this task is called {f'{step}-{count}'!r}"
            self._warn("id_twice", message, node)
            step = f"{step}-{count}"
        needs = node.pairs.get("dependencies")
        return Item(
            id=StepId(step),
            title=shorten(encodable(node.text("title"))) or step,
            node=node,
            line=self.line(node),
            status=self._status(node, parent),
            text=_text(step, node, parent),
            parent=parent.id if parent else StepId(""),
            needs=tuple(_word(need) for need in needs.items) if needs is not None else (),
        )

    def _status(self, node: Node, parent: Item | None) -> Status:
        word = _word(node.pairs.get("status")).strip()
        if not word:
            return parent.status if parent and parent.status in (Status.DONE, Status.SKIPPED) else Status.READY
        found = READS.get(word.casefold().replace("_", "-").replace(" ", "-"))
        if found is None:
            self._warn("status_unknown", f"the status {word[:40]!r} is not known; read as in progress", node)
        return found or Status.CLAIMED

    def _warn(self, code: str, message: str, node: Node) -> None:
        self.problems.append(warning(code, message, self._path, self.line(node)))


def to_steps(found: Items, path: str) -> tuple[tuple[Step, ...], list[Problem]]:
    """The leaves with their needs, and those with checks of the tasks around them that they end."""
    children: dict[StepId, list[Item]] = {}
    for item in found.leaves:
        if item.parent:
            children.setdefault(item.parent, []).append(item)
    steps, problems = _link(found, children, path, ahead=True)
    if graph.cycle(steps):
        # Where subtasks wait for each other, the number of one behind is meant for a task, or is a slip.
        steps, problems = _link(found, children, path, ahead=False)
    groups = [group for group in _find_groups(found, children) if group.checks]
    checked, unchecked = hand_down(steps, groups, path)
    return checked, [*problems, *unchecked]


def _link(
    found: Items, children: Mapping[StepId, Sequence[Item]], path: str, *, ahead: bool
) -> tuple[list[Step], list[Problem]]:
    """The leaves with their needs: those of a task are those of its first subtasks; needing it means its last ones.

    `ahead` says whether a subtask may need one that stands behind it.
    """
    place = {item.id: number for number, item in enumerate((*found.groups, *found.leaves))}
    problems: list[Problem] = []
    direct = {item.id: _resolve(item, place, path, problems, ahead=ahead) for item in (*found.groups, *found.leaves)}
    last = {group: _last_of(items, direct) for group, items in children.items()}
    steps: list[Step] = []
    for item in found.leaves:
        needs = dict.fromkeys(direct[item.id])
        mates = {mate.id for mate in children.get(item.parent, ())}
        if item.parent and not mates.intersection(needs):
            needs.update(dict.fromkeys(direct[item.parent]))
        flat = (leaf for need in needs for leaf in last.get(need, (need,)))
        steps.append(_step(item, tuple(dict.fromkeys(need for need in flat if need != item.id)), path))
    return steps, problems


def find_acceptance(found: Items, steps: Sequence[Step]) -> tuple[Acceptance, ...]:
    """What tasks must satisfy by their criteria and their test strategy; a group's is that of the step that ends it."""
    children: dict[StepId, list[Item]] = {}
    for item in found.leaves:
        children.setdefault(item.parent, []).append(item)
    last = find_last(steps, _find_groups(found, children))
    judged = {
        **{item.id: item.id for item in found.leaves},
        **{group.id: last.get(_name(group)) for group in found.groups},
    }
    told = [
        (judged[item.id], name, words)
        for item in (*found.groups, *found.leaves)
        for name, lines in (("test strategy", _strategy(item)), ("criterion", _texts(item.node.pairs.get(_CRITERIA))))
        for words in lines
    ]
    return tuple(Acceptance(step=step, name=name, words=encodable(words)) for step, name, words in told if step)


def _find_groups(found: Items, children: Mapping[StepId, Sequence[Item]]) -> list[Group]:
    return [
        Group(
            name=_name(item),
            members=tuple(child.id for child in children.get(item.id, ())),
            checks=_checks(item),
            line=item.line,
        )
        for item in found.groups
    ]


def _name(group: Item) -> str:
    return f"task {group.id}"


def _resolve(
    item: Item, place: Mapping[StepId, int], path: str, problems: list[Problem], *, ahead: bool
) -> tuple[StepId, ...]:
    """What an item's dependencies mean: a subtask's number is that of a sibling first, then that of a task."""
    found: dict[StepId, None] = {}
    for need in item.needs:
        sibling = StepId(f"{item.parent}.{need}")
        candidates = [sibling] if item.parent and (ahead or place.get(sibling, 0) < place[item.id]) else []
        meant = next((one for one in (*candidates, StepId(need)) if one in place), None)
        if meant is None or meant in (item.id, item.parent):
            message = f"{item.id} depends on {need[:40]!r}, which is not another task; that is left out"
            problems.append(warning("need_dropped", message, path, item.line))
            continue
        found[meant] = None
        if not ahead and meant != sibling and sibling in place:
            message = f"{item.id} depends on {need[:40]!r}: the task, since its subtasks would wait for each other"
            problems.append(warning("need_dropped", message, path, item.line))
    return tuple(found)


def _last_of(items: Sequence[Item], direct: Mapping[StepId, Sequence[StepId]]) -> tuple[StepId, ...]:
    needed = {need for item in items for need in direct[item.id]}
    left = tuple(item.id for item in items if item.id not in needed)
    return left or tuple(item.id for item in items)


def _step(item: Item, needs: tuple[StepId, ...], path: str) -> Step:
    words = " ".join(item.node.text(key) for key, _ in _PROSE)
    listed = [normal_path(file) for file in _texts(item.node.pairs.get("files"))]
    files = tuple(file for file in listed if file) or find_files(encodable(words))
    return Step(
        id=item.id,
        title=item.title,
        needs=needs,
        files=tuple(encodable(file) for file in files),
        checks=_checks(item),
        binding=False,
        path=path,
        line=item.line,
        text_digest=digest(_neutral(item.node).encode("utf-8", "replace")),
    )


def _checks(item: Item) -> tuple[Check, ...]:
    """The commands that a task or subtask names as checks."""
    lines = (label_command(line) for line in _strategy(item))
    commands = [*_texts(item.node.pairs.get("checks")), *(command for command in lines if command)]
    return tuple(Check(command=encodable(command)) for command in dict.fromkeys(commands))


def _strategy(item: Item) -> list[str]:
    return [line.strip().lstrip("-* \t") for line in NEWLINE.split(item.node.text("testStrategy"))]


def _neutral(node: Node) -> str:
    """Everything that people own: without status, times and subtasks, which are steps of their own."""
    kept = {key: plain(value) for key, value in node.pairs.items() if key not in ("status", "updatedAt", "subtasks")}
    return json.dumps(kept, sort_keys=True, ensure_ascii=False)


def _text(step: str, node: Node, parent: Item | None) -> str:
    parts = [f"# {step}: {node.text('title')}"]
    parts += [f"## {name}\n\n{node.text(key)}" for key, name in _PROSE if node.text(key)]
    for key, name in _LISTS:
        items = _texts(node.pairs.get(key))
        parts += [f"## {name}\n\n" + "\n".join(f"- {item}" for item in items)] if items else []
    if parent is not None:
        parts.append(f"It is a part of this task:\n\n{parent.text}")
    return encodable(NEWLINE.sub("\n", "\n\n".join(parts))).rstrip() + "\n"


def _texts(node: Node | None) -> list[str]:
    items = node.items if node is not None else ()
    return [item.value for item in items if isinstance(item.value, str) and item.value.strip()]


def _word(node: Node | None) -> str:
    """A number or text as text; a number such as 5.2 means the second subtask of task 5."""
    value = node.value if node is not None else None
    return encodable(str(value)).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _are_tasks(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(task, Mapping) and "id" in task and "title" in task for task in value) and bool(value)
