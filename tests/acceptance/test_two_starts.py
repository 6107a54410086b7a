"""Two processes that start the same plan at the same moment share one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    User,
    gates_of,
    leaving_nothing,
    make_user,
    states_of,
    step_text,
    wait_for,
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, *(step_text(f"step-{number}") for number in range(1, 4)))


def count_runs(user: User) -> int:
    return len(user.git("for-each-ref", "--format=%(refname)", "refs/heads/drumline").splitlines())


@pytest.mark.parametrize(("many", "extra"), [(3, ()), (3, ("--detach",)), pytest.param(6, (), marks=pytest.mark.long)])
def test_processes_that_start_together_share_one_run(user: User, many: int, extra: tuple[str, ...]) -> None:
    argv = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", *extra)
    steps = [f"step-{number}" for number in range(1, 4)]
    user.play(*({"match": {"step": step}, "sleep": 1.5, "write": {f"{step}.txt": "1\n"}} for step in steps))

    started = [user.start(*argv) for _ in range(many)]
    ended = [process.communicate(timeout=120) for process in started]
    user.drumline("wait")

    assert [process.returncode for process in started] == [0] * many, ended
    assert count_runs(user) == 1
    assert set(states_of(user.status()).values()) == {"done"}


def test_what_another_live_run_has_landed_counts_once_it_is_in_the_base(tmp_path: Path) -> None:
    argv = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--new", "--only")
    with leaving_nothing(tmp_path):
        user = make_user(
            tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]), step_text("step-3", ["step-1"])
        )
        wait = f"touch '{tmp_path}/at-work'; until [ -e '{tmp_path}/go' ]; do sleep 0.05; done"
        user.play({"match": {"step": "step-3"}, "write": {"step-3.txt": "3\n"}, "run": wait})
        live = user.start(*argv, "step-1,step-3")
        wait_for((tmp_path / "at-work").exists, "the live run is at work")
        branch = user.branch()

        apart = user.drumline(*argv, "step-2")
        asked = gates_of(user.status())
        user.git("merge", "--quiet", "--ff-only", branch)
        merged = user.drumline(*argv, "step-2")

        (tmp_path / "go").touch()
        live.communicate(timeout=60)

    assert apart.code == 2, apart.text
    assert asked == ["proceed-step-2"]
    assert merged.code == 0, merged.text
    assert user.landed("step-2.txt") == "2"
    assert live.returncode == 0
