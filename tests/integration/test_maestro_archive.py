"""A session is archived file by file: wherever the process dies, the next one finishes the same archive."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.integration.test_maestro_files import FIRST_DONE, data_of, make_session, progress

from drumline.planfiles.maestro import MaestroFiles

ACTS = ("os.link", "os.remove", "os.rename", "os.mkdir")
"""What changes a folder, as Python's audit events call it."""
MOST = 40
DIED, DONE = 9, 0


def make_world(folder: Path) -> Path:
    """A session that is over, with a sidecar, and an archive in which its names are taken."""
    state = make_session(folder)
    plan = folder / "docs/maestro/plans/x-impl-plan.md"
    plan.write_text("the plan\n")
    state.write_text(state.read_text().replace("docs/elsewhere.md", "docs/maestro/plans/x-impl-plan.md"))
    for taken in (state.parent / "archive/2030-01-02-thing.md", plan.parent / "archive/x-design.md"):
        taken.parent.mkdir()
        taken.write_text("an earlier one\n")
    files = MaestroFiles(state, repo=folder)
    files.keep_checks({files.read().plan.steps[0].id: ["true"]})
    return state


def archive(state: Path, folder: Path) -> None:
    """What a driver does at the end, and the next driver of the same session once more."""
    MaestroFiles(state, repo=folder).report_progress(progress(FIRST_DONE, state="done"))


def die_at(number: int, state: Path, folder: Path) -> int:
    """Archive in a process of its own that ends before its change of that number; returns how it ended."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def watch(event: str, _: object) -> None:
            nonlocal count
            count += event in ACTS
            if count == number:
                os._exit(DIED)

        sys.addaudithook(watch)
        archive(state, folder)
        os._exit(DONE)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def show(folder: Path) -> dict[str, str]:
    """Every file there is, with its text; drafts and locks of writers are none."""
    docs = folder / "docs"
    return {
        str(path.relative_to(docs)): path.read_text().replace(str(folder), "TOP")
        for path in docs.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def test_an_archive_ends_the_same_wherever_the_process_dies(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    archive(make_world(whole), whole)
    wanted = show(whole)
    kept = whole / "docs/maestro/state/archive/2030-01-02-thing-2.md"
    struck = []

    for number in range(1, MOST):
        folder = tmp_path / f"struck-{number}"
        state = make_world(folder)
        ended = die_at(number, state, folder)
        if ended == DONE:
            break
        struck.append(number)
        if state.exists():
            archive(state, folder)
        assert show(folder) == wanted, f"killed before change {number}"

    assert len(struck) > 8
    assert data_of(kept)["design_document"].endswith("plans/archive/x-design-2.md")
    assert sorted(name for name in wanted if "plans/" in name) == [
        "maestro/plans/archive/x-design-2.md",
        "maestro/plans/archive/x-design.md",
        "maestro/plans/archive/x-impl-plan.md",
    ]
    assert {name.rpartition("/")[0] for name in wanted if "state/" in name} == {"maestro/state/archive"}
