"""The native format: a directory with `root.md` and one `step-*.md` per step.

Frontmatter is the truth; the root's table and drawing are for people: they are compared with it, and the statuses in
the table follow it (see `rootmarks`). A single file
with `## Phase N:` headings is the linear variant of this format, see `linear`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Problem, Step
from drumline.errors import InvalidInput
from drumline.patterns import compile_late
from drumline.planfiles.correction import native_file
from drumline.planfiles.folder import Beside, Contents, FolderFiles, Over
from drumline.planfiles.notes import NOTES, tell_notes
from drumline.planfiles.overview import Overview
from drumline.planfiles.preamble import read_preamble
from drumline.planfiles.rootfile import add_row, compare, read_root, tick_root
from drumline.planfiles.rootmarks import show_marks
from drumline.planfiles.source import list_names
from drumline.planfiles.stepfile import NATIVE, Form, StepFile, parse_step
from drumline.ports.planfiles import Correction

if TYPE_CHECKING:
    from drumline.planfiles.linear import LinearFiles

ROOT = "root.md"
_NUMBERED = compile_late(r"step-([0-9]+)(.*)", re.DOTALL)


class DagLayout:
    """The names and words of the native format."""

    format = "dag"
    own_marks = True
    warnings: Sequence[str] = ("check_not_command", "missing_bucket", "boxes_ticked", "unknown_role")
    folders: Sequence[str] = ("",)
    patterns: Sequence[str] = (ROOT, "step-*.md")
    needs_key = "depends_on"
    id_key = "id"

    def is_step(self, name: str) -> bool:
        """Whether a step is kept in the file of this name."""
        return name.startswith("step-") and name.endswith(".md") and "/" not in name

    def is_beside(self, name: str) -> bool:
        """Whether the file is the root."""
        return name == ROOT

    def place(self, name: str) -> tuple[int, int, str]:
        """Root first, then by the number in the name (step-2 before step-10), then other names."""
        if name == ROOT:
            return 0, 0, name
        match = _NUMBERED.fullmatch(name)
        return (1, int(match[1][:18]), match[2]) if match else (2, 0, name)

    def step_id(self, name: str) -> StepId:
        """The file's name without its ending."""
        return StepId(name.removesuffix(".md"))

    def form(self, _name: str, _beside: Beside) -> Form:
        """The native words."""
        return NATIVE

    def parse(self, text: str, path: str, _form: Form) -> StepFile:
        """One step's file."""
        return parse_step(text, path)

    def settle(self, files: Sequence[StepFile], _promised: Sequence[StepId]) -> list[StepFile]:
        """The files as they are: needs name ids."""
        return list(files)

    def overview(self, contents: Contents) -> Overview:
        """Title and autonomy from the root, and where its table and drawing disagree with the steps."""
        path = contents.prefix + ROOT
        text = contents.beside.get(ROOT)
        if text is None:
            missing = Problem(code="missing_root", message=f"the plan has no {ROOT}", where=f"{path}:1")
            return Overview(problems=() if ROOT in contents.unreadable else (missing,))
        root = read_root(text, path)
        problems = (*root.problems, *compare(root, path, contents.steps, contents.marks))
        return Overview(
            title=root.title,
            autonomy=root.autonomy,
            flow=root.flow,
            require=root.require,
            kinds=root.kinds,
            final=root.final,
            not_run=root.not_run,
            manual=root.manual,
            preamble=read_preamble(text),
            preflight=root.preflight,
            problems=problems,
        )

    def supplement(self, beside: Beside) -> str:
        """The notes beside the steps, the newest if they are long."""
        return tell_notes(beside(NOTES))

    def corrective(self, correction: Correction, helps: Step, newline: str) -> tuple[str, str]:
        """A file of the native format beside the others."""
        return _file_name(correction), native_file(correction, helps, newline=newline)

    def row(self, correction: Correction, helps: Step, beside: Beside) -> tuple[str, str] | None:
        """The root file with one more row, if it has a table of the steps."""
        text = beside(ROOT)
        if text is None:
            return None
        changed = add_row(text, ROOT, correction, helps=helps, file=_file_name(correction))
        return (ROOT, changed) if changed != text else None

    def show(
        self, step: Step, marks: Marks, beside: Beside, *, finished: Over, now: datetime | None, ticked: Sequence[str]
    ) -> tuple[str, str] | None:
        """The root file with the step's status in its table, its own status, the time of the change, and boxes."""
        text = beside(ROOT)
        if text is None:
            return None
        changed = tick_root(show_marks(text, step, marks, finished=finished, now=now), ticked)
        return (ROOT, changed) if changed != text else None


class DagFiles(FolderFiles):
    """One plan directory, given as itself or by its root file."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        root = _folder(place)
        if not root.is_dir():
            message = f"{place.name!r} is not a plan: give the plan's directory or its {ROOT}"
            raise InvalidInput(message, hint=f"drumline validate {quote(str(place.parent.relative_to(repo)))}")
        super().__init__(root, DagLayout(), repo=repo, locks=locks)

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether the directory looks like a plan of this format."""
        return any(name == ROOT or DagLayout().is_step(name) for name in list_names(_folder(place)))


class DagFormat:
    """Opens plans of the native format, be they a directory or a file with phases."""

    def recognise(self, place: Path) -> bool:
        """Whether it is a plan of this format in either variant."""
        if DagFiles.recognise(place):
            return True
        from drumline.planfiles.linear import LinearFiles  # a directory does without its readers

        return LinearFiles.recognise(place)

    def __call__(self, place: Path, *, repo: Path, locks: Path | None = None) -> DagFiles | LinearFiles:
        """Open the plan; a file other than the root is taken for the linear variant."""
        if place.is_file() and place.name != ROOT:
            from drumline.planfiles.linear import LinearFiles

            return LinearFiles(place, repo=repo, locks=locks)
        return DagFiles(place, repo=repo, locks=locks)


FORMAT = DagFormat()


def _folder(place: Path) -> Path:
    return place.parent if place.name == ROOT else place


def _file_name(correction: Correction) -> str:
    return f"{correction.id}.md" if correction.id.startswith("step-") else f"step-{correction.id}.md"
