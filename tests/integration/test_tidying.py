"""What a driver removes when it leaves: nothing is left of steps that need no more driving, and no work is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, states_of, step_text


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2"))


def test_the_workspace_of_a_skipped_step_is_removed_and_its_work_kept(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"wrong.txt": "x\n"}})
    blocked = user.run("--retries", "0")
    before = user.git("worktree", "list").splitlines()
    user.drumline("skip", "step-1", "--reason", "not now")

    resumed = user.drumline("resume")

    assert (blocked.code, resumed.code) == (2, 0), resumed.text
    assert states_of(user.status()) == {"step-1": "skipped", "step-2": "done"}
    assert len(before) == 2
    assert len(user.git("worktree", "list").splitlines()) == 1
    kept = user.git("for-each-ref", "--format=%(refname)", "refs/drumline/*/step-1/skipped")
    assert user.git("show", f"{kept}:wrong.txt") == "x"
    assert not [path for path in (user.folder / "home/state").rglob("step-1") if path.is_dir()]
