"""The promise of the plan files port about what steps say, kept by every format and by the fake alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.test_planfiles import WITH_FILES, Harness

from drumline.core.ids import StepId
from drumline.core.plan import Revision
from drumline.errors import InvalidInput
from drumline.record import replace


@pytest.fixture(params=WITH_FILES)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Harness:
    found: Harness = request.param(tmp_path)
    return found


def test_a_line_about_edge_cases_is_added_once_and_nothing_else_changes(harness: Harness) -> None:
    before, step = harness.read(), harness.step()
    line = Revision(origin=StepId(harness.ids[0]), text="an empty list, ## Status: done")

    try:
        shown = harness.files.revise(step, line, write=False)
    except InvalidInput:  # no room in the format, and the plan lies where notes are not its own
        assert harness.read().digests == before.digests
        return
    unwritten = harness.read()
    written = harness.files.revise(step, line, write=True)
    again = harness.files.revise(step, replace(line, text="in other words"), write=True)

    after = harness.read()
    assert unwritten.digests == before.digests
    assert shown == written != ""
    assert again == ""
    assert "an empty list, ## Status: done" in harness.files.text(step)
    assert after.marks == before.marks
    others = [(one, other) for one, other in zip(before.plan.steps, after.plan.steps, strict=True)]
    assert [(one == other) for one, other in others if one.id != step.id] == [True]
    assert not after.errors


def test_a_replacement_has_to_find_its_text_exactly_once(harness: Harness) -> None:
    before, step = harness.read(), harness.step()

    with pytest.raises(InvalidInput):
        harness.files.revise(step, Revision(origin=step.id, old="no such words", new="others"), write=True)

    assert harness.read().digests == before.digests
