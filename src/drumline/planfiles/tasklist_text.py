"""What a task's prompt shows of its document, and what the text of a task names: checks and files.

A check is an item below the task that is a label and one command (``Tests: `make test` ``); anything else is prose.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from drumline.core.ids import StepId
from drumline.core.plan import Check
from drumline.core.validation import normal_path
from drumline.planfiles.acting import reaches_out
from drumline.planfiles.criterion import read_criterion
from drumline.planfiles.outline import Entry, Heading, Outline
from drumline.planfiles.source import NEWLINE
from drumline.planfiles.spans import split_spans
from drumline.planfiles.tasklist import Task, TaskList

MOST_PROSE = 4_000
"""Letters that a prompt shows of the prose above a list of tasks, for each heading."""
MOST_FILES = 40
_LABEL = re.compile(
    r"[\s*_]*(?:run|tests?|checks?|verify|verification|verified by|validate|validation|lint(?:er)?|types?"
    r"|type[- ]?check|build|command|automated(?: verification)?|proof)\b[^:`]{0,40}:[\s*_]*|[\s*_]*run\s+",
    re.IGNORECASE,
)
_PASSES = re.compile(
    r"[\s*_.;,()✓✅—–-]*(?:(?:still |must |should )?(?:pass(?:es)?|succeeds?|is green|exits? 0)\.?)?\s*", re.IGNORECASE
)
_PATH = re.compile(r"(?<![\w/.@:$%#-])(?:\.{0,2}[\w@+.-]+/)+[\w@+.\[\]-]*\.?[\w]+")
_LONE_FILE = re.compile(r"[\w@+-][\w@+.-]*\.[A-Za-z][A-Za-z0-9]{0,7}")
_ADDRESS = re.compile(r"\b\w+://\S+")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")


def find_checks(task: Task, outline: Outline) -> tuple[Check, ...]:
    """The commands that the task's own items name as checks."""
    found: list[Check] = []
    for number in task.items(outline):
        entry = outline.entries[number]
        command = label_command(entry.words)
        if command:
            found.append(Check(command=command, line=entry.line))
    return tuple(found)


def find_group_checks(tasks: TaskList, outline: Outline) -> Mapping[int, tuple[Check, ...]]:
    """The commands that groups name as checks in items of their own, by the number of the group."""
    steps = {task.number for task in tasks.tasks}
    found: dict[int, tuple[Check, ...]] = {}
    for number in tasks.groups:
        own = (child for child in outline.children.get(number, ()) if child not in steps and child not in tasks.groups)
        checks = [(label_command(entry.words), entry.line) for entry in (outline.entries[child] for child in own)]
        if any(command for command, _ in checks):
            found[number] = tuple(Check(command=command, line=line) for command, line in checks if command)
    return found


def label_command(words: str) -> str:
    """The command of an item that consists of a label and one command; "" if it is anything else."""
    label = _LABEL.match(words)
    if label is None or "`" not in words:
        return ""
    pieces = split_spans(words[label.end() :])
    codes = [number for number, piece in enumerate(pieces) if piece.code]
    if codes != [0] or not _PASSES.fullmatch("".join(piece.text for piece in pieces[1:])):
        return ""
    command = read_criterion(words[label.end() :]).command
    return "" if reaches_out(command) else command


def find_files(words: str) -> tuple[str, ...]:
    """Paths that the words name, as hints: those with a folder, and file names in backticks."""
    found: dict[str, None] = {}
    for piece in split_spans(words):
        text = _ADDRESS.sub(" ", piece.text)
        for match in _PATH.findall(text):
            path = normal_path(match.rstrip("."))
            if path and _EXTENSION.search(path) and not path.startswith("."):
                found.setdefault(path)
        if piece.code and _LONE_FILE.fullmatch(piece.text) and normal_path(piece.text):
            found.setdefault(piece.text)
    return tuple(found)[:MOST_FILES]


class Texts(Mapping[StepId, str]):
    """What each step's prompt shows: headings with the prose below them, groups, the task. Cut out when asked for."""

    def __init__(self, text: str, outline: Outline, tasks: TaskList) -> None:
        self._text = text
        self._outline = outline
        self._tasks = {task.id: task for task in tasks.tasks}

    def __getitem__(self, step: StepId) -> str:
        task = self._tasks[step]
        parts = [*self._prose(task.entry), *self._groups(task)]
        parts.append(self._text[task.entry.start : task.entry.end].strip("\r\n"))
        return NEWLINE.sub("\n", "\n\n".join(part for part in parts if part.strip())) + "\n"

    def __iter__(self) -> Iterator[StepId]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def _prose(self, entry: Entry) -> Iterator[str]:
        for heading in reversed(list(self._outline.above(entry))):
            yield lead(self._text, heading, self._outline)

    def _groups(self, task: Task) -> Iterator[str]:
        for number in task.groups:
            group = self._outline.entries[number]
            stop = next((self._outline.entries[n].start for n in self._outline.inside(number)), group.end)
            yield self._text[group.start : max(stop, group.start)].rstrip()


def lead(text: str, heading: Heading, outline: Outline) -> str:
    """A heading with the prose up to its first list or the next heading; the end is cut off where it is long."""
    stop = heading.end
    for parts in (outline.entries, outline.headings):
        following = bisect_right(parts, heading.start, key=_start)
        stop = min(stop, parts[following].start if following < len(parts) else stop)
    found = text[heading.start : stop].rstrip()
    return found if len(found) <= MOST_PROSE else found[:MOST_PROSE] + " …"


def _start(part: Entry | Heading) -> int:
    return part.start
