"""Agents that say "done" and are not, in JavaScript: none of these ends as proved, and honest work is not refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import leaving_nothing, step_of
from tests.acceptance.jsscenes import CHECK, NODE, VITEST, Scenes
from tests.acceptance.liescenes import ASKED, act
from tests.runners import find_packages

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm here"),
]
RUNNERS = (NODE, VITEST)
LIES, EMPTY, HONEST = (list(names) for names in (Scenes(NODE).lies(), Scenes(NODE).empty(), Scenes(NODE).honest()))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with leaving_nothing(tmp_path):
        yield tmp_path


@pytest.fixture(params=RUNNERS)
def scenes(request: pytest.FixtureRequest) -> Scenes:
    return Scenes(request.param, find_packages(VITEST) if request.param == VITEST else None)


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_never_proved(folder: Path, scenes: Scenes, lie: str) -> None:
    user = act(folder, scenes.lies()[lie], check=CHECK, files=scenes.files)

    step = step_of(user.status(), "step-1")
    assert step["proved"] is False, step
    assert step["reason"]


@pytest.mark.parametrize("case", EMPTY)
def test_work_that_shows_nothing_is_never_proved(folder: Path, scenes: Scenes, case: str) -> None:
    deed, check, files = scenes.empty()[case]

    user = act(folder, deed, check=check, files=files)

    step = step_of(user.status(), "step-1")
    assert step["proved"] is False, step
    assert step["reason"]


@pytest.mark.parametrize("deed", HONEST)
def test_honest_work_lands_without_a_question(folder: Path, scenes: Scenes, deed: str) -> None:
    does, check, files, level = scenes.honest()[deed]

    user = act(folder, does, check=check, files=files, name=deed)

    step = step_of(user.status(), "step-1")
    if level == ASKED:
        assert (step["state"], step["attempts"]) == ("parked", 2), step
        return
    proof = step["proof"]
    assert isinstance(proof, dict), step
    assert (step["state"], step["attempts"], proof["level"]) == ("done", 1, level), step
