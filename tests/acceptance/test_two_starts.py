"""Two processes that start the same plan at the same moment share one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.userland import PLAN, SCRIPTED, User, leaving_nothing, make_user, states_of, step_text


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, *(step_text(f"step-{number}") for number in range(1, 4)))


def count_runs(user: User) -> int:
    return len(user.git("for-each-ref", "--format=%(refname)", "refs/heads/drumline").splitlines())


@pytest.mark.parametrize("extra", [(), ("--detach",)])
def test_processes_that_start_together_share_one_run(user: User, extra: tuple[str, ...]) -> None:
    argv = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", *extra)
    user.play(default={"sleep": 1.5, "run": "echo 1 > $(basename $PWD).txt"})

    started = [user.start(*argv) for _ in range(3)]
    ended = [process.communicate(timeout=120) for process in started]
    user.drumline("wait")

    assert [process.returncode for process in started] == [0, 0, 0], ended
    assert count_runs(user) == 1
    assert set(states_of(user.status()).values()) == {"done"}
