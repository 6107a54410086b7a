"""What every implementation of Lessons promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.core.ids import RunId, StepId
from drumline.core.learned import Fix
from drumline.ports.lessons import FixRow, Lessons, RunRow
from drumline.store.lessonfiles import FileLessons
from drumline.testing.lessons import MemoryLessons

NOW = 1_800_000_000.0
SIGNATURE = "pytest | fails | ImportError: no module named #"
REMEDY = "Install the missing module in pyproject"


@pytest.fixture(params=["file", "memory"])
def lessons(request: pytest.FixtureRequest, tmp_path: Path) -> Lessons:
    if request.param == "memory":
        return MemoryLessons()
    return FileLessons(folder=tmp_path / "state", top=tmp_path / "top")


def row(run: str, *, success: bool = True, remedy: str = REMEDY, number: int = 1, lesson: str = "") -> FixRow:
    fix = Fix(check="pytest", failure="", signature=SIGNATURE, remedy=remedy, success=success, lesson=lesson)
    return FixRow(run=RunId(run), step=StepId("step-1"), number=number, ticket="7", at="2027-01-15T08:00:00Z", fix=fix)


def test_three_successes_without_a_failure_make_a_lesson(lessons: Lessons) -> None:
    for run in ("r1", "r2"):
        assert lessons.note([row(run)]).promoted == ()
    changed = lessons.note([row("r3")])

    (lesson,) = lessons.load(NOW)
    assert changed.promoted == (lesson.name,)
    assert (lesson.signature, lesson.remedy, lesson.successes) == (SIGNATURE, REMEDY, 3)


def test_a_line_that_is_told_twice_counts_once(lessons: Lessons) -> None:
    for _ in range(3):
        lessons.note([row("r1")])

    assert lessons.load(NOW) == ()


def test_what_a_run_has_promoted_is_told_again_to_who_asks_again(lessons: Lessons) -> None:
    lessons.note([row("r1")])
    lessons.note([row("r2")])
    first = lessons.note([row("r3")])

    assert lessons.note([row("r3")]) == first
    assert first.promoted


def test_remedies_in_nearly_the_same_words_are_one(lessons: Lessons) -> None:
    for run, remedy in (("r1", REMEDY), ("r2", "install missing module in pyproject"), ("r3", f"{REMEDY}.")):
        lessons.note([row(run, remedy=remedy)])

    assert len(lessons.load(NOW)) == 1


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_one_failure_keeps_a_remedy_from_becoming_a_lesson(lessons: Lessons, failing: int) -> None:
    for number in range(4):
        lessons.note([row(f"r{number}", success=number != failing)])

    assert lessons.load(NOW) == ()


def test_a_lesson_that_fails_is_demoted_and_stays_so(lessons: Lessons) -> None:
    for run in ("r1", "r2", "r3"):
        lessons.note([row(run)])
    (lesson,) = lessons.load(NOW)
    changed = lessons.note([row("r4", success=False, lesson=lesson.name)])
    lessons.note([row("r5")])

    assert changed.demoted == (lesson.name,)
    assert lessons.load(NOW) == ()


def test_a_fix_without_words_teaches_nothing(lessons: Lessons) -> None:
    for run in ("r1", "r2", "r3"):
        lessons.note([row(run, remedy="")])

    assert lessons.load(NOW) == ()


def test_runs_are_noted_once(lessons: Lessons, tmp_path: Path) -> None:
    told = RunRow(run=RunId("r1"), ticket="7", at="t", state="done", total_steps=2, steps_completed=2)
    lessons.note_run(told)
    lessons.note_run(told)

    if isinstance(lessons, MemoryLessons):
        assert list(lessons.runs.values()) == [told]
    else:
        assert len((tmp_path / "state" / "runs.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def open_files(tmp_path: Path) -> FileLessons:
    (tmp_path / "top").mkdir()
    return FileLessons(folder=tmp_path / "state", top=tmp_path / "top")


def learn(lessons: FileLessons) -> None:
    for run in ("r1", "r2", "r3"):
        lessons.note([row(run)])


def test_links_of_the_repository_lead_no_ledger_and_no_lesson_out_of_it(tmp_path: Path) -> None:
    lessons = open_files(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("mine\n", encoding="utf-8")
    raw = tmp_path / "top" / ".ai" / "learning" / "raw"
    raw.mkdir(parents=True)
    (raw / "fixes.jsonl").symlink_to(victim)

    learn(lessons)

    assert victim.read_text(encoding="utf-8") == "mine\n"
    assert len(lessons.load(NOW)) == 1


def test_a_folder_of_lessons_that_is_a_link_is_refused(tmp_path: Path) -> None:
    lessons = open_files(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "top" / ".drumline").mkdir()
    (tmp_path / "top" / ".drumline" / "lessons").symlink_to(outside)

    with pytest.raises(OSError, match="out of the repository"):
        learn(lessons)

    assert list(outside.iterdir()) == []


def test_words_that_cannot_be_encoded_or_shown_do_no_harm(tmp_path: Path) -> None:
    lessons = open_files(tmp_path)
    for run in ("r1", "r2", "r3"):
        lessons.note([row(run, remedy="pin the \ud800 old\x1b[2J version\n\n# of it")])

    (lesson,) = lessons.load(NOW)
    assert "\x1b" not in lesson.remedy
    assert "\n" not in lesson.remedy
