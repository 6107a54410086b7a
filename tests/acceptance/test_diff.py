"""`drumline diff`: what a step or a run has changed, landed or not, whatever became of its branch and its worktree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2"), step_text("step-3"))


def test_it_shows_what_landed_and_the_last_work_of_what_did_not(user: User) -> None:
    user.play(
        {"match": {"step": "step-1"}, "write": {"step-1.txt": "x\n", "one.txt": "1\n"}},
        {"match": {"step": "step-2"}, "write": {"two.txt": "2\n"}},
    )
    ran = user.run("--retries", "0")

    landed, blocked, whole, names = (user.drumline("diff", *words) for words in (["1"], ["2"], [], ["--stat"]))
    told = user.drumline("diff", "step-1", "--json").json

    assert ran.code == 2, ran.text
    assert [found.code for found in (landed, blocked, whole, names)] == [0, 0, 0, 0], landed.text + blocked.text
    assert "+1\n" in landed.out
    assert "two.txt" not in landed.out + whole.out
    assert "+2\n" in blocked.out
    assert blocked.err == "step-2 is blocked: this is its last recorded work\n"
    assert "one.txt" in names.out
    assert "+1\n" not in names.out
    assert told["files"] == [{"path": name, "added": 1, "deleted": 0} for name in ("one.txt", "step-1.txt")]
    assert "+1\n" in str(told["diff"])


def test_what_is_not_there_is_refused_with_the_next_command(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "x\n"}})
    user.run("--only", "step-1")
    user.git("branch", "-D", user.branch())

    whole, waiting, unknown = user.drumline("diff"), user.drumline("diff", "step-3"), user.drumline("diff", "step-9")

    assert (whole.code, "step-1.txt" in whole.out) == (0, True)
    assert (waiting.code, unknown.code) == (3, 3)
    assert "step-3 has changed nothing yet" in waiting.err
    assert "drumline why step-3" in waiting.err
    assert "has no step 'step-9'" in unknown.err
