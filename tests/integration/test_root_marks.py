"""What the native root file says of its steps stays true, in the words it has."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Status, Step
from drumline.planfiles import open_plan
from drumline.planfiles.rootmarks import show_marks

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
ONE = Step(id=StepId("step-1"), title="One")


def root(*, status: str = "in-progress", updated: str = "2026-01-01", rows: str = "") -> str:
    table = rows or "| step-1 | One | - | ready | [step-1.md](step-1.md) |\n"
    return (
        f"---\nplan_type: dag\nstatus: {status}\nlast_updated: {updated}\nlast_updated_by: kim # or sam\n---\n# P\n\n"
        f"| ID | Name | Depends on | Status | File |\n|----|------|------------|--------|------|\n{table}\nThe end.\n"
    )


def shown(text: str, status: Status, *, finished: bool = False, moved: bool = True) -> list[str]:
    """The lines that changed."""
    changed = show_marks(text, ONE, Marks(status=status), finished=lambda: finished, now=NOW if moved else None)
    before = text.splitlines()
    assert len(before) == len(changed.splitlines())
    return [line for line, old in zip(changed.splitlines(), before, strict=True) if line != old]


def test_table_status_and_time_are_written_and_nothing_else() -> None:
    assert shown(root(), Status.CLAIMED) == [
        "last_updated: 2026-05-06",
        "last_updated_by: drumline # or sam",
        "| step-1 | One | - | claimed | [step-1.md](step-1.md) |",
    ]


@pytest.mark.parametrize(
    ("word", "status", "expected"),
    [
        ("ready  ", Status.DONE, "done   "),
        ("`ready`", Status.DONE, "`done`"),
        ("**Ready**", Status.DONE, "**Done**"),
        ("READY", Status.BLOCKED, "BLOCKED"),
        ("pending", Status.DONE, "completed"),
        ("Pending", Status.CLAIMED, "In-progress"),
        ("in-progress", Status.READY, "pending"),
        ("ready    ", Status.CLAIMED, "claimed  "),
        ("⏳ soon", Status.DONE, "⏳ soon"),
        ("done", Status.DONE, "done"),
    ],
)
def test_a_cell_keeps_its_kind_of_word(word: str, status: Status, expected: str) -> None:
    row = f"| step-1 | a \\| b | - | {word} | x |\n"

    changed = show_marks(root(rows=row), ONE, Marks(status=status), finished=lambda: False, now=None)

    assert f"| step-1 | a \\| b | - | {expected} | x |\n" in changed


def test_a_table_that_has_a_word_for_a_status_uses_it() -> None:
    rows = "| step-1 | One | - | ready | x |\n| step-2 | Two | - | completed | y |\n"

    assert "| step-1 | One | - | completed | x |" in shown(root(rows=rows), Status.DONE)


@pytest.mark.parametrize(
    ("before", "status", "finished", "after"),
    [
        ("in-progress", Status.DONE, True, "completed"),
        ('"in-progress"', Status.DONE, True, '"completed"'),
        ("In-Progress", Status.SKIPPED, True, "Completed"),
        ("draft", Status.CLAIMED, False, "in-progress"),
        ("draft", Status.READY, False, "draft"),
        ("completed", Status.CLAIMED, False, "in-progress"),
        ("approved by kim", Status.DONE, True, "approved by kim"),
    ],
)
def test_the_plans_own_status_follows(before: str, status: Status, finished: bool, after: str) -> None:
    changed = show_marks(root(status=before), ONE, Marks(status=status), finished=lambda: finished, now=None)

    assert f"\nstatus: {after}\n" in changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2026-01-01", "2026-05-06"),
        ("2026-01-01T00:00:00Z", "2026-05-06T07:08:09Z"),
        ("'2026-01-01T00:00:00Z'", "'2026-05-06T07:08:09Z'"),
        ("2026-01-01T00:00+02:00", "2026-05-06T09:08+02:00"),
        ("2026-01-01 10:00:00", "2026-05-06 07:08:09"),
        ("last summer", "last summer"),
    ],
)
def test_the_time_is_written_in_its_own_shape(before: str, after: str) -> None:
    changed = show_marks(root(updated=before), ONE, Marks(status=Status.DONE), finished=lambda: False, now=NOW)

    assert f"\nlast_updated: {after}\n" in changed


def test_nothing_is_written_where_nothing_moved() -> None:
    text = root(rows="| step-1 | One | - | done | x |\n")

    assert shown(text, Status.DONE, moved=False) == []


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_plan_is_clean_after_its_steps_are_done(tmp_path: Path, newline: str) -> None:
    plan = tmp_path / "plan"
    plan.mkdir()
    rows = "| step-1 | One | - | ready | x |\n| step-2 | Two | step-1 | ready | y |\n"
    (plan / "root.md").write_bytes(root(status="draft", rows=rows).replace("\n", newline).encode())
    for n, need in ((1, ""), (2, "step-1")):
        text = f"---\nid: step-{n}\nname: N\ndepends_on: [{need}]\nstatus: ready\nchecks: ['true']\n---\nDo it.\n"
        (plan / f"step-{n}.md").write_bytes(text.replace("\n", newline).encode())
    files = open_plan(plan, repo=tmp_path)

    for step in files.read().plan.steps:
        for status in (Status.CLAIMED, Status.DONE):
            files.write(step, Marks(status=status))
            assert files.read().problems == ()

    said = (plan / "root.md").read_bytes().decode()
    assert f"{newline}status: completed{newline}" in said
    assert said.count("| done |") == 2
    assert said.count("\r\n") == (said.count("\n") if newline == "\r\n" else 0)
