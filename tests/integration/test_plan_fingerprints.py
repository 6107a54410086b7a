"""A plan that is looked at again and again: files left alone are not opened, and no edit is missed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from drumline.planfiles.dag import DagFiles
from drumline.planfiles.fingerprints import GRAIN, Fingerprints

STEP = "---\nid: step-{n}\nname: Part {n}\ndepends_on: []\nstatus: ready\n---\n\n# Part {n}\n\n{text}\n"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    folder = tmp_path / "plan"
    folder.mkdir()
    (folder / "root.md").write_text("---\nplan_type: dag\n---\n\n# Parts\n")
    for number in (1, 2, 3):
        (folder / f"step-{number}.md").write_text(STEP.format(n=number, text="Old."))
    return folder


def let_rest(folder: Path) -> None:
    """Wait until the files have been left alone for longer than the grain."""
    newest = max(file.lstat().st_ctime_ns for file in folder.iterdir())
    while time.time_ns() - newest <= GRAIN:
        time.sleep(0.05)


def remember(fingerprints: Fingerprints, file: Path) -> str | None:
    """Read the file under its stamp, then ask for its digest again."""
    fingerprints.keep(str(file), fingerprints.take(str(file)), "digest")
    return fingerprints.recall(str(file), fingerprints.take(str(file)))


def test_a_file_left_alone_is_known_by_its_stamp(plan: Path) -> None:
    let_rest(plan)

    assert remember(Fingerprints(), plan / "step-1.md") == "digest"


def test_a_file_written_just_now_has_no_stamp_that_counts(plan: Path) -> None:
    (plan / "step-1.md").write_text("now")

    assert remember(Fingerprints(), plan / "step-1.md") is None


def test_an_edit_of_the_same_size_that_hides_its_time_is_noticed(plan: Path) -> None:
    file = plan / "step-1.md"
    fingerprints = Fingerprints(grain=0)
    remember(fingerprints, file)
    before = file.stat()
    time.sleep(0.05)

    file.write_text(STEP.format(n=1, text="New."))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert file.stat().st_size == before.st_size
    assert fingerprints.recall(str(file), fingerprints.take(str(file))) is None


def test_a_link_or_a_missing_file_has_no_stamp(plan: Path) -> None:
    (plan / "link.md").symlink_to(plan / "step-1.md")
    fingerprints = Fingerprints(grain=0)

    assert fingerprints.take(str(plan / "link.md")) is None
    assert fingerprints.take(str(plan / "missing.md")) is None


@pytest.mark.parametrize("rested", [False, True])
def test_an_edit_of_the_same_size_is_found_at_the_next_look(plan: Path, rested: bool) -> None:
    if rested:
        let_rest(plan)
    files = DagFiles(plan, repo=plan.parent)
    known = files.read(files.read())

    (plan / "step-2.md").write_text(STEP.format(n=2, text="New."))
    found = files.read(known)

    changed = [s.id for s, old in zip(found.plan.steps, known.plan.steps, strict=True) if s != old]
    assert changed == ["step-2"]


def test_problems_of_the_plan_as_a_whole_come_and_go_with_edits(plan: Path) -> None:
    files = DagFiles(plan, repo=plan.parent)
    good = files.read()

    (plan / "step-2.md").write_text(STEP.format(n=2, text="").replace("[]", "[step-9]"))
    bad = files.read(good)
    (plan / "step-2.md").write_text(STEP.format(n=2, text=""))
    mended = files.read(bad)

    assert [p.code for p in good.errors] == []
    assert [p.code for p in bad.errors] == ["unknown_need"]
    assert [p.code for p in mended.errors] == []
