"""The format `taskmaster`: Task Master's tasks.json. Tasks and subtasks with dependencies and a status of their own.

A task with subtasks is a group: its subtasks are the steps, and it is done with the last of them. Only values of
`status` are written; claims and reasons are kept in the sidecar.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import SIDECAR, Marks, Problem, Status, Step
from drumline.errors import InvalidInput
from drumline.planfiles.annotated import AnnotatedFiles
from drumline.planfiles.dataedit import Editor
from drumline.planfiles.document import Parsed, Span
from drumline.planfiles.jsonfile import read_json
from drumline.planfiles.sidecar import Added
from drumline.planfiles.source import DOCUMENT_BYTES, DOCUMENT_LINES, decode, read_bytes
from drumline.planfiles.taskmaster_tasks import Item, Items, find_acceptance, find_tags, read_items, to_steps
from drumline.planfiles.weaving import weave_beside
from drumline.ports.planfiles import Correction, ProgressReport

FILE = "tasks.json"
STATE = "state.json"
WRITES = {
    Status.READY: "pending",
    Status.CLAIMED: "in-progress",
    Status.DONE: "done",
    Status.BLOCKED: "blocked",
    Status.FAILED: "blocked",
    Status.SKIPPED: "cancelled",
}
_OVER = (Status.DONE, Status.SKIPPED)


class TaskmasterDialect:
    """The words of a tasks.json. `tag` is the one that Task Master has chosen, "" if it says nothing."""

    name = "taskmaster"
    reports_progress = False
    adds_beside = True
    muted: frozenset[str] = frozenset({"redundant_need"})

    def __init__(self) -> None:
        self.tag = ""
        self._last: tuple[str, str, Items] | None = None

    def parse(self, text: str, path: str) -> Parsed:
        """Read the document; never raises on bad input, but lists what is wrong with it."""
        found = self._read(text, path)
        steps, problems = to_steps(found, path)
        return Parsed(
            steps=steps,
            marks={item.id: Marks(status=item.status) for item in reversed(found.leaves)},
            texts={item.id: item.text for item in reversed(found.leaves)},
            problems=(*found.problems, *problems),
            title=found.title,
            acceptance=find_acceptance(found, steps),
        )

    def edit(self, text: str, step: Step, marks: Marks, ticked: Sequence[int]) -> list[Span]:
        """The status of the task, and that of the task around it when it is over with this one."""
        found = self._read(text, step.path)
        item = next((item for item in found.leaves if item.id == step.id), None)
        if item is None or found.root is None:
            return []
        editor = Editor(text, found.root)
        if item.status is not marks.status:
            editor.set(item.node, "status", WRITES[marks.status])
        group = next((one for one in found.groups if item.parent and one.id == item.parent), None)
        if group is not None:
            self._set_group(editor, group, item, marks=marks, found=found)
        return editor.spans

    def insert(self, text: str, correction: Correction, helps: Step) -> list[Span]:
        """Nothing: corrective steps are kept beside the document."""
        return []

    def write_progress(self, text: str, progress: ProgressReport) -> list[Span]:
        """Nothing: the format has no progress report."""
        return []

    def shown(self, marks: Marks) -> Marks:
        """What a status can say: a failed task is blocked there."""
        return Marks(status=Status.BLOCKED if marks.status is Status.FAILED else marks.status)

    def weave(self, parsed: Parsed, added: Sequence[Added]) -> Parsed:
        """The document's tasks with the corrective steps behind the ones they help."""
        return weave_beside(parsed, added)

    def _read(self, text: str, path: str) -> Items:
        if self._last is None or self._last[:2] != (self.tag, text):
            self._last = (self.tag, text, read_items(text, path, self.tag))
        return self._last[2]

    def _set_group(self, editor: Editor, group: Item, item: Item, *, marks: Marks, found: Items) -> None:
        mates = [other for other in found.leaves if other.parent == group.id and other.id != item.id]
        over = all(mate.status in _OVER for mate in mates)
        if marks.status is Status.DONE and over and group.status is not Status.DONE:
            editor.set(group.node, "status", WRITES[Status.DONE])
        elif not all("status" in mate.node.pairs for mate in mates):
            return  # these take theirs from the task around them
        elif item.status is Status.DONE and marks.status is not Status.DONE and group.status is Status.DONE:
            editor.set(group.node, "status", WRITES[Status.CLAIMED])


class TaskmasterFiles(AnnotatedFiles):
    """One tasks.json, given as the file or as the folder of Task Master."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        file = _find_file(place)
        if file is None:
            message = f"{str(place)!r} has no {FILE}"
            raise InvalidInput(message, hint=f"drumline validate .taskmaster/tasks/{FILE}")
        self._words = TaskmasterDialect()
        super().__init__(file, self._words, repo=repo, locks=locks)
        self._shows: Parsed = Parsed()

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether it is JSON with tasks, at its top or below a tag; a broken tasks.json is ours by its name."""
        file = _find_file(place)
        if file is None or file.suffix != ".json" or file.name.endswith(SIDECAR):
            return False
        data = read_bytes(file, "", most=DOCUMENT_BYTES)
        text = data if isinstance(data, Problem) else decode(data, "", most_lines=DOCUMENT_LINES)
        if isinstance(text, Problem) or '"tasks"' not in text:
            return False
        source = read_json(text, "")
        if isinstance(source, Problem):
            return file.name == FILE
        return bool(find_tags(source.value))

    def _parse(self, text: str) -> Parsed:
        tag = self._read_tag()
        if tag != self._words.tag:
            self._words.tag, self._last = tag, None
        self._shows = super()._parse(text)
        return self._shows

    def _shown(self, step: StepId, marks: Marks) -> Marks:
        """A corrective step shows nothing."""
        return self._frugal.shown(marks) if step in self._shows.marks else Marks()

    def _supplement(self) -> bytes:
        """The chosen tag: another one is another plan."""
        return self._read_tag().encode()

    def _read_tag(self) -> str:
        data = read_bytes(self._file.parent.with_name(STATE), STATE)
        text = data if isinstance(data, Problem) else decode(data, STATE)
        source = text if isinstance(text, Problem) else read_json(text, STATE)
        value = None if isinstance(source, Problem) else source.value
        tag = value.get("currentTag") if isinstance(value, dict) else None
        return tag if isinstance(tag, str) else ""


def _find_file(place: Path) -> Path | None:
    if not place.is_dir():
        return place
    places = (place / FILE, place / "tasks" / FILE) if place.name in (".taskmaster", "tasks") else ()
    return next((file for file in places if file.is_file()), None)
