"""A Maestro implementation plan in markdown: a section per phase, sub-headings for agent, files, checks and needs.

Phases are found by structure, so that headings may be in any language: a numbered heading whose section names a known
role is a phase, and so is every heading that begins like it. What is harvested from prose never binds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from drumline.core.plan import Check, Problem
from drumline.core.roles import find_role
from drumline.core.validation import normal_path
from drumline.planfiles.criterion import read_criterion
from drumline.planfiles.maestro_phases import Draft, warning
from drumline.planfiles.maestro_vocabulary import (
    TEMPLATE,
    Topic,
    is_nothing,
    parse_heading,
    parse_ids,
    read_choice,
    split_label,
    topic_of,
)
from drumline.planfiles.source import NEWLINE, digest, line_starts
from drumline.planfiles.spans import code_spans
from drumline.record import Record, replace

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BOX = re.compile(r"\[[ xX]\]\s+")
_WORD = re.compile(r"[^\s,;:(]+")


class Line(NamedTuple):
    """One paragraph's or list item's text and the line it begins on (counted from 0 within the body)."""

    line: int
    text: str
    item: bool


class Part(Record):
    """A sub-section: its topic, what its heading says after a colon, its lines, and its fenced blocks are left out."""

    topic: Topic | None
    line: int
    value: str
    lines: tuple[Line, ...]


class Section(Record):
    """One phase: where its heading and its text stand, and its parts in order."""

    id: str
    word: str
    name: str
    level: int
    line: int
    start: int
    end: int
    parts: tuple[Part, ...]
    boxes: tuple[int, ...] = ()

    def part(self, topic: Topic) -> Part | None:
        """The first part about this topic."""
        return next((part for part in self.parts if part.topic is topic), None)


def read_sections(text: str, start: int) -> list[Section]:
    """The phases of the body that begins at `start`, at the highest level of headings that has any."""
    tokens = blocks().parse(text[start:])
    starts = line_starts(text, start)
    for level in (2, 3):
        found = _phases(_sections(tokens, text, starts, level))
        if found:
            return found
    return []


def read_drafts(
    sections: Sequence[Section], text: str, path: str, first_line: int
) -> tuple[list[Draft], list[Problem]]:
    """The phases as drafts, with what had to be assumed; `first_line` is the 1-based line the body begins on."""
    problems: list[Problem] = []
    drafts: list[Draft] = []
    before = ""
    for section in sections:
        harvest = _Harvest(section=section, path=path, first_line=first_line, problems=problems)
        drafts.append(harvest.read(text, before))
        before = section.id
    return drafts, problems


@cache
def blocks() -> MarkdownIt:
    """The parser of blocks only: inline text is looked at where it matters."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable(["inline", "text_join"])


def _sections(tokens: Sequence[Token], text: str, starts: list[int], level: int) -> list[Section]:
    """Every numbered heading of this level with its section."""
    heads = [
        (number, int(token.tag[1:]))
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    edges = [(number, depth) for number, depth in heads if depth <= level]
    found: list[Section] = []
    for place, (number, depth) in enumerate(edges):
        heading = parse_heading(tokens[number + 1].content) if depth == level else None
        if heading is None:
            continue
        stop = edges[place + 1][0] if place + 1 < len(edges) else len(tokens)
        line = _line(tokens[number])
        last = _line(tokens[stop]) if stop < len(tokens) else len(starts)
        end = starts[last] if last < len(starts) else len(text)
        inner = tokens[number + 3 : stop]
        found.append(
            Section(
                id=heading.id,
                word=heading.word,
                name=heading.name,
                level=level,
                line=line,
                start=starts[line],
                end=end,
                parts=_name_by_position(tuple(_parts(inner, line))),
                boxes=tuple(_boxes(inner, text, starts)),
            )
        )
    return found


def _phases(sections: Sequence[Section]) -> list[Section]:
    """The sections that name a role, and those whose headings begin alike."""
    words = {section.word for section in sections if _role_of(section)}
    return [section for section in sections if section.word in words]


def _role_of(section: Section) -> str:
    """The agent a section names: under its own heading, or as the value of any heading if that is a known role."""
    part = section.part(Topic.AGENT)
    values = [part.value or (part.lines[0].text if part.lines else "")] if part else []
    values += [part.value for part in section.parts]
    roles = [role.name for value in values if (role := find_role(_first_word(value)))]
    return roles[0] if roles else ""


def _first_word(value: str) -> str:
    found = _WORD.search(value.strip("`*_ "))
    return found[0].strip("`*_") if found else ""


def _parts(tokens: Sequence[Token], line: int) -> Iterator[Part]:
    """What stands before the first sub-heading, then each sub-section; labelled lines count as parts of their own."""
    topic, value, here = None, "", line
    lines: list[Line] = []
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            yield from _part(topic, here, value, lines)
            label, value = split_label(tokens[number + 1].content)
            topic, here, lines = topic_of(label), _line(token), []
        elif token.type == "inline" and tokens[number - 1].type == "paragraph_open":
            item = number > 1 and tokens[number - 2].type == "list_item_open"
            base = _line(token)
            rows = token.content.split("\n")
            lines += [Line(base + offset, row, item and offset == 0) for offset, row in enumerate(rows)]
    yield from _part(topic, here, value, lines)


def _part(topic: Topic | None, line: int, value: str, lines: Sequence[Line]) -> Iterator[Part]:
    """One sub-section; before the first sub-heading each `Label: value` line is a part."""
    yield Part(topic=topic, line=line, value=value, lines=tuple(lines))
    if topic is not None:
        return
    for row in lines:
        label, said = split_label(row.text)
        named = topic_of(label)
        if named is not None and said:
            yield Part(topic=named, line=row.line, value=said, lines=(row,))


def _name_by_position(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Give sub-headings in an unknown language the topics of the template, if all of its parts are there."""
    if len(parts) != len(TEMPLATE) + 1 or all(part.topic for part in parts[1:]):
        return parts
    named = [replace(part, topic=part.topic or topic) for part, topic in zip(parts[1:], TEMPLATE, strict=True)]
    return (parts[0], *named)


def _boxes(tokens: Sequence[Token], text: str, starts: list[int]) -> Iterator[int]:
    """Offsets of the characters between the brackets of task boxes."""
    for number, token in enumerate(tokens):
        if token.type != "inline" or number < 2 or tokens[number - 2].type != "list_item_open":
            continue
        line = _line(token)
        stop = starts[line + 1] if line + 1 < len(starts) else len(text)
        tail = token.content.split("\n", 1)[0].rstrip()
        opening = starts[line] + len(text[starts[line] : stop].rstrip()) - len(tail)
        if _BOX.match(tail) and text[opening : opening + 1] == "[":
            yield opening + 1


@dataclass(kw_only=True, slots=True)
class _Harvest:
    """Reads one section's parts, noting what it assumes."""

    section: Section
    path: str
    first_line: int
    problems: list[Problem]

    def read(self, text: str, before: str) -> Draft:
        section = self.section
        agent = section.part(Topic.AGENT)
        body = text[section.start : section.end]
        checks, not_run = self._checks()
        return Draft(
            id=section.id,
            name=section.name,
            agent=self._agent(agent),
            parallel=self._parallel(),
            needs=self._needs(before),
            ordered=not self._says_needs(),
            files=self._files(),
            checks=checks,
            not_run=not_run,
            binding=False,
            where=self._at(section.line),
            agent_where=self._at(agent.line if agent else section.line),
            digest=digest(_unticked(section, text).rstrip().encode()),
            text=body.rstrip(),
        )

    def _at(self, line: int) -> str:
        return f"{self.path}:{self.first_line + line}"

    def _assume(self, code: str, message: str, line: int) -> None:
        self.problems.append(warning(code, message, self._at(line)))

    def _agent(self, part: Part | None) -> str:
        role = _role_of(self.section)
        if role:
            return role
        said = _first_word(part.value or (part.lines[0].text if part.lines else "")) if part else ""
        if not said:
            self.problems.append(
                Problem(
                    code="missing_required_field",
                    message="names no agent; write a heading '### Agent: coder'",
                    where=self._at(self.section.line),
                )
            )
        return said

    def _parallel(self) -> bool:
        part = self.section.part(Topic.PARALLEL)
        said = (part.value or (part.lines[0].text if part.lines else "")) if part else ""
        choice = read_choice(said)
        if choice is None:
            shown = f"says {said[:40]!r} of" if said else "does not say"
            message = f"{shown} whether it may run beside others; assumed: no"
            self._assume("parallel_assumed", message, part.line if part else self.section.line)
        return bool(choice)

    def _says_needs(self) -> bool:
        part = self.section.part(Topic.NEEDS)
        return part is not None and blocked_by(part) is not None

    def _needs(self, before: str) -> tuple[str, ...]:
        part = self.section.part(Topic.NEEDS)
        row = blocked_by(part) if part else None
        if part is None or row is None:
            if before:
                message = f"has no line 'Blocked by:'; assumed: {before}, the phase before it"
                self._assume("needs_assumed", message, part.line if part else self.section.line)
            return (before,) if before else ()
        said = part.value if row.line == part.line and part.value else split_label(row.text)[1] or row.text
        needs = parse_ids(said)
        if not needs and not is_nothing(said):
            message = f"{said[:60]!r} names no phase; assumed: nothing blocks it"
            self._assume("needs_assumed", message, row.line)
        return needs

    def _files(self) -> tuple[str, ...]:
        parts = [part for part in self.section.parts if part.topic in (Topic.CREATE, Topic.MODIFY)]
        rows = [row for part in parts for row in part.lines if row.item]
        found = [_path_in(row.text) for row in rows]
        return tuple(dict.fromkeys(normal_path(path) or path for path in found if path))

    def _checks(self) -> tuple[tuple[Check, ...], tuple[str, ...]]:
        """The items that are commands; whatever else is listed is not run."""
        checks: list[Check] = []
        not_run: list[str] = []
        part = self.section.part(Topic.VALIDATION)
        for row in part.lines if part else ():
            if not row.item:
                continue
            text = _BOX.sub("", row.text, count=1)
            found = read_criterion(text)
            if found.command:
                checks.append(Check(command=found.command, line=self.first_line + row.line))
            else:
                not_run.append(" ".join(text.split()))
                self._assume("check_not_command", f"{text[:80]!r} is not run: {found.fault}", row.line)
        return tuple(checks), tuple(not_run)


def blocked_by(part: Part) -> Line | None:
    """The line that says what blocks a phase: the one labelled so, or the first of the list."""
    if part.value and part.topic is Topic.NEEDS:
        return Line(part.line, part.value, item=False)
    rows = [row for row in part.lines if row.item] or list(part.lines)
    topics = [topic_of(split_label(row.text)[0]) for row in rows]
    labelled = [row for row, topic in zip(rows, topics, strict=True) if topic is Topic.NEEDS]
    # What a phase blocks is the other direction: read as a need it would turn the plan around.
    others = [row for row, topic in zip(rows, topics, strict=True) if topic is not Topic.BLOCKS]
    return next(iter(labelled or others), None)


def _path_in(text: str) -> str:
    """The path a list item begins with: its first code span, or its first word."""
    said = _BOX.sub("", text, count=1).strip()
    spans = code_spans(said)
    if spans:
        return spans[0].strip()
    word = _first_word(said)
    return word if "/" in word or "." in word.strip(".") else ""


def _unticked(section: Section, text: str) -> str:
    pieces = list(text[section.start : section.end])
    for box in section.boxes:
        pieces[box - section.start] = " "
    return NEWLINE.sub("\n", "".join(pieces))


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0
