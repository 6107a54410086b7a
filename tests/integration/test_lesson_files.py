"""Ledgers and lessons as files: exactly one line for each fix, whatever dies; what comes in and goes out."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.contract.test_lessons import NOW, REMEDY, row
from tests.integration.deaths import MOST, OPENS, die_at

from drumline.app.lessons import BEGIN, END, export_lessons, import_lessons
from drumline.core.ids import RunId
from drumline.core.lessons import UNUSED_DAYS
from drumline.errors import InvalidInput
from drumline.ports.lessons import RunRow
from drumline.store.lessonfiles import FileLessons, find_state

THEIRS = "Add the missing import of the layout module"
TODAY = "2027-01-15T08:00:00Z"
OVER = RunRow(
    run=RunId("r3"),
    ticket="7",
    at=TODAY,
    state="done",
    total_steps=1,
    steps_completed=1,
    fixes=(1, 0),
    heals=(0, 0),
    step_titles=("A",),
)


def open_lessons(folder: Path) -> FileLessons:
    """A repository of that toolkit in which two runs have put the same failure right."""
    (folder / "top/.ai/learning").mkdir(parents=True)
    lessons = FileLessons(folder=folder / "state", top=folder / "top")
    lessons.note([row("r1")])
    lessons.note([row("r2")])
    return lessons


def note_all(lessons: FileLessons) -> None:
    """What every driver of the third run does at the end."""
    lessons.note([row("r3"), row("r3", number=2, remedy="Something else entirely here")])
    lessons.note_run(OVER)


def read_ledger(file: Path, *names: str) -> list[tuple[object, ...]]:
    """The lines of a ledger."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return [tuple(line[name] for name in names) for line in rows]


def list_ledgers(folder: Path) -> Iterator[Path]:
    """Ours, and those of the neighbour."""
    yield from (folder / "state", folder / "top/.ai/learning/raw")


@pytest.mark.parametrize("stride", [6, pytest.param(1, marks=pytest.mark.long)])
def test_every_fix_is_one_line_in_every_ledger_wherever_the_process_dies(tmp_path: Path, stride: int) -> None:
    died = 0

    for number in range(1, MOST, stride):
        folder = tmp_path / str(number)
        lessons = open_lessons(folder)
        if not die_at(number, partial(note_all, lessons), acts=OPENS):
            break
        died += 1
        note_all(lessons)
        for place in list_ledgers(folder):
            fixes = read_ledger(place / "fixes.jsonl", "run", "n")
            assert fixes == [("r1", 1), ("r2", 1), ("r3", 1), ("r3", 2)], f"died before act {number}"
            assert read_ledger(place / "runs.jsonl", "run") == [("r3",)]
        (lesson,) = lessons.load(NOW)
        assert (lesson.remedy, lesson.successes) == (REMEDY, 3)

    assert died * stride > 10


@pytest.mark.parametrize("cut", [1, 30])
def test_a_line_that_was_cut_off_is_written_again_and_spoils_no_other(tmp_path: Path, cut: int) -> None:
    lessons = open_lessons(tmp_path)
    note_all(lessons)
    for place in list_ledgers(tmp_path):
        text = (place / "fixes.jsonl").read_bytes()
        (place / "fixes.jsonl").write_bytes(text[:-cut])

    note_all(lessons)

    for place in list_ledgers(tmp_path):
        good = []
        for line in (place / "fixes.jsonl").read_text().splitlines():
            try:
                good.append(json.loads(line)["n"])
            except ValueError:
                continue
        assert good == [1, 1, 1, 2]


def test_two_drivers_at_once_write_each_line_once(tmp_path: Path) -> None:
    lessons = open_lessons(tmp_path)
    others = [threading.Thread(target=note_all, args=(lessons,)) for _ in range(4)]

    for other in others:
        other.start()
    for other in others:
        other.join()

    assert read_ledger(tmp_path / "state/fixes.jsonl", "run", "n")[2:] == [("r3", 1), ("r3", 2)]
    assert len(lessons.load(NOW)) == 1


def test_a_lesson_that_nobody_uses_expires_and_one_that_helped_stays(tmp_path: Path) -> None:
    lessons = open_lessons(tmp_path)
    lessons.note([row("r3")])
    (lesson,) = lessons.load(NOW)
    late = NOW + (UNUSED_DAYS + 1) * 86_400

    unused = lessons.load(late)
    lessons.note([row("r4", lesson=lesson.name)])
    (used,) = lessons.load(NOW)

    assert unused == ()
    assert find_state(lesson, late) == "expired"
    assert used.used == TODAY


def write_ledger(file: Path) -> Path:
    """What another repository has learned, long ago."""
    told = {"error_type": "compilation", "fix_description": THEIRS, "result": "success"}
    lines = [
        json.dumps({"timestamp": f"2020-01-0{n}T00:00:00Z", "ticket": str(n), "step": n, **told}) for n in (1, 2, 3)
    ]
    file.write_text("\n".join([*lines, "not json", ""]))
    return file


def test_a_ledger_from_elsewhere_is_imported_once_and_counts_from_then_on(tmp_path: Path) -> None:
    lessons = FileLessons(folder=tmp_path / "state", top=tmp_path / "top")
    source = write_ledger(tmp_path / "theirs.jsonl")

    names = import_lessons(lessons, source, at=TODAY)
    again = import_lessons(lessons, source, at=TODAY)

    (lesson,) = lessons.load(NOW)
    assert (names, again) == ((lesson.name,), ())
    assert (lesson.signature, lesson.remedy, lesson.successes) == ("compilation", THEIRS, 3)


def test_what_stands_in_the_ledger_of_that_toolkit_counts(tmp_path: Path) -> None:
    raw = tmp_path / "top/.ai/learning/raw"
    raw.mkdir(parents=True)
    write_ledger(raw / "fixes.jsonl")
    lessons = FileLessons(folder=tmp_path / "state", top=tmp_path / "top")

    change = lessons.note([row("r1")])

    (lesson,) = lessons.load(NOW)
    assert change.promoted == (lesson.name,)
    assert (lesson.signature, lesson.remedy, lesson.successes) == ("compilation", THEIRS, 3)


def test_lessons_go_from_one_repository_to_another_and_into_the_rules_of_other_tools(tmp_path: Path) -> None:
    lessons = open_lessons(tmp_path)
    lessons.note([row("r3")])
    top = tmp_path / "top"
    (top / "AGENTS.md").write_text("# Mine\n")
    (lesson,) = lessons.load(NOW)
    other = FileLessons(folder=tmp_path / "other/state", top=tmp_path / "other/top")

    taken = import_lessons(other, lessons.place, at=TODAY)
    rules = export_lessons([lesson], top=top, to=".claude/rules")
    for found in ([lesson, lesson], [lesson]):
        export_lessons(found, top=top, to="AGENTS.md")
    told = (top / "AGENTS.md").read_text()
    export_lessons([], top=top, to="AGENTS.md")

    assert taken == (lesson.name,)
    assert other.load(NOW)[0].remedy == REMEDY
    assert rules == (f".claude/rules/learned-fix-{lesson.name}.md",)
    assert REMEDY in (top / rules[0]).read_text()
    assert told.startswith("# Mine\n")
    assert (told.count(BEGIN), told.count(END), told.count(REMEDY)) == (1, 1, 1)
    assert (top / "AGENTS.md").read_text().rstrip() == "# Mine"


@pytest.mark.parametrize("to", ["../elsewhere", "/tmp/elsewhere", ".git/hooks"])
def test_lessons_are_exported_into_the_repository_only(tmp_path: Path, to: str) -> None:
    with pytest.raises(InvalidInput, match="outside of the repository"):
        export_lessons([], top=tmp_path, to=to)


def test_what_has_no_lesson_is_refused(tmp_path: Path) -> None:
    lessons = FileLessons(folder=tmp_path / "state", top=tmp_path)
    (tmp_path / "empty.jsonl").write_text("{}\n")
    (tmp_path / "other.md").write_text("# A page\n")

    for name in ("empty.jsonl", "other.md", "gone.jsonl", "gone.md"):
        with pytest.raises(InvalidInput):
            import_lessons(lessons, tmp_path / name, at=TODAY)
