"""The format `kiro`: the tasks.md of a Kiro spec. Numbered boxes in groups; `[ ]*` is optional; `[-]` is in work.

The order is the dependency unless the document has a dependency graph. Acceptance criteria of the requirements that a
task names come from the requirements.md beside it and are shown in its prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from drumline.core.outlook import todo
from drumline.core.plan import Acceptance, Problem, Reading, Status, Step
from drumline.planfiles.checklist import chain, find_list
from drumline.planfiles.document import Parsed
from drumline.planfiles.kiro_graph import read_graph
from drumline.planfiles.outline import Entry, Outline, read_outline
from drumline.planfiles.sidecar import Sidecar
from drumline.planfiles.source import decode, read_bytes
from drumline.planfiles.tasklist import Order, TaskList
from drumline.planfiles.tasklist_files import TaskListFiles, read_document
from drumline.planfiles.tasklist_names import Named, take_name
from drumline.record import replace

FILE = "tasks.md"
REQUIREMENTS = "requirements.md"
BESIDE = (REQUIREMENTS, "design.md")
"""Documents that belong to the same spec."""
IDS = re.compile(r"[A-Z]?[0-9]{1,4}(?:\.[0-9]{1,4}){0,4}[a-z]?(?=[.):*\s])")
_NAMED = re.compile(
    r"(?<![A-Za-z])Requirements?\s*:?\s*((?:[0-9]+(?:\.[0-9]+)?[a-z]?(?:\s*(?:,|-|–|and|&)\s*)?)+)", re.IGNORECASE
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_REQUIREMENT = re.compile(r"(?:Requirement\s*#?|R|REQ-)?\s*([0-9]+)\b", re.IGNORECASE)
_SIGN = re.compile(
    r"^\s*[-*+] \[.\](?:\\?\*)? ?\**(?:[0-9]+(?:\.[0-9]+)*\.?|[A-Z][0-9]+(?:\.[0-9]+)*\.) ", re.MULTILINE
)


class KiroGrammar:
    """Boxes with numbers are tasks."""

    name = "kiro"
    reads: Mapping[str, Status] = {"-": Status.CLAIMED, "~": Status.CLAIMED}
    claimed = "-"
    stars = True
    flat = False
    judges = False

    def name_task(self, words: str) -> Named:
        """The id, tags and title of a task's words."""
        return take_name(words, IDS)

    def is_task(self, entry: Entry, outline: Outline) -> bool:
        """None without a number is one."""
        return False

    def order(self, tasks: TaskList, outline: Outline, path: str) -> Order:
        """What the dependency graph says, else the order of the tasks."""
        found = read_graph(tasks, outline, path)
        if found.needs is None:
            return Order(needs=chain(tasks.tasks), problems=found.problems)
        return Order(needs=found.needs, problems=found.problems)


class KiroFiles(TaskListFiles):
    """One tasks.md, given as the file or as the folder of its spec."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        super().__init__(find_list(place, beside=BESIDE), KiroGrammar(), repo=repo, locks=locks)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether it lies where Kiro keeps its specs, or names requirements as Kiro does."""
        file = place / FILE if place.is_dir() else find_list(place, beside=BESIDE)
        text = read_document(file)
        if not _SIGN.search(text):
            return False
        return file.parent.parent.as_posix().endswith(".kiro/specs") or "_Requirements:" in text

    def text(self, step: Step) -> str:
        """The step's part of the document, and the criteria of the requirements that it names."""
        own = super().text(step)
        criteria = list(_find_criteria(own, read_requirements(self._requirements())))
        if not criteria:
            return own
        listed = "\n".join(f"- {number}: {words}" for number, words in criteria)
        return f"{own}\nAcceptance criteria from {REQUIREMENTS}:\n\n{listed}\n"

    def _reading(self, doc: Parsed, notes: Sidecar | Problem, digests: Mapping[str, str]) -> Reading:
        """The reading, with each criterion as the acceptance of the last step that names it."""
        reading = super()._reading(doc, notes, digests)
        known = read_requirements(self._requirements())
        last: dict[str, Acceptance] = {}
        for step in (step for step in todo(reading) if known and step.id in doc.texts):
            for number, words in _find_criteria(doc.texts[step.id], known):
                last[number] = Acceptance(step=step.id, name=f"criterion {number}", words=words)
        return replace(reading, acceptance=tuple(last.values()))

    def _supplement(self) -> bytes:
        """The requirements: editing a criterion is an edit of the plan."""
        return self._requirements().encode()

    def _requirements(self) -> str:
        data = read_bytes(self._file.with_name(REQUIREMENTS), REQUIREMENTS)
        text = data if isinstance(data, Problem) else decode(data, REQUIREMENTS)
        return "" if isinstance(text, Problem) else text


def _find_criteria(task: str, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The criteria that the task's text names by number, each once."""
    for number in dict.fromkeys(n for found in _NAMED.findall(task) for n in _NUMBER.findall(found)):
        if number in known:
            yield number, known[number]
        else:
            yield from ((one, words) for one, words in known.items() if one.startswith(f"{number}."))


def read_requirements(text: str) -> dict[str, str]:
    """The acceptance criteria of a requirements.md by number: `1.2` is the second one of Requirement 1."""
    outline = read_outline(text)
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    for entry in outline.entries:
        if entry.depth:
            continue
        chain = [_REQUIREMENT.match(heading.words) for heading in outline.above(entry)]
        number = next((match[1] for match in chain if match), "")
        if number:
            counts[number] = counts.get(number, 0) + 1
            found.setdefault(f"{number}.{counts[number]}", entry.words)
    return found
