"""Lessons from and for other tools.

The rule: a file of somebody else's is changed only between our marks, and nothing outside of the repository is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from drumline.core.ids import RunId
from drumline.core.learned import Lesson
from drumline.errors import InvalidInput
from drumline.ports.lessons import FixRow
from drumline.record import replace
from drumline.store.fixledger import read_fix, read_lines
from drumline.store.lessonfiles import ACTIVE, FileLessons, put_text, read_lesson

BEGIN, END = "<!-- drumline lessons: begin -->", "<!-- drumline lessons: end -->"
LEDGER = ".jsonl"
HINT = "drumline lessons --help"


def import_lessons(lessons: FileLessons, source: Path, *, at: str) -> tuple[str, ...]:
    """Take over what the file or folder has; returns the names of the lessons that are new."""
    before = set(lessons.read())
    if source.suffix == LEDGER:
        rows = list(_read_ledger(source, at=at))
        if not rows:
            raise InvalidInput(f"{source}: no line says what came of a fix", hint=HINT)
        lessons.note(rows)
        return tuple(sorted(set(lessons.read()) - before))
    files = sorted(source.glob("*.md")) if source.is_dir() else [source]
    found = [(file, _read_file(file)) for file in files]
    good = [read for _, read in found if read is not None]
    if not good:
        raise InvalidInput(f"{source}: no lesson is there", hint=HINT)
    for lesson, body in good:
        if lesson.name not in before:
            lessons.add(replace(lesson, state=ACTIVE, helped=0, used="", by="", promoted=at), body)
    return tuple(sorted(set(lessons.read()) - before))


def _read_file(file: Path) -> tuple[Lesson, str] | None:
    try:
        return read_lesson(file.read_text(encoding="utf-8"), file.stem)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file}: cannot be read: {error}", hint=HINT) from error


def _read_ledger(source: Path, *, at: str) -> Iterator[FixRow]:
    """The lines, each known by what it says, so that a second import adds nothing; they count from now on."""
    if not source.is_file():
        raise InvalidInput(f"{source}: there is no such file", hint=HINT)
    for raw in read_lines(source):
        row = read_fix(raw)
        if row is not None:
            told = "\n".join((row.run, row.step, str(row.number), row.at, row.ticket, row.signature, row.remedy))
            name = blake2b(told.encode("utf-8", "replace"), digest_size=6).hexdigest()
            yield replace(row, run=RunId(f"import-{name}"), at=at, fix=replace(row.fix, lesson=""))


def export_lessons(lessons: Sequence[Lesson], *, top: Path, to: str) -> tuple[str, ...]:
    """Write the lessons below `to`; returns the paths that were written."""
    place = (top / to).resolve()
    if not place.is_relative_to(top.resolve()) or ".git" in place.relative_to(top.resolve()).parts:
        raise InvalidInput(f"{to!r} is outside of the repository", hint="drumline lessons export --to .claude/rules")
    if place.suffix == ".md":
        return _export_block(lessons, place, to)
    for lesson in lessons:
        put_text(place / f"learned-fix-{lesson.name}.md", _write_rule(lesson), top=top)
    return tuple(f"{to}/learned-fix-{lesson.name}.md" for lesson in lessons)


def _write_rule(lesson: Lesson) -> str:
    return (
        f"# {lesson.name}\n\n**When encountering:** `{lesson.signature}`\n\n**Apply this fix:** {lesson.remedy}\n\n"
        f"**Evidence:** put it right {lesson.successes + lesson.helped} times.\n"
    )


def _export_block(lessons: Sequence[Lesson], file: Path, to: str) -> tuple[str, ...]:
    """Replace our block in the file, or add it at the end; without lessons the block goes."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    told = "".join(f"- `{lesson.signature}`: {lesson.remedy}\n" for lesson in lessons)
    block = f"{BEGIN}\n## Failures and what helped\n\n{told}{END}\n" if lessons else ""
    before, mark, rest = text.partition(BEGIN)
    if mark:
        written = before + block + rest.partition(END)[2].removeprefix("\n")
    elif block:
        gap = "\n" if text and not text.endswith("\n\n") else ""
        written = text + ("\n" if text and not text.endswith("\n") else "") + gap + block
    else:
        return ()
    put_text(file, written, top=file.parent)
    return (to,)
