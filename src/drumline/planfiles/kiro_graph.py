"""The dependency graph at the end of a Kiro tasks.md, in the shapes it is seen in.

Waves as JSON (objects with `id` or `wave`, `tasks` and perhaps `depends_on`, or lists of lists), dependencies by task
as JSON, lines such as `Wave 1: 1.1, 1.2` in a code block or a list, and arrows, in mermaid too. What cannot be read is
named, and the order of the tasks counts instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from drumline.core import graph
from drumline.core.ids import StepId
from drumline.core.plaintext import name_some
from drumline.core.plan import Problem, Step
from drumline.planfiles.outline import Block, Kind, Outline
from drumline.planfiles.tasklist import TaskList, warning
from drumline.record import Record

_HEADING = re.compile(r"\b(?:dependenc(?:y|ies)|execution)\b.*\b(?:graph|waves?|order)\b|\bwaves\b", re.IGNORECASE)
_ARROW = re.compile(r"(?:-{1,9}>|={1,9}>|→|⇒|-\.->)\s{0,9}(?:\|[^|>→⇒]*\|)?")
_LABEL = re.compile(r"\[[^\[\]\n]*\]|\([^()\n]*\)|\{[^{}\n]*\}|\"[^\"\n]*\"")
_TASK = re.compile(r"(?:\bTasks?\s+|\bT|\b)([0-9]+(?:[._][0-9]+)*[a-z]?)\b")
_WAVE_LINE = re.compile(
    r"^(?:[^\w\n]|_){0,40}(?:wave|batch|level|phase)\s*#?[0-9]+[^:\n→>]{0,60}:[*_\s]*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_TELLS = re.compile(r"\b(?:depends on|blocked by|requires|after|before|wave)\b.*[0-9]|[0-9]\s*(?:-+>|→)", re.IGNORECASE)
_WAVES = ("waves", "batches", "levels", "phases")
_NEEDS = ("depends_on", "dependsOn", "dependencies", "blockedBy", "needs")

Pairs = list[tuple[str, str]]


class Graph(Record):
    """What each task needs, in the order of the tasks; None if the document has no graph that can be read."""

    needs: list[tuple[StepId, ...]] | None = None
    problems: tuple[Problem, ...] = ()


class _Links(Record):
    """Pairs of (task, need) as written, every task that is mentioned, and waves that need one that is not there."""

    pairs: Pairs
    named: tuple[str, ...]
    lost: tuple[str, ...] = ()


def read_graph(tasks: TaskList, outline: Outline, path: str) -> Graph:
    """The graph of the document, with a warning for each thing that does not fit."""
    numbers = {task.number for task in tasks.tasks} | {*tasks.groups}
    about = [block for block in outline.blocks if _is_about(block, outline) and block.entry not in numbers]
    fences = [block for block in about if block.kind is Kind.FENCE]
    listed = _read_waves_told("\n".join(block.content for block in about if block.kind is not Kind.FENCE))
    found = [(links, block.line) for block in fences if (links := _read_block(block)) is not None]
    if listed is not None and not found:
        found = [(listed, about[0].line)]
    if found:
        return _resolve(found[0][0], tasks, path, found[0][1])
    left = fences or [block for block in about if _TELLS.search(block.content)]
    if not left:
        return Graph()
    message = "the dependency graph cannot be read; each task needs the one before it"
    return Graph(problems=(warning("graph_unread", message, path, left[0].line),))


def _is_about(block: Block, outline: Outline) -> bool:
    return any(_HEADING.search(outline.headings[number].words) for number in outline.around(block.heading))


def _read_block(block: Block) -> _Links | None:
    try:
        value = json.loads(block.content)
    except (ValueError, RecursionError):
        return _read_waves_told(block.content) or _read_arrows(block.content)
    return _read_value(value)


def _read_waves_told(text: str) -> _Links | None:
    """Lines such as `Wave 1 (parallel): 1.1, 1.2`; each needs the wave above it."""
    waves = [_TASK.findall(_LABEL.sub(" ", line[1])) for line in _WAVE_LINE.finditer(text)]
    return _read_waves([wave for wave in waves if wave]) if sum(map(bool, waves)) > 1 else None


def _read_value(value: object) -> _Links | None:
    if isinstance(value, Mapping):
        waves = next((value[key] for key in _WAVES if isinstance(value.get(key), list)), None)
        if waves is not None:
            return _read_waves(waves)
        listed = next((value[key] for key in ("tasks", *_NEEDS) if value.get(key)), value)
        return _read_tasks(listed)
    if isinstance(value, list) and all(isinstance(wave, list) for wave in value):
        return _read_waves(value)
    return _read_tasks(value)


def _read_waves(waves: Sequence[object]) -> _Links | None:
    """Each wave needs the one before it, or those that it names."""
    members: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    before: list[str] = []
    for number, wave in enumerate(waves):
        if not isinstance(wave, Mapping | list):
            return None
        fields = wave if isinstance(wave, Mapping) else {"tasks": wave}
        name = str(next((fields[key] for key in ("id", "wave", "name") if key in fields), number))
        written = next((fields[key] for key in _NEEDS if isinstance(fields.get(key), list)), None)
        members[name] = _texts(fields.get("tasks"))
        needs[name] = before if written is None else _texts(written)
        before = [name]
    pairs = [(task, need) for wave, tasks in members.items() for task in tasks for need in _of(needs[wave], members)]
    lost = dict.fromkeys(need for found in needs.values() for need in found if need not in members)
    return _Links(pairs=pairs, named=tuple(task for tasks in members.values() for task in tasks), lost=tuple(lost))


def _read_tasks(value: object) -> _Links | None:
    """`{"1.2": ["1.1"]}`, or a list of objects with an id and what it depends on."""
    pairs: Pairs = []
    named: list[str] = []
    items: Iterable[tuple[object, object]]
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        items = [(i.get("id", i.get("task")), next((i[k] for k in _NEEDS if k in i), [])) for i in value]
    else:
        return None
    for task, needs in items:
        if isinstance(needs, Mapping):
            needs = next((needs[key] for key in _NEEDS if key in needs), [])
        if not isinstance(task, str | int | float) or not isinstance(needs, list):
            return None
        named.append(str(task))
        pairs += [(str(task), need) for need in _texts(needs)]
    return _Links(pairs=pairs, named=tuple(named)) if named else None


def _read_arrows(text: str) -> _Links | None:
    """`1.1 → 1.2`, chains, several on a side, and lines that begin with an arrow and continue with the last."""
    pairs: Pairs = []
    named: dict[str, None] = {}
    last: list[str] = []
    for line in text.split("\n"):
        parts = [_TASK.findall(_LABEL.sub(" ", part)) for part in _ARROW.split(line)]
        sides = [[one.replace("_", ".") for one in part] for part in parts]
        named.update(dict.fromkeys(one for side in sides for one in side))
        if len(sides) > 1 and not sides[0]:
            sides[0] = last
        for left, right in pairwise(sides):
            pairs += [(task, need) for task in right for need in left]
        last = sides[-1] if any(sides) else last
    return _Links(pairs=pairs, named=tuple(named)) if pairs else None


def _resolve(links: _Links, tasks: TaskList, path: str, line: int) -> Graph:
    """The links between steps; a group stands for its steps, and what the graph leaves out waits for all above it."""
    names = _names(tasks, links.named)
    needs: dict[StepId, dict[StepId, None]] = {step: {} for one in links.named for step in names.get(one, ())}
    for task, need in links.pairs:
        for step in names.get(task, ()):
            needs[step].update(dict.fromkeys(other for other in names.get(need, ()) if other != step))
    problems = list(_strays(links, tasks, names, needs, where=(path, line)))
    steps = [Step(id=step, title="", needs=tuple(found)) for step, found in needs.items()]
    if not steps or graph.cycle(steps):
        message = "the dependency graph goes round in circles; each task needs the one before it"
        message = message if steps else "the dependency graph names no task; each task needs the one before it"
        return Graph(problems=(warning("graph_unread", message, path, line),))
    return Graph(needs=list(_fill(tasks, needs)), problems=tuple(problems))


def _names(tasks: TaskList, written: Sequence[str]) -> dict[str, tuple[StepId, ...]]:
    """Steps by their ids, the steps of a group by its id; an optional part that is `written` alone is its task, too."""
    found: dict[str, tuple[StepId, ...]] = {task.id: (task.id,) for task in tasks.tasks}
    ids = {task.number: task.id for task in tasks.tasks}
    known = {*written}
    for task in tasks.tasks:
        parts = (ids[number] for number in sorted(task.apart) if number in ids) if task.id not in known else ()
        first = next((part for part in parts if part in known), None)
        if first is not None:
            found[first] = (first, task.id)
    for number, named in tasks.groups.items():
        if named.id:
            found.setdefault(named.id, tuple(task.id for task in tasks.tasks if number in task.groups))
    return found


def _strays(
    links: _Links,
    tasks: TaskList,
    names: Mapping[str, Sequence[StepId]],
    needs: Mapping[StepId, object],
    *,
    where: tuple[str, int],
) -> Iterator[Problem]:
    unknown = [one for one in dict.fromkeys([*links.named, *(need for _, need in links.pairs)]) if one not in names]
    if links.lost:
        message = f"the dependency graph needs {name_some(links.lost)}, which no wave is called; that is left out"
        yield warning("graph_unknown", message, *where)
    if unknown:
        yield warning(
            "graph_unknown", f"the dependency graph names {name_some(unknown)}, which no task is called", *where
        )
    left = [task.id for task in tasks.tasks if task.id not in needs]
    if left:
        message = f"the dependency graph leaves out {name_some(left)}; each waits for the tasks above it"
        yield warning("graph_left_out", message, *where)


def _fill(tasks: TaskList, needs: Mapping[StepId, Iterable[StepId]]) -> Iterator[tuple[StepId, ...]]:
    """The needs of every task: those of the graph, else all tasks above it that no other above it needs."""
    above: dict[StepId, None] = {}
    for task in tasks.tasks:
        found = tuple(needs[task.id]) if task.id in needs else tuple(above)
        for need in found:
            above.pop(need, None)
        above[task.id] = None
        yield found


def _of(names: Sequence[str], members: Mapping[str, Sequence[str]]) -> Iterator[str]:
    return (task for name in names for task in members.get(name, ()))


def _texts(value: object) -> list[str]:
    """Ids in a list; an object stands for its id."""
    if not isinstance(value, list):
        return []
    plain = [item.get("id") if isinstance(item, Mapping) else item for item in value]
    return [str(item) for item in plain if isinstance(item, str | int | float)]
