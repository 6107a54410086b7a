"""A landing that reached git and not the journal: it is found before anything else happens to its step."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, states_of, step_text

REAL_GIT = shutil.which("git") or "git"
# What becomes of the driver and of the git that lands for it: both orders, and a git that goes on alone for a while.
AFTERWARDS = '{git} "$@"; kill -9 $PPID; exit 0'
BEFOREHAND = 'kill -9 $PPID; sleep 0.7; exec {git} "$@"'


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def lose_landing(user: User, act: str) -> None:
    """Run until the first landing; its driver dies there."""
    shim = user.folder / "bin" / "git"
    shim.parent.mkdir()
    strike = f'case " $* " in *" -m land "*) if mkdir {user.folder}/struck; then {act.format(git=REAL_GIT)}; fi ;; esac'
    shim.write_text(f'#!/bin/bash\n{strike}\nexec {REAL_GIT} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)

    ended = user.run(env={"PATH": f"{shim.parent}{os.pathsep}{user.env['PATH']}"})

    assert ended.code == -signal.SIGKILL, ended.text
    assert user.step("step-1")["state"] != "done"


def count_landings(user: User, step: str = "step-1") -> int:
    form = "--format=%(trailers:key=Drumline-Step,valueonly,separator=)"
    return user.git("log", form, user.branch()).split().count(step)


@pytest.mark.parametrize(
    "wish",
    [("resume",), ("skip", "step-1", "--reason", "not now"), ("retry", "step-1"), ("cancel",)],
    ids=lambda w: w[0],
)
def test_it_is_recorded_before_what_a_person_wants(user: User, wish: tuple[str, ...]) -> None:
    lose_landing(user, AFTERWARDS)
    assert count_landings(user) == 1

    user.drumline(*wish)
    resumed = user.drumline("resume")

    assert "Traceback" not in resumed.text
    assert states_of(user.status()) == {"step-1": "done"}
    assert count_landings(user) == 1
    assert user.landed("step-1.txt") == "1"


def test_a_git_that_lands_after_its_driver_has_died_lands_once(user: User) -> None:
    lose_landing(user, BEFOREHAND)

    resumed = user.drumline("resume")

    assert resumed.code == 0, resumed.text
    assert states_of(user.status()) == {"step-1": "done"}
    assert count_landings(user) == 1


def test_a_journal_restored_from_an_older_copy_lands_nothing_twice(user: User, tmp_path: Path) -> None:
    store = user.repo / ".git" / "drumline" / "state.db"
    user.run("--autonomy", "verbose")
    shutil.copy(store, tmp_path / "older.db")
    done = user.drumline("answer", "approve-step-1", "approve", "--resume")
    landed = user.git("rev-parse", user.branch())
    for file in store.parent.glob("state.db*"):
        file.unlink()
    shutil.copy(tmp_path / "older.db", store)
    assert user.step("step-1")["state"] == "parked"

    again = user.drumline("answer", "approve-step-1", "approve", "--resume")
    accepted = user.drumline("answer", "accept", "yes", "--resume")

    assert (done.code, again.code, accepted.code) == (0, 2, 0), again.text  # what proved it is not known any more
    assert states_of(user.status()) == {"step-1": "done"}
    assert count_landings(user) == 1
    assert user.git("rev-parse", user.branch()) == landed
