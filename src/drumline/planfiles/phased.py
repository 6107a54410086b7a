"""The phased format: `plans/steps/NN-slug.md`, `plans/handoffs/` beside it, and optional `plan.md` and `NOTES.md`.

A step's id is the number its file's name begins with, as it stands there (`01`); needs may be written `1` or `01`.
A handoff's result outweighs the format's own status words, because its other tools believe the handoff. What the
engine writes must read back whatever a handoff says, so where a word of the format would not, the native word is
written: no other tool of the format takes it up.

    mark      status written   with a handoff that says otherwise
    ready     pending          ready
    claimed   in-progress      claimed
    done      complete         done
    blocked   blocked          blocked     these three have no word in the format; tools that look for the first
    failed    failed           failed      in-progress or else the first pending step pass them over
    skipped   skipped          skipped

Assignee, `claimed_at` and `reason` are further keys, which the format's tools ignore.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Problem, Severity, Status, Step
from drumline.core.validation import normal_path
from drumline.core.vocabulary import DocumentKind
from drumline.errors import InvalidInput
from drumline.planfiles.correction import (
    NOTHING,
    check_fields,
    code_span,
    inherited,
    list_single,
    quote,
    split_needs,
    yaml_list,
    yaml_text,
)
from drumline.planfiles.drafts import until_settled
from drumline.planfiles.folder import Beside, Contents, FolderFiles, Over
from drumline.planfiles.frontmatter import read_frontmatter
from drumline.planfiles.markdown import Body, Bucket, read_body
from drumline.planfiles.notes import NOTES, tell_notes
from drumline.planfiles.overview import Overview
from drumline.planfiles.placing import put_document
from drumline.planfiles.preamble import read_preamble
from drumline.planfiles.source import BOM, decode, list_names, read_bytes
from drumline.planfiles.stepfile import Fields, Form, StepFile, neutral_digest, not_run, step_checks
from drumline.ports.planfiles import Correction
from drumline.record import replace

STEPS, HANDOFFS, PLAN = "steps", "handoffs", "plan.md"
RESULTS = ("complete", "partial", "blocked")
_NAME = re.compile(r"([0-9]+(?:[hm][0-9]*)?|R[0-9]+[a-z]?)(?:[-_. ][^/]*)?\.md")
_NUMBER = re.compile(r"([0-9]{1,18})(.*)", re.DOTALL)

_NATIVE: Mapping[str, Status] = {status.value: status for status in Status}
_OWN: Mapping[str, Status] = {
    "pending": Status.READY,
    "in-progress": Status.CLAIMED,
    "complete": Status.DONE,
    "completed": Status.DONE,
}
_WRITTEN: Mapping[Status, str] = {
    **{status: status.value for status in Status},
    Status.READY: "pending",
    Status.CLAIMED: "in-progress",
    Status.DONE: "complete",
}
_MEANT: Mapping[str, Mapping[str, Status]] = {
    "": _OWN,
    "complete": dict.fromkeys(_OWN, Status.DONE),
    "partial": {**_OWN, "complete": Status.READY, "completed": Status.READY},
    "blocked": dict.fromkeys(_OWN, Status.BLOCKED),
}
"""What the format's words mean beside a handoff with each result."""


def form_for(result: str) -> Form:
    """The words of a step's file beside a handoff with this result, "" if there is none."""
    meant = _MEANT.get(result, _OWN)
    writes = {s: word if {**_NATIVE, **meant}[word] is s else s.value for s, word in _WRITTEN.items()}
    return Form(
        reads={**meant, **_NATIVE},
        writes=writes,
        absent=meant["pending"],
        buckets={"test commands": Bucket.VERIFICATION, "test command": Bucket.VERIFICATION},
        fenced=True,
    )


class PhasedLayout:
    """The names and words of the phased format."""

    format = "phased"
    own_marks = False
    warnings: Sequence[str] = ()
    folders: Sequence[str] = ("", STEPS, HANDOFFS)
    patterns: Sequence[str] = (PLAN, f"{STEPS}/[0-9]*.md", f"{STEPS}/R[0-9]*.md", f"{HANDOFFS}/*.md")
    needs_key = "depends_on"
    id_key = "step"

    def is_step(self, name: str) -> bool:
        """Whether a step is kept in the file of this name."""
        folder, _, file = name.partition("/")
        return folder == STEPS and bool(_NAME.fullmatch(file))

    def is_beside(self, name: str) -> bool:
        """Whether the file is a handoff, the notes or the plan's overview."""
        folder, _, file = name.partition("/")
        return name in (NOTES, PLAN) or (folder == HANDOFFS and file.endswith(".md"))

    def place(self, name: str) -> tuple[int, int, str]:
        """The overview first, then steps and handoffs by number, then the notes."""
        folder, _, file = name.rpartition("/")
        number = _NUMBER.fullmatch(file)
        if name == PLAN or not folder:
            return (0 if name == PLAN else 3), 0, name
        return (1 if folder == STEPS else 2), int(number[1]) if number else 10**18, number[2] if number else file

    def step_id(self, name: str) -> StepId:
        """What the file's name begins with."""
        found = _NAME.fullmatch(name.rpartition("/")[2])
        return StepId(found[1] if found else name)

    def form(self, name: str, beside: Beside) -> Form:
        """The words of the step's file beside its handoff."""
        text = beside(f"{HANDOFFS}/{name.rpartition('/')[2]}")
        return form_for("" if text is None else read_result(text))

    def parse(self, text: str, path: str, form: Form) -> StepFile:
        """One step's file."""
        front = read_frontmatter(text, path)
        if isinstance(front, Problem):
            return StepFile(step=None, marks=Marks(), problems=(front,))
        body = form.read_body(text, front)
        fields = Fields(front=front, path=path, form=form, problems=list(front.problems))
        marks = fields.marks()
        _compare_status(fields, marks)
        step = _step(fields, body, self.step_id(path))
        step = replace(step, text_digest=neutral_digest(text, front, body))
        return StepFile(step=step, marks=marks, problems=(*fields.problems, *not_run(body, path)))

    def settle(self, files: Sequence[StepFile], promised: Sequence[StepId]) -> list[StepFile]:
        """Needs by number become the ids of the files with these numbers."""
        ids = {_bare(step_id): step_id for step_id in reversed(promised)}
        return [_resolved(found, ids) for found in files]

    def overview(self, contents: Contents) -> Overview:
        """The title from the overview, and where handoffs disagree with the steps."""
        text = contents.beside.get(PLAN)
        title = "" if text is None else read_body(text, len(BOM) if text.startswith(BOM) else 0, 0).title
        preamble = read_preamble(text or "")
        return Overview(title=title, preamble=preamble, problems=tuple(_handoff_problems(contents)))

    def supplement(self, beside: Beside) -> str:
        """The plan's notes, the newest if they are long."""
        return tell_notes(beside(NOTES))

    def corrective(self, correction: Correction, helps: Step, newline: str) -> tuple[str, str]:
        """A step file of this format, named so that it sorts right behind the step it helps."""
        slug = "-".join(re.findall(r"[a-z0-9]+", correction.title.casefold()))[:40].strip("-") or "fix"
        if not _NAME.fullmatch(f"{correction.id}-{slug}.md"):
            message = f"{correction.id!r} cannot name a step here: write a number, 3h or R1"
            raise InvalidInput(message, hint="drumline validate PATH/TO/PLAN")
        return f"{STEPS}/{correction.id}-{slug}.md", _corrective_text(correction, helps).replace("\n", newline)

    def row(self, _correction: Correction, _helps: Step, _beside: Beside) -> tuple[str, str] | None:
        """Nothing: no file lists the steps."""
        return None

    def show(
        self, step: Step, marks: Marks, beside: Beside, *, finished: Over, now: datetime | None, ticked: Sequence[str]
    ) -> tuple[str, str] | None:
        """Nothing: no file lists the steps."""
        return None


class PhasedFiles(FolderFiles):
    """One `plans` directory, given as itself, by its `plan.md` or by its `steps`."""

    def __init__(self, place: Path, *, repo: Path, locks: Path | None = None) -> None:
        root = _folder(place)
        if root is None or not root.is_relative_to(repo):
            message = f"{place.name!r} is not a plan: give the directory that holds {STEPS}/, or its {PLAN}"
            raise InvalidInput(message, hint=f"drumline validate {shlex.quote(str(place.parent.relative_to(repo)))}")
        super().__init__(root, PhasedLayout(), repo=repo, locks=locks)
        self._note_file = root / NOTES

    def place(self, kind: DocumentKind, step: Step) -> str:
        """A handoff has the name of its step's file."""
        if kind is DocumentKind.HANDOFF:
            return f"{self._prefix}{HANDOFFS}/{step.path.rpartition('/')[2]}"
        return FolderFiles.place(self, kind, step)

    def read_document(self, kind: DocumentKind, step: Step) -> str:
        """The handoff in its place; one that cannot be read is a problem of the plan, and missing here."""
        path = self.place(kind, step)
        found = read_bytes(self._root / path.removeprefix(self._prefix), path) if kind is DocumentKind.HANDOFF else None
        text = decode(found, path) if isinstance(found, bytes) else None
        return text.removeprefix(BOM) if isinstance(text, str) else ""

    def put(self, path: str, text: str, *, before: str = "") -> str:
        """Put a handoff in its place, or add to the notes; see the port for the promise."""
        folder, _, name = path.removeprefix(self._prefix).partition("/")
        if folder != HANDOFFS:
            return FolderFiles.put(self, path, text, before=before)
        if not _NAME.fullmatch(name) or (self._root / folder).is_symlink():
            raise InvalidInput(
                f"the plan has no place for a handoff at {path!r}", hint=f"drumline validate {shlex.quote(self._path)}"
            )
        with self._lock.hold():
            return until_settled(lambda: put_document(self._root / folder / name, text, before=before))

    @staticmethod
    def recognise(place: Path) -> bool:
        """Whether the directory holds steps of this format."""
        root = _folder(place)
        return root is not None and any(_NAME.fullmatch(name) for name in list_names(root / STEPS))


def read_result(text: str) -> str:
    """The result a handoff reports, "" if it reports none that is known."""
    front = read_frontmatter(text, "")
    word = "" if isinstance(front, Problem) else (front.text("result") or "").strip().casefold()
    return word if word in RESULTS else ""


def _folder(place: Path) -> Path | None:
    """The directory that holds `steps`, for any of the ways to name the plan."""
    if place.name in (PLAN, STEPS):
        place = place.parent
    return place if (place / STEPS).is_dir() and not (place / STEPS).is_symlink() else None


def _step(fields: Fields, body: Body, step_id: StepId) -> Step:
    written = fields.text("step").strip()
    if written and _bare(written) != _bare(step_id):
        fields.warn("step", "step_number", f"says it is step {written!r}; its file's name counts: {step_id!r}")
    checks = step_checks(body)
    runnable = {check.line for check in checks}
    return Step(
        id=step_id,
        title=" ".join(fields.text("title").split()) or body.title or step_id,
        needs=tuple(StepId(need) for need in _needs(fields)),
        files=tuple(normal_path(path) or path for path in fields.texts("files")),
        checks=(*checks, *(Check(command=command) for command in fields.texts("checks")), *fields.kinds("step")),
        not_run=tuple(i.text for i in body.items if i.bucket is Bucket.VERIFICATION and i.line not in runnable),
        tier=fields.text("tier").strip() or "standard",
        agent=fields.text("agent"),
        estimate=fields.hours("estimate"),
        path=fields.path,
        line=fields.front.line("step"),
    )


def _compare_status(fields: Fields, marks: Marks) -> None:
    """Warn where a handoff outweighs what the file says."""
    alone = Fields(front=fields.front, path=fields.path, form=form_for("")).marks()
    if alone.status is not marks.status:
        word = fields.text("status") or "nothing"
        message = f"the status says {word!r}, its handoff otherwise; the handoff counts: {marks.status.value}"
        fields.warn("status", "handoff_differs", message)


def _needs(fields: Fields) -> tuple[str, ...]:
    """The needs as written: a list, a single number, several parted by commas, or a word for none."""
    entry = fields.front.entries.get("depends_on")
    if entry is None or not isinstance(entry.value, str):
        return tuple(need for need in fields.texts("depends_on") if need.strip().casefold() not in NOTHING)
    return split_needs(entry.value)


def _bare(text: str) -> str:
    """The id as it is compared: without leading zeros."""
    return text.strip().lstrip("0") or "0"


def _resolved(found: StepFile, ids: Mapping[str, StepId]) -> StepFile:
    if found.step is None:
        return found
    needs = tuple(ids.get(_bare(need), need) for need in found.step.needs)
    return StepFile(step=replace(found.step, needs=needs), marks=found.marks, problems=found.problems)


def _handoff_problems(contents: Contents) -> Iterator[Problem]:
    by_name = {step.path.rpartition("/")[2]: step for step in contents.steps}
    for name, text in contents.beside.items():
        folder, _, file = name.partition("/")
        if folder != HANDOFFS:
            continue
        step = by_name.get(file)
        if step is None:
            yield _warning("handoff_unknown", "is a handoff of no step of the plan", contents.prefix + name)
        else:
            yield from _compare(text, contents.prefix + name, contents.marks[step.id], step)


def _compare(text: str, path: str, marks: Marks, step: Step) -> Iterator[Problem]:
    result = read_result(text)
    if not result:
        message = f"says no result (legal: {', '.join(RESULTS)}), so it does not count"
        yield _warning("handoff_no_result", message, path)
    elif result == "partial" and marks.status is not Status.DONE:
        yield _warning("handoff_partial", f"says 'result: partial', so step {step.id!r} is not done", path)
    elif result == "blocked" and marks.status is not Status.DONE:
        yield _warning("handoff_blocked", f"says 'result: blocked', so step {step.id!r} is not done", path)


def _warning(code: str, message: str, path: str) -> Problem:
    return Problem(code=code, message=message, where=f"{path}:1", severity=Severity.WARNING)


def _corrective_text(correction: Correction, helps: Step) -> str:
    title = " ".join(correction.title.split())
    head = [
        f"step: {correction.id}",
        f"title: {yaml_text(title)}",
        f"depends_on: {yaml_list(inherited(helps))}",
        *([f"files: {yaml_list(correction.files)}"] if correction.files else []),
        *check_fields(correction),
        "status: pending",
    ]
    listed = "".join(f"- {code_span(command)}\n" for command in list_single(correction))
    return (
        "\n".join(["---", *head, "---", ""])
        + f"\n# Step {correction.id}: {title}\n\n## Objective\n\n{quote(correction.what)}\n\n"
        + f"## Context\n\nWhy:\n\n{quote(correction.why)}\n\n## Test commands\n\n{listed}"
    )
