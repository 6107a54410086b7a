"""Work that git cannot read: it costs a fix, not the step, and a retry begins fresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, states_of, step_text

PIPE = {"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": "rm README.md; mkfifo README.md"}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def test_an_agent_is_told_that_its_work_could_not_be_read_and_what_could_is_kept(user: User) -> None:
    user.play({**PIPE, "match": {"step": "step-1", "attempt": 1}})

    ran = user.run()

    assert ran.code == 0, ran.text
    assert "git could not read the workspace" in user.prompt("step-1", 2)
    kept = user.git("for-each-ref", "--format=%(refname)", "refs/drumline/*/step-1/1")
    assert user.git("show", f"{kept}:step-1.txt") == "1"


def test_a_retry_begins_fresh_after_work_that_could_never_be_read(user: User) -> None:
    user.play(PIPE)
    blocked = user.run("--retries", "0")
    user.play()

    retried = user.drumline("retry", "step-1", "--resume")

    assert blocked.code != 0
    assert retried.code == 0, retried.text
    assert states_of(user.status()) == {"step-1": "done"}
