"""Lessons as files of the repository, `.drumline/lessons/NAME.md`, and the ledgers that they come from.

The rule: the fields at the head of a file are ours, the words below them a person may change. A lesson that failed is
marked and kept; only `forget` removes one.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from drumline.core.learned import Lesson
from drumline.core.lessons import (
    MOST_REMEDY,
    MOST_SIGNATURE,
    UNUSED_DAYS,
    Evidence,
    clean_line,
    is_alike,
    is_promoted,
    name_lesson,
    weigh,
)
from drumline.datatext import Data, plain, read_data
from drumline.errors import InvalidInput
from drumline.ports.lessons import Change, FixRow, RunRow
from drumline.record import Record, replace
from drumline.store.fixledger import (
    FORGOTTEN,
    Raw,
    append_lines,
    key_fix,
    key_run,
    lock,
    read_fix,
    read_lines,
    spell_fix,
    spell_run,
)
from drumline.walltimes import parse_iso

ACTIVE, DEMOTED, EXPIRED = "active", "demoted", "expired"
FENCE = "---\n"
DAY = 86_400.0
WORDS = ("signature", "remedy", "promoted", "used", "by", "state")
NUMBERS = ("successes", "helped")
NEIGHBOUR = Path(".ai/learning")
FIXES, RUNS = "fixes.jsonl", "runs.jsonl"
LONGEST = 64_000
"""Bytes of a lesson's file that are read."""


def write_lesson(lesson: Lesson, body: str = "") -> str:
    """The file of a lesson; a `body` that is there stays."""
    fields = {name: getattr(lesson, name) for name in (*WORDS, *NUMBERS)}
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
    return f"{FENCE}{head}{FENCE}{body or _write_body(lesson)}"


def _write_body(lesson: Lesson) -> str:
    program, kind, line = [*lesson.signature.split(" | ", 2), "", ""][:3]
    when = f"`{program}` {kind}: `{line}`" if kind else f"`{program}`"
    return (
        f"# {lesson.name}\n\n## When\n\n{when}\n\n## Apply\n\n> {lesson.remedy}\n\n"
        f"## Evidence\n\nThis put the failure right {lesson.successes} times and never failed before it was promoted.\n"
    )


def read_lesson(text: str, name: str) -> tuple[Lesson, str] | None:
    """The lesson in a file, and the words below its fields; None if it is not one."""
    if not text.startswith(FENCE) or f"\n{FENCE}" not in text:
        return None
    end = text.index(f"\n{FENCE}") + 1
    found = read_data(text, len(FENCE), end)
    fields = plain(found.root) if isinstance(found, Data) else None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(key), str) for key in ("signature", "remedy")):
        return None
    words = {key: str(fields.get(key, "")) for key in WORDS}
    successes, helped = (value if isinstance(value := fields.get(key), int) else 0 for key in NUMBERS)
    lesson = Lesson(
        name=name,
        signature=clean_line(words["signature"], MOST_SIGNATURE),
        remedy=clean_line(words["remedy"], MOST_REMEDY),
        successes=successes,
        helped=helped,
        promoted=words["promoted"],
        used=words["used"],
        by=words["by"],
        state=words["state"] or ACTIVE,
    )
    return lesson, text[end + len(FENCE) :]


class FileLessons(Record):
    """The lessons of the checkout at `top`, and the ledgers in the state folder `folder`.

    A repository that has `.ai/learning` gets its ledgers written, too, and what stands there counts.
    """

    folder: Path
    top: Path

    @property
    def place(self) -> Path:
        """Where lessons are."""
        return self.top / ".drumline" / "lessons"

    def read(self) -> dict[str, tuple[Lesson, str]]:
        """All lessons by name, each with the words below its fields."""
        found: dict[str, tuple[Lesson, str]] = {}
        for file in sorted(self.place.glob("*.md")):
            read = self._read_file(file)
            if read is not None:
                found[file.stem] = read
        return found

    def _read_file(self, file: Path) -> tuple[Lesson, str] | None:
        try:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > LONGEST:
                return None
            return read_lesson(file.read_text(encoding="utf-8"), file.stem)
        except (OSError, UnicodeDecodeError):
            return None

    def load(self, now: float) -> tuple[Lesson, ...]:
        """The lessons that count at this time."""
        return tuple(lesson for lesson, _ in self.read().values() if find_state(lesson, now) == ACTIVE)

    def note(self, rows: Sequence[FixRow]) -> Change:
        """Record lines, then promote and demote by what all lines say."""
        with lock(self.folder):
            spelled = [spell_fix(row) for row in rows]
            for file in self._list_ledgers(FIXES):
                append_lines(file, spelled, key_fix)
            return self._settle(rows[0].run if rows else "", now=max((row.at for row in rows), default=""))

    def note_run(self, row: RunRow) -> None:
        """Record what came of a run."""
        with lock(self.folder):
            append_lines(self.folder / RUNS, [spell_run(row, "run")], key_run)
            for file in self._list_ledgers(RUNS)[1:]:
                append_lines(file, [spell_run(row, "step-all")], key_run)

    def forget(self, name: str, *, at: str) -> None:
        """Remove a lesson; what was learned until now does not bring it back."""
        with lock(self.folder):
            lesson, _ = self._find(name)
            row: Raw = {
                "timestamp": at,
                "error_type": lesson.signature,
                "fix_description": lesson.remedy,
                "result": FORGOTTEN,
                "run": f"forgotten {at}",
                "step": name,
                "n": len(read_lines(self.folder / FIXES)),
            }
            append_lines(self.folder / FIXES, [row], key_fix)
            (self.place / f"{name}.md").unlink()

    def add(self, lesson: Lesson, body: str) -> None:
        """Take over a lesson from elsewhere; InvalidInput if one of that name is there."""
        with lock(self.folder):
            if lesson.name in self.read():
                raise InvalidInput(f"there is a lesson {lesson.name!r} already", hint="drumline lessons list")
            self._write(lesson, body)

    def list_rows(self) -> list[FixRow]:
        """What is known of fixes, without what was forgotten."""
        ours = read_lines(self.folder / FIXES)
        seen = {key_fix(raw) for raw in ours}
        theirs = [raw for raw in read_lines(self.top / NEIGHBOUR / "raw" / FIXES) if key_fix(raw) not in seen]
        rows: list[FixRow] = []
        for raw in (*(raw for raw in theirs if raw.get("result") != FORGOTTEN), *ours):
            if raw.get("result") == FORGOTTEN:
                signature, remedy = str(raw.get("error_type")), str(raw.get("fix_description"))
                rows = [row for row in rows if row.signature != signature or not is_alike(row.remedy, remedy)]
            elif (row := read_fix(raw)) is not None:
                rows.append(row)
        return rows

    def _find(self, name: str) -> tuple[Lesson, str]:
        known = self.read()
        if name not in known:
            raise InvalidInput(
                f"there is no lesson {name!r} (known: {', '.join(known) or 'none'})", hint="drumline lessons list"
            )
        return known[name]

    def _list_ledgers(self, name: str) -> list[Path]:
        neighbour = self.top / NEIGHBOUR
        theirs = neighbour.is_dir() and _is_inside(neighbour / "raw" / name, self.top)
        return [self.folder / name, *([neighbour / "raw" / name] if theirs else [])]

    def _settle(self, run: str, *, now: str) -> Change:
        """Write what the ledger makes of the lessons; returns what is this run's doing."""
        rows, known = self.list_rows(), self.read()
        for name, (lesson, body) in list(known.items()):
            updated = update_lesson(lesson, rows, run=run)
            if updated != lesson:
                self._write(updated, body)
                known[name] = updated, body
        for found in weigh(rows):
            if is_promoted(found) and not _is_known(found, (lesson for lesson, _ in known.values())):
                lesson = self._promote(found, known, run=run, now=now)
                known[lesson.name] = lesson, ""
        mine = [lesson for lesson, _ in known.values() if lesson.by == run]
        return Change(
            promoted=tuple(lesson.name for lesson in mine if lesson.state == ACTIVE),
            demoted=tuple(lesson.name for lesson in mine if lesson.state == DEMOTED),
        )

    def _promote(self, found: Evidence, known: Iterable[str], *, run: str, now: str) -> Lesson:
        lesson = Lesson(
            name=name_lesson(found, known),
            signature=found.signature,
            remedy=found.remedy,
            successes=found.successes,
            promoted=now,
            by=run,
        )
        self._write(lesson, "")
        return lesson

    def _write(self, lesson: Lesson, body: str) -> None:
        put_text(self.place / f"{lesson.name}.md", write_lesson(lesson, body), top=self.top)


def put_text(file: Path, text: str, *, top: Path) -> None:
    """Put a text in the file's place at once; OSError if a link leads it out of the folder `top`."""
    if not _is_inside(file, top):
        raise OSError(errno.ELOOP, "a link leads it out of the repository", str(file))
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(text.encode("utf-8", "replace"))
            os.fchmod(out.fileno(), 0o644)
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _is_inside(file: Path, top: Path) -> bool:
    """Whether the file lies in the folder, whatever links there are on the way, and is not one itself."""
    return file.parent.resolve().is_relative_to(top.resolve()) and not file.is_symlink()


def find_state(lesson: Lesson, now: float) -> str:
    """Whether a lesson counts: not if it failed, or if nobody used it for long."""
    if lesson.state != ACTIVE:
        return lesson.state
    last = max((parse_iso(at) or 0.0 for at in (lesson.promoted, lesson.used) if at), default=now)
    return EXPIRED if now - last > UNUSED_DAYS * DAY else ACTIVE


def update_lesson(lesson: Lesson, rows: Sequence[FixRow], *, run: str) -> Lesson:
    """The lesson with what became of it: how often it helped, when it was used, and whether it failed.

    It was promoted without a failure, so that every one came later.
    """
    used = [row for row in rows if row.fix.lesson == lesson.name]
    same = [row for row in rows if row.signature == lesson.signature]
    failed = any(not row.success and (row in used or is_alike(row.remedy, lesson.remedy)) for row in same)
    demoted = failed and lesson.state == ACTIVE
    return replace(
        lesson,
        helped=max(lesson.helped, sum(row.success for row in used)),
        used=max((row.at for row in used), default=lesson.used),
        state=DEMOTED if demoted else lesson.state,
        by=run if demoted else lesson.by,
    )


def _is_known(found: Evidence, lessons: Iterable[Lesson]) -> bool:
    """Whether there is a lesson about the same failure that says the same, be it demoted."""
    return any(lesson.signature == found.signature and is_alike(lesson.remedy, found.remedy) for lesson in lessons)
