"""A session is archived file by file: wherever the process dies, the next one finishes the same archive."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.integration.deaths import MOST, die_at
from tests.integration.test_maestro_files import FIRST_DONE, data_of, make_session, progress

from drumline.planfiles.maestro import MaestroFiles


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


def show(folder: Path) -> dict[str, str]:
    """Every file there is, with its text; drafts and locks of writers are none."""
    docs = folder / "docs"
    return {
        str(path.relative_to(docs)): path.read_text().replace(str(folder), "TOP")
        for path in docs.rglob("*")
        if path.is_file() and path.name != "lock"
    }


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.long)])
def test_an_archive_ends_the_same_wherever_the_process_dies(tmp_path: Path, stride: int) -> None:
    whole = tmp_path / "whole"
    archive(make_world(whole), whole)
    wanted = show(whole)
    kept = whole / "docs/maestro/state/archive/2030-01-02-thing-2.md"
    struck = []

    for number in range(1, MOST, stride):
        folder = tmp_path / f"struck-{number}"
        state = make_world(folder)
        if not die_at(number, partial(archive, state, folder)):
            break
        struck.append(number)
        if state.exists():
            archive(state, folder)
        assert show(folder) == wanted, f"killed before change {number}"

    assert len(struck) * stride > 8
    assert data_of(kept)["design_document"].endswith("plans/archive/x-design-2.md")
    assert sorted(name for name in wanted if "plans/" in name) == [
        "maestro/plans/archive/x-design-2.md",
        "maestro/plans/archive/x-design.md",
        "maestro/plans/archive/x-impl-plan.md",
    ]
    assert {name.rpartition("/")[0] for name in wanted if "state/" in name} == {"maestro/state/archive"}
