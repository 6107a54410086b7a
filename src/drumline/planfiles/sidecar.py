"""The file `<plan file>.drumline.json`: what the engine must remember of a plan and its format has no place for.

It never speaks against the plan's own file: where a person changed that since, what the sidecar says of the step is
stale and does not count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.plan import SIDECAR, Check, Marks, Problem, Status
from drumline.planfiles.drafts import put_file
from drumline.planfiles.jsonfile import JsonFile, encodable, read_json
from drumline.planfiles.source import DOCUMENT_BYTES, DOCUMENT_LINES, decode, read_bytes
from drumline.ports.planfiles import Correction
from drumline.record import Record, field, replace

SCHEMA_VERSION = 1
EVERY = StepId("*")
"""The place of checks for every step that has none of its own."""
_STATUSES = {status.value: status for status in Status}
_MARK_FIELDS = ("assignee", "claimed_at", "reason")
_WORDS = ("id", "title", "what", "why", "test")


class Added(Record):
    """A corrective step that the plan's own file has no place for."""

    correction: Correction
    helps: StepId


class Sidecar(Record):
    """Marks by step, added steps, and during a write the marks from `before` it, should it never be finished.

    `checks` are commands that a person accepted for steps, or for every step without a check of its own.
    """

    marks: Mapping[StepId, Marks] = field(default_factory=dict)
    before: Mapping[StepId, Marks] = field(default_factory=dict)
    added: tuple[Added, ...] = ()
    checks: Mapping[StepId, tuple[str, ...]] = field(default_factory=dict)

    def with_marks(self, step: StepId, marks: Marks | None, *, before: Marks | None = None) -> Sidecar:
        """The same with these marks for the step; None forgets them."""
        return replace(self, marks=_put(self.marks, step, marks), before=_put(self.before, step, before))

    def with_added(self, added: Added) -> Sidecar:
        """The same with one more corrective step; one of the same id is there only once."""
        known = any(old.correction.id == added.correction.id for old in self.added)
        return self if known else replace(self, added=(*self.added, added))

    def render(self) -> bytes:
        """The file's bytes; none if there is nothing to remember. The same content always gives the same bytes."""
        if not (self.marks or self.before or self.added or self.checks):
            return b""
        value: dict[str, object] = {"schema_version": SCHEMA_VERSION}
        if self.checks:
            value["checks"] = {step: list(self.checks[step]) for step in sorted(self.checks)}
        if self.marks:
            value["steps"] = {step: _mark_words(self.marks[step]) for step in sorted(self.marks)}
        if self.before:
            value["before"] = {step: _mark_words(self.before[step]) for step in sorted(self.before)}
        if self.added:
            value["added"] = [_added_words(added) for added in self.added]
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def sidecar_of(file: Path) -> Path:
    """Where the sidecar of a plan's file lies, whether it exists or not."""
    return file.with_name(file.name + SIDECAR)


def load_bytes(file: Path, path: str) -> bytes | Problem:
    """The sidecar's bytes, none if there is no such file; `path` is its name in problems."""
    data = read_bytes(file, path, most=DOCUMENT_BYTES)
    return b"" if isinstance(data, Problem) and data.code == "missing_file" else data


def parse_sidecar(data: bytes, path: str) -> Sidecar | Problem:
    """What these bytes say, or the first thing that is wrong with them."""
    if not data:
        return Sidecar()
    text = decode(data, path, most_lines=DOCUMENT_LINES)
    found = text if isinstance(text, Problem) else read_json(text, path)
    if isinstance(found, Problem):
        return found
    if found.problems:
        return found.problems[0]
    return _Reader(found, path).read()


def store(file: Path, sidecar: Sidecar) -> None:
    """Bring the file to what the sidecar says, at once and durably; nothing to say means no file.

    The caller holds the plan's lock. Nothing is written when nothing would change.
    """
    data = sidecar.render()
    old = load_bytes(file, file.name)
    if old == data:
        return
    if data:
        put_file(file, data, before=old if isinstance(old, bytes) and file.exists() else None)
    else:
        file.unlink(missing_ok=True)


def _put(marks: Mapping[StepId, Marks], step: StepId, new: Marks | None) -> dict[StepId, Marks]:
    others = {other: kept for other, kept in marks.items() if other != step}
    return others if new is None else {**others, step: new}


def _mark_words(marks: Marks) -> dict[str, str]:
    words = {name: str(getattr(marks, name)) for name in _MARK_FIELDS}
    return {"status": marks.status.value, **{name: word for name, word in words.items() if word}}


def _added_words(added: Added) -> dict[str, object]:
    words: dict[str, object] = {name: str(getattr(added.correction, name)) for name in _WORDS}
    carried = {"checks": list(added.correction.carried)} if added.correction.carried else {}
    return {**words, "files": list(added.correction.files), "helps": added.helps, **carried}


class _Refused(Exception):
    """The sidecar does not say what a sidecar says."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


class _Reader:
    """Turns the JSON value into a sidecar; anything unexpected refuses the whole, since the engine wrote it."""

    def __init__(self, source: JsonFile, path: str) -> None:
        self._source = source
        self._path = path

    def read(self) -> Sidecar | Problem:
        try:
            return self._sidecar()
        except _Refused as refused:
            where = f"{self._path}:{self._source.line(*refused.place)}"
            return Problem(code="bad_sidecar", message=str(refused), where=where)

    def _sidecar(self) -> Sidecar:
        value = _mapping(self._source.value)
        version = value.get("schema_version")
        if version != SCHEMA_VERSION:
            message = f"has the schema version {version!r}; this program reads {SCHEMA_VERSION}"
            raise _Refused(message, "schema_version")
        unknown = sorted(set(value) - {"schema_version", "steps", "before", "added", "checks"})
        if unknown:
            raise _Refused(f"has the unknown key {unknown[0]!r}", unknown[0])
        added = value.get("added", [])
        if not isinstance(added, list):
            raise _Refused("'added' must be a list", "added")
        return Sidecar(
            marks=self._marks(value, "steps"),
            before=self._marks(value, "before"),
            added=tuple(_read_added(item, "added", number) for number, item in enumerate(added)),
            checks={
                StepId(encodable(step)): _read_commands(commands, "checks", step)
                for step, commands in _mapping(value.get("checks", {}), "checks").items()
            },
        )

    def _marks(self, value: Mapping[str, object], key: str) -> dict[StepId, Marks]:
        found = _mapping(value.get(key, {}), key)
        return {StepId(encodable(step)): _read_marks(marks, key, step) for step, marks in found.items()}


def _mapping(value: object, *place: str | int) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _Refused("must be an object", *place)
    return value


def _text(value: Mapping[str, object], key: str, *place: str | int) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise _Refused(f"{key!r} must be a text", *place, key)
    return encodable(found)


def _read_marks(value: object, *place: str | int) -> Marks:
    found = _mapping(value, *place)
    word = _text(found, "status", *place)
    if word not in _STATUSES:
        raise _Refused(f"the status {word!r} is not one of {', '.join(_STATUSES)}", *place, "status")
    texts = {name: _text(found, name, *place) for name in _MARK_FIELDS}
    return Marks(status=_STATUSES[word], **texts)


def _read_commands(value: object, *place: str | int) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(command, str) and command.strip() for command in value):
        raise _Refused("must be a list of commands", *place)
    return tuple(encodable(command) for command in value)


def _read_added(value: object, *place: str | int) -> Added:
    found = _mapping(value, *place)
    words = {name: _text(found, name, *place) for name in _WORDS}
    files = found.get("files", [])
    if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
        raise _Refused("'files' must be a list of texts", *place, "files")
    correction = Correction(
        id=StepId(words["id"]),
        title=words["title"],
        what=words["what"],
        why=words["why"],
        test=words["test"],
        files=tuple(encodable(file) for file in files),
        checks=tuple(Check(command=text) for text in _read_commands(found.get("checks", []), *place, "checks")),
    )
    return Added(correction=correction, helps=StepId(_text(found, "helps", *place)))
