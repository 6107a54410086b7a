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
    r"|(?P<before>\bbefore\b|\bblocks?\b|\bprecedes?\b|(?P<arrow>→|-{1,2}>|⇒))"
    r"|(?P<phase>\bphases?\s+(?P<phase_no>[A-Z]?[0-9]+(?:\.[0-9]+)*)(?:\s*[-–]\s*(?P<last_no>[0-9]+)\b)?)"
    r"|(?P<story>\b(?:user\s+)?story\s+(?P<story_no>[0-9]+)|\bUS\s?-?(?P<us_no>[0-9]+)\b)"
    r"|(?P<task>\b[A-Z]{1,3}[0-9]{3,4}[a-z]?(?:[.-][0-9]{1,2})?\b)"
    r"|(?P<stop>[.;](?:\s|$)|\s—\s)"
    r"|(?P<to>-|–|—|\.\.|\bto\b|\bthrough\b)|(?P<colon>[:|])",
    re.IGNORECASE,
)
_JOINTS = ("", "and", "or")
"""What may stand between references that are one, beside signs."""
_SIGNS = " \t,&+/()*_"
_NEXT = re.compile(r"[\s*_`(\[–-]*")
"""What may stand between an arrow and what it leads to."""
MOST_WORDS = 8
"""How many words may stand between a word such as after and what it is about: after completion of Phase 2."""
_ABOUT = re.compile(r"depend|order|sequence|critical path", re.IGNORECASE)


_REFERENCES = ("phase", "story", "task")


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
        self._numbers = [phase.number.upper() for phase in phases if phase.number]
        self._phases = {phase.number.upper(): tuple(t.id for t in phase.tasks) for phase in phases if phase.number}
        self._stories: dict[str, tuple[StepId, ...]] = {}
        for phase in phases:
            if phase.story:
                self._stories[phase.story] = self._stories.get(phase.story, ()) + tuple(t.id for t in phase.tasks)

    def find(self, token: re.Match[str]) -> tuple[StepId, ...]:
        if token["phase"]:
            return tuple(step for number in self._span_phases(token) for step in self._phases[number])
        if token["story"]:
            return self._stories.get(token["story_no"] or token["us_no"], ())
        found = StepId(token["task"])
        return (found,) if found in self.order else ()

    def _span_phases(self, token: re.Match[str]) -> list[str]:
        """The numbers of the phases that are named: one, or those from the first to the last."""
        first, last = token["phase_no"].upper(), (token["last_no"] or token["phase_no"]).upper()
        if first not in self._phases:
            return []
        end = self._numbers.index(last) if last in self._phases else -1
        return self._numbers[self._numbers.index(first) : end + 1] or [first]

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

    What a line is about stands before its colon, else directly before the word, as do parts of it: the tasks of a phase
    in a line about the phase. What is meant follows the word.
    """
    about: list[StepId] = [step] if step else []
    subject: list[StepId] = about
    latest: list[StepId] = []
    objects: list[StepId] | None = None
    relation = ""
    denied = False
    for kind, found, near in _read_tokens(line, names):
        if kind == "reference":
            latest = found
        if kind == "reference" and relation and near:
            objects = found if objects is None else objects
        elif kind == "reference" and objects is None:
            relation = ""
            subject = found if not about or {*found} < {*about} else about
        elif kind == "colon":
            about = about or subject
        elif kind != "reference":
            yield from _relate(relation, subject, objects or [], number)
            denied = kind == "not" or (denied and kind == "needs")
            chained = latest and (kind == "arrow" or relation == kind == "before")
            subject = latest if chained else about or subject if kind == "stop" else subject
            relation = "" if kind in ("stop", "not") or denied else "before" if kind == "arrow" else kind
            objects, latest = None, []
    yield from _relate(relation, subject, objects or [], number)


def _relate(relation: str, subject: Sequence[StepId], objects: Sequence[StepId], line: int) -> Iterator[Relation]:
    if not relation or not subject or not objects:
        return
    one, other = tuple(subject), tuple(objects)
    yield Relation(one, other, line) if relation == "needs" else Relation(other, one, line)


def _read_tokens(line: str, names: _Names) -> Iterator[tuple[str, list[StepId], bool]]:
    """Known words and references, from left to right, and whether a reference is near the word before it.

    References of one kind with no words between them are one.
    """
    group: list[StepId] | None = None
    near = ranging = False
    last: re.Match[str] | None = None
    for token in _TOKEN.finditer(line):
        end = last.end() if last else 0
        if token["to"]:
            ranging = bool(group) and not line[end : token.start()].strip()
            continue
        kind = token.lastgroup or ""
        reference = kind in _REFERENCES
        alike = last is not None and kind == last.lastgroup
        between = line[end : token.start()]
        joined = (ranging and alike) or (between.strip(_SIGNS).casefold() in _JOINTS and (alike or ")" not in between))
        if group is not None and not (reference and joined):
            yield "reference", group, near
            group = None
        if reference:
            found = names.find(token)
            whole = names.span(group[-1], found[0])[1:] if ranging and token["task"] and group and found else found
            near = near if group is not None else _is_near(last, between)
            group = [*(group if group and (alike or "(" not in between) else []), *whole]
        else:
            yield "arrow" if token["arrow"] else kind, [], False
        last, ranging = token, False
    if group is not None:
        yield "reference", group, near


def _is_near(word: re.Match[str] | None, between: str) -> bool:
    """Whether what stands between a word and a reference lets the word be about it."""
    if word is not None and word["arrow"]:
        return _NEXT.fullmatch(between) is not None
    return len(between.split()) <= MOST_WORDS


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
