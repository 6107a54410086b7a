"""Dependencies that a Spec Kit tasks.md tells in prose: in a task's own words, and below a heading about them.

Only references on both sides of a known word count. What would make tasks wait for each other is left out and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from drumline.core.ids import StepId
from drumline.core.plan import Problem
from drumline.planfiles.outline import Kind, Outline
from drumline.planfiles.speckit_phases import Phase
from drumline.planfiles.tasklist import Task, warning

_TOKEN = re.compile(
    r"(?P<not>\b(?:no|not|independent(?:ly)?|without|parallel with|parallel to)\b)"
    r"|(?P<needs>\b(?:depends?|depending|relies|builds?) (?:up)?on\b|\brequires?\b|\bneeds?\b|\bafter\b|\bblocked by\b)"
    r"|(?P<before>\bbefore\b|\bblocks?\b|\bprecedes?\b|→|-{1,2}>|⇒)"
    r"|(?P<phase>\bphases?\s+(?P<phase_no>[A-Z]?[0-9]+(?:\.[0-9]+)*))"
    r"|(?P<story>\b(?:user\s+)?story\s+(?P<story_no>[0-9]+)|\bUS\s?-?(?P<us_no>[0-9]+)\b)"
    r"|(?P<task>\b[A-Z]{1,3}[0-9]{3,4}[a-z]?(?:[.-][0-9]{1,2})?\b)"
    r"|(?P<to>\s*(?:-|–|—|\.\.|\bto\b|\bthrough\b)\s*)"
    r"|(?P<stop>[.;](?:\s|$))|(?P<colon>:)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[\s,&+/()*_]*(?:and|or)?[\s,&+/()*_]*", re.IGNORECASE)
_ABOUT = re.compile(r"depend|order|sequence|critical path", re.IGNORECASE)


class Relation(NamedTuple):
    """Tasks that need others, as a line of prose says."""

    later: tuple[StepId, ...]
    earlier: tuple[StepId, ...]
    line: int


class _Names:
    """What references mean: ids, ranges of ids, phases, stories."""

    def __init__(self, phases: Sequence[Phase], tasks: Sequence[Task]) -> None:
        self.order = {task.id: number for number, task in enumerate(tasks)}
        self._ids = [task.id for task in tasks]
        self._phases = {phase.number.upper(): tuple(t.id for t in phase.tasks) for phase in phases if phase.number}
        self._stories: dict[str, tuple[StepId, ...]] = {}
        for phase in phases:
            if phase.story:
                self._stories[phase.story] = self._stories.get(phase.story, ()) + tuple(t.id for t in phase.tasks)

    def find(self, token: re.Match[str]) -> tuple[StepId, ...]:
        if token["phase"]:
            return self._phases.get(token["phase_no"].upper(), ())
        if token["story"]:
            return self._stories.get(token["story_no"] or token["us_no"], ())
        found = StepId(token["task"])
        return (found,) if found in self.order else ()

    def span(self, first: StepId, last: StepId) -> tuple[StepId, ...]:
        return tuple(self._ids[self.order[first] : self.order[last] + 1])


def add_prose(
    needs: dict[StepId, list[StepId]], phases: Sequence[Phase], tasks: Sequence[Task], outline: Outline, *, path: str
) -> list[Problem]:
    """Add to `needs` what prose says; the problems are what cannot be."""
    names = _Names(phases, tasks)
    problems: list[Problem] = []
    for relation in _relations(tasks, outline, names):
        pairs = product(_ends(relation.later, needs, first=True), _ends(relation.earlier, needs, first=False))
        for step, need in pairs:
            if step == need or need in needs[step]:
                continue
            if _reaches(need, step, needs):
                message = f"{step} cannot wait for {need}, which waits for it by its place; that is left out"
                problems.append(warning("need_dropped", message, path, relation.line))
            else:
                needs[step].append(need)
    return problems


def _relations(tasks: Sequence[Task], outline: Outline, names: _Names) -> Iterator[Relation]:
    own = {task.number: task.id for task in tasks}
    for block in outline.blocks:
        if block.kind is Kind.FENCE:
            continue
        step = own.get(block.entry) if block.kind is Kind.ITEM else None
        about = any(_ABOUT.search(outline.headings[number].words) for number in outline.around(block.heading))
        if step is None and not about:
            continue
        for number, line in enumerate(block.content.split("\n")):
            yield from _read_line(line, block.line + number, names, step)


def _read_line(line: str, number: int, names: _Names, step: StepId | None) -> Iterator[Relation]:
    """Relations between the references of one line; in a task's own words the task is what they are about.

    What a line is about stands before its colon, else directly before the word; what is meant, directly behind it.
    """
    about: list[StepId] = [step] if step else []
    subject: list[StepId] = about
    objects: list[StepId] | None = None
    relation = ""
    denied = False
    for kind, found in _read_tokens(line, names):
        if kind == "reference" and relation:
            objects = found if objects is None else objects
        elif kind == "reference":
            subject = about or found
        elif kind == "colon":
            about = about or subject
        else:
            yield from _relate(relation, subject, objects or [], number)
            subject = objects or [] if relation == kind == "before" else subject
            denied = kind == "not" or (denied and kind == "needs")
            relation = "" if kind in ("stop", "not") or denied else kind
            objects = None
    yield from _relate(relation, subject, objects or [], number)


def _relate(relation: str, subject: Sequence[StepId], objects: Sequence[StepId], line: int) -> Iterator[Relation]:
    if not relation or not subject or not objects:
        return
    one, other = tuple(subject), tuple(objects)
    yield Relation(one, other, line) if relation == "needs" else Relation(other, one, line)


def _read_tokens(line: str, names: _Names) -> Iterator[tuple[str, list[StepId]]]:
    """Known words and references, from left to right. References with no words between them are one."""
    group: list[StepId] | None = None
    end, ranging = 0, False
    for token in _TOKEN.finditer(line):
        if token["to"]:
            ranging = bool(group) and not line[end : token.start()].strip()
            continue
        reference = token["task"] or token["phase"] or token["story"]
        joined = ranging or bool(_JOINT.fullmatch(line, end, token.start()))
        if group is not None and not (reference and joined):
            yield "reference", group
            group = None
        if reference:
            found = names.find(token)
            whole = names.span(group[-1], found[0])[1:] if ranging and token["task"] and group and found else found
            group = [*(group or []), *whole]
        else:
            yield token.lastgroup or "", []
        end, ranging = token.end(), False
    if group is not None:
        yield "reference", group


def _ends(steps: Sequence[StepId], needs: Mapping[StepId, Sequence[StepId]], *, first: bool) -> list[StepId]:
    """The steps of a set that none of the others comes before (or after): waiting for those is waiting for all."""
    inside = set(steps)
    if first:
        return [step for step in dict.fromkeys(steps) if not inside.intersection(needs[step])]
    needed = {need for step in inside for need in needs[step]}
    return [step for step in dict.fromkeys(steps) if step not in needed]


def _reaches(start: StepId, goal: StepId, needs: Mapping[StepId, Sequence[StepId]]) -> bool:
    """Whether a step waits for another, directly or not."""
    seen = {start}
    waiting = [start]
    while waiting:
        step = waiting.pop()
        if step == goal:
            return True
        further = [need for need in needs[step] if need not in seen]
        seen.update(further)
        waiting += further
    return False
