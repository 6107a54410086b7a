"""The format `openspec`: the tasks.md of an OpenSpec change. Boxes in groups below headings; their order is the need.

The scenarios of the change's specs are its acceptance: every prompt shows them, and a person verifies them after the
last task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from drumline.core.outlook import todo
from drumline.core.plan import Acceptance, Problem, Reading, Step
from drumline.planfiles.checklist import ChecklistGrammar, find_list
from drumline.planfiles.document import Parsed
from drumline.planfiles.outline import read_outline
from drumline.planfiles.sidecar import Sidecar
from drumline.planfiles.source import NEWLINE, decode, read_bytes
from drumline.planfiles.superpowers import has_tasks
from drumline.planfiles.tasklist_files import TaskListFiles, TasksParsed, read_document
from drumline.planfiles.tasklist_names import shorten
from drumline.record import Record, replace

FILE = "tasks.md"
BESIDE = ("proposal.md", "design.md")
"""Documents that belong to the same change."""
SPECS = "specs/*/spec.md"
MOST_ITEM = 300
"""Letters of a scenario where a person verifies it."""
MOST_ACCEPTANCE = 8_000
"""Letters of scenarios in a prompt."""
_SCENARIO = "scenario:"
_REMOVED = "removed requirements"


class Scenario(Record):
    """One scenario of a change: its name, which begins with that of its spec, and its text."""

    name: str
    words: str
    text: str


class OpenspecGrammar(ChecklistGrammar):
    """A checklist: OpenSpec, too, counts every box, and their order is the dependency."""

    name = "openspec"
    judges = False


class OpenspecFiles(TaskListFiles):
    """One tasks.md, given as the file or as the folder of its change."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        super().__init__(find_list(place, beside=BESIDE), OpenspecGrammar(), repo=repo, locks=locks)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether it lies in a change, or beside the proposal of one, and its tasks are not headings without boxes."""
        file = place / FILE if place.is_dir() else find_list(place, beside=BESIDE)
        if file.name != FILE or not file.is_file():
            return False
        outline = read_outline(read_document(file))
        if not any(entry.box >= 0 for entry in outline.entries) and has_tasks(outline):
            return False
        inside = "/openspec/changes/" in f"{file.parent.as_posix()}/"
        return inside or (file.with_name("proposal.md").is_file() and any(file.parent.glob(SPECS)))

    def text(self, step: Step) -> str:
        """The step's part of the document, and the scenarios that the change must satisfy."""
        own = super().text(step)
        told = "\n\n".join(scenario.text for scenario in self._scenarios())
        if not told:
            return own
        cut = told if len(told) <= MOST_ACCEPTANCE else told[:MOST_ACCEPTANCE] + " …"
        return f"{own}\nThe change as a whole must satisfy these scenarios:\n\n{cut}\n"

    def _reading(self, doc: Parsed, notes: Sidecar | Problem, digests: Mapping[str, str]) -> Reading:
        """The reading, with the scenarios as what a person verifies after the last task."""
        scenarios = self._scenarios()
        if not doc.steps or not scenarios:
            return super()._reading(doc, notes, digests)
        items = tuple(f"Scenario {one.name}: {shorten(one.words, most=MOST_ITEM)}" for one in scenarios)
        skipped = doc.skipped if isinstance(doc, TasksParsed) else {}
        last = next((step.id for step in reversed(doc.steps) if step.id not in skipped), doc.steps[-1].id)
        steps = [replace(step, manual=(*step.manual, *items)) if step.id == last else step for step in doc.steps]
        reading = super()._reading(replace(doc, steps=tuple(steps)), notes, digests)
        left = todo(reading)
        if not left:
            return reading
        judged = left[-1].id
        acceptance = (Acceptance(step=judged, name=f"scenario {one.name}", words=one.words) for one in scenarios)
        return replace(reading, acceptance=tuple(acceptance))

    def _supplement(self) -> bytes:
        """The specs of the change: editing a scenario is an edit of the plan."""
        return b"\0".join(text.encode() for _, text in self._specs())

    def _scenarios(self) -> list[Scenario]:
        return [scenario for name, text in self._specs() for scenario in read_scenarios(name, text)]

    def _specs(self) -> Iterator[tuple[str, str]]:
        for file in sorted(self._file.parent.glob(SPECS)):
            if file.parent.is_symlink():
                continue
            data = read_bytes(file, file.name)
            text = data if isinstance(data, Problem) else decode(data, file.name)
            if isinstance(text, str):
                yield file.parent.name, text


def read_scenarios(spec: str, text: str) -> Iterator[Scenario]:
    """The scenarios of a spec, without those of requirements that the change removes."""
    outline = read_outline(text)
    told: dict[int, list[str]] = {}
    for entry in outline.entries:
        told.setdefault(entry.heading, []).append(entry.words)
    for number, heading in enumerate(outline.headings):
        words = heading.words.strip("*_ ")
        around = [outline.headings[other].words.casefold() for other in outline.around(number)]
        if not words.casefold().startswith(_SCENARIO) or any(_REMOVED in other for other in around):
            continue
        section = NEWLINE.sub("\n", text[heading.start : heading.end]).strip()
        name = words[len(_SCENARIO) :].strip()
        yield Scenario(
            name=f"{spec}: {name}",
            words=" ".join(told.get(number, ())) or " ".join(section.split("\n")[1:]),
            text=section,
        )
