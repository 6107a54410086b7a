"""Revisions of what steps say, and notes beside a plan, for every kind of plan's files.

The rule: a change is read back before it is written. A line changes nothing but the words of its step, and a
replacement no id, no mark and no other step; what reads otherwise is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from shlex import quote

from drumline.core.ids import StepId
from drumline.core.plan import Step
from drumline.core.vocabulary import DocumentKind
from drumline.errors import InvalidInput
from drumline.planfiles.drafts import PlanLock, put_file, until_settled
from drumline.planfiles.notes import append_notes
from drumline.planfiles.placing import Placeless
from drumline.planfiles.rewriting import add_note, show_diff, substitute
from drumline.planfiles.source import decode, read_bytes
from drumline.ports.planfiles import Revision
from drumline.record import replace


def is_revised(before: Step | None, after: Step | None, *, adds: bool) -> bool:
    """Whether a step reads back as the same one with other words; what only `adds` a line changes nothing it has."""
    if before is None or after is None or before.id != after.id:
        return False
    return not adds or replace(before, text_digest=after.text_digest) == after


def unlike(step: Step, path: str) -> InvalidInput:
    """The refusal of a change that would read back as something else."""
    message = f"{path}: the change of {step.id!r} would change more than what it says; nothing was written"
    return InvalidInput(message, hint=f"drumline validate {quote(path)}")


class Revisable(Placeless, ABC):
    """A plan whose steps' words can be changed; `repo` is where paths in diffs begin, `note_file` has the notes."""

    _lock: PlanLock
    _repo: Path
    _note_file: Path | None = None

    @abstractmethod
    def _find_file(self, step: Step) -> Path:
        """The file that has the step's words."""

    @abstractmethod
    def _read_words(self, step: Step) -> str:
        """What that file says now."""

    @abstractmethod
    def _add_case(self, text: str, step: Step, said: str, *, by: StepId) -> str | None:
        """The file with a line about edge cases of the step; None if the format has no room for it."""

    @abstractmethod
    def _assure_revised(self, before: str, after: str, step: Step, *, adds: bool) -> None:
        """Refuse a change of more than what the step says; what only `adds` a line changes nothing else of it."""

    def place(self, kind: DocumentKind, step: Step) -> str:
        """What a step notes is a part of the notes beside the plan."""
        notes = self._note_file if kind is DocumentKind.NOTES else None
        return f"{notes.relative_to(self._repo).as_posix()}#{step.id}" if notes is not None else ""

    def put(self, path: str, text: str, *, before: str = "") -> str:
        """Add to the notes beside the plan; see the port for the promise."""
        notes = self._note_file
        if notes is None or path.partition("#")[0] != notes.relative_to(self._repo).as_posix():
            return Placeless.put(self, path, text, before=before)
        with self._lock.hold():
            return until_settled(lambda: append_notes(notes, text))

    def revise(self, step: Step, revision: Revision, *, write: bool) -> str:
        """Change what a step says; see the port for the promise."""
        with self._lock.hold():
            return until_settled(lambda: self._revise(step, revision, write=write))

    def _revise(self, step: Step, revision: Revision, *, write: bool) -> str:
        text, file, said = self._read_words(step), self._find_file(step), revision.text
        if not said:
            changed: str | None = substitute(text, revision.old, revision.new, where=step.path or file.name)
        else:
            changed = self._add_case(text, step, said, by=revision.origin)
        if changed is None:
            return self._note(step, revision, write=write)
        if changed == text:
            return ""
        self._assure_revised(text, changed, step, adds=bool(said))
        return self._put(file, text, changed, write=write)

    def _note(self, step: Step, revision: Revision, *, write: bool) -> str:
        """Add the line to the notes beside the plan."""
        file = self._note_file
        if file is None:
            raise InvalidInput(
                f"the plan's format has no room for edge cases of {step.id!r}, and no notes are kept beside it",
                hint="drumline validate PATH/TO/PLAN",
            )
        name = file.name
        found = read_bytes(file, name) if file.exists() else b""
        text = decode(found, name) if isinstance(found, bytes) else found
        if not isinstance(text, str):
            raise InvalidInput(f"{text.where}: {text.message}", hint=f"ls {file.parent.name}")
        changed = add_note(text, step.id, revision.text, by=revision.origin)
        return self._put(file, text, changed, write=write) if changed != text else ""

    def _put(self, file: Path, before: str, after: str, *, write: bool) -> str:
        if write:
            put_file(file, after.encode(), before=before.encode() if file.exists() else None)
        return show_diff(before, after, file.relative_to(self._repo).as_posix())
