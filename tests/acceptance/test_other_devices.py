"""Worktrees on another file system than the repository, which files cannot be renamed to."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, step_text

SHARED = Path("/dev/shm")
NESTED = "mkdir -p inner && git init -q inner && echo x > inner/file.txt"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    if not SHARED.is_dir() or SHARED.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system at /dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="drumline-test-", dir=SHARED))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def make(tmp_path: Path) -> User:
    user = make_user(tmp_path, step_text("step-1"), step_text("step-2", checks=["test -f step-2.txt -a -f x"]))
    (user.repo / ".gitignore").write_text("*.env\n", encoding="utf-8")
    user.commit_all()
    user.play(
        {"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": NESTED},
        {"match": {"step": "step-2", "attempt": 1}, "write": {"step-2.txt": "2\n"}},
        {"match": {"step": "step-2", "attempt": 2}, "write": {"x": "x\n"}},
    )
    (user.repo / "local.env").write_text("mine\n", encoding="utf-8")
    return user


@pytest.mark.parametrize("how", ["setting", pytest.param("state", marks=pytest.mark.long)])
def test_a_run_lands_with_its_worktrees_on_another_file_system(tmp_path: Path, elsewhere: Path, how: str) -> None:
    at = {"setting": {"DRUMLINE_WORKTREES": str(elsewhere)}, "state": {"XDG_STATE_HOME": str(elsewhere)}}[how]
    env = {**at, "DRUMLINE_PROVIDE": "local.env"}
    with leaving_nothing(tmp_path):
        kim = make(tmp_path)

        ran = kim.run("--mode", "parallel", "--jobs", "2", env=env)
        verified = kim.drumline("verify", env=env)
        removed = kim.drumline("gc", "--yes", "--discard", env=env)

    assert ran.code == 0, ran.text
    assert verified.code == 0, verified.text
    assert removed.code == 0, removed.text
    assert not [*elsewhere.rglob("*.txt")]
    assert kim.git("worktree", "list").count("\n") == 0


@pytest.mark.long
def test_a_driver_that_dies_leaves_nothing_on_another_file_system(tmp_path: Path, elsewhere: Path) -> None:
    env = {"DRUMLINE_WORKTREES": str(elsewhere)}
    with leaving_nothing(tmp_path):
        kim = make(tmp_path)

        died = kim.rigged(
            "run", PLAN, "--agent", SCRIPTED, env={**env, "STRIKE": "SIGKILL", "STRIKE_EVENT": "StepLanded"}
        )
        resumed = kim.drumline("resume", env=env)

    assert died.code == -signal.SIGKILL, died.text
    assert resumed.code == 0, resumed.text
    assert not [*elsewhere.rglob("*.txt")]


@pytest.mark.long
def test_work_in_the_checkout_goes_on_with_the_state_on_another_file_system(tmp_path: Path, elsewhere: Path) -> None:
    env = {"XDG_STATE_HOME": str(elsewhere), "DRUMLINE_WORK_IN": "inplace"}
    with leaving_nothing(tmp_path):
        kim = make(tmp_path)
        kim.git("switch", "-qc", "mine")
        kim.commit_all("play")

        ran = kim.run(env=env)

    assert ran.code == 0, ran.text
    assert kim.landed("x") == "x"
