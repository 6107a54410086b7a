"""`git gc --prune=now` by the user in the middle of a run: everything that is needed later stays reachable."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, states_of, step_text

REAL_GIT = shutil.which("git") or "git"
PRUNE = "{git} -C {repo} reflog expire --expire=now --all && {git} -C {repo} gc --quiet --prune=now"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path, step_text("step-1", checks=["test -f second"]), step_text("step-2", ["step-1"]))
        config = made.repo / ".drumline" / "config.toml"
        config.parent.mkdir()
        # What setup makes is in the tree that the step begins with, and on no branch.
        config.write_text('setup = "echo made > made-by-setup"\n', encoding="utf-8")
        made.commit_all("config")
        yield made


def prune(user: User) -> None:
    """Throw away whatever no ref reaches, after moving the user's own branch away from the run's base."""
    user.git("-c", "user.name=K", "-c", "user.email=k@example.org", "commit", "-q", "--amend", "-m", "amended")
    user.git("reflog", "expire", "--expire=now", "--all")
    user.git("gc", "--quiet", "--prune=now")


def assert_sound(user: User) -> None:
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}
    assert user.landed("second") == "2"
    assert user.git("fsck", "--connectivity-only", "--no-dangling") == ""


def test_a_run_survives_a_prune_during_every_attempt_and_every_check(user: User) -> None:
    command = PRUNE.format(git=REAL_GIT, repo=user.repo)
    user.path("step-1").write_text(step_text("step-1", checks=[command, "test -f second"]), encoding="utf-8")
    user.commit_all("check")
    user.play(
        {"match": {"step": "step-1", "attempt": 1}, "write": {"first": "1\n"}, "run": command},
        {"match": {"step": "step-1", "attempt": 2}, "write": {"second": "2\n"}, "run": command},
    )

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.step("step-1")["fixes"] == 1
    assert_sound(user)
    assert user.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/drumline/*/step-1/1") == "step-1/1"


def test_a_parked_run_survives_a_prune(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"second": "2\n"}})
    parked = user.run("--autonomy", "verbose")
    prune(user)

    for _ in range(4):
        if gates := gates_of(user.status()):
            user.drumline("answer", gates[0], "approve" if "approve" in gates[0] else "continue", "--resume")

    assert parked.code == 2
    assert_sound(user)


def test_an_attempt_that_was_cut_short_begins_again_after_a_prune(user: User) -> None:
    home = user.folder / "home"
    wait = f"touch {home}/begun; until [ -e {home}/go ]; do sleep 0.05; done"
    user.play({"match": {"step": "step-1"}, "write": {"second": "2\n"}, "run": wait})
    driver = user.start("run", "plans/p", "--agent", "scripted:agent.yaml", "--autonomy", "autopilot")
    while not (home / "begun").exists():
        assert driver.poll() is None
    driver.kill()
    driver.communicate()
    # Also the workspace goes, whose index would keep what is in it.
    shutil.rmtree(next((home / "state" / "drumline").glob("*/worktrees/*/work@1")))
    prune(user)
    (home / "go").touch()

    resumed = user.drumline("resume")

    assert resumed.code == 0, resumed.text
    assert_sound(user)


def put_shim(user: User, when: str) -> dict[str, str]:
    """A git that prunes the repository before each landing for which the shell says so."""
    shim = user.folder / "bin" / "git"
    shim.parent.mkdir()
    command = PRUNE.format(git=REAL_GIT, repo=user.repo)
    lines = f'case " $* " in *" -m land "*) {when} && {{ {command}; }} </dev/null >/dev/null 2>&1;; esac'
    shim.write_text(f'#!/bin/bash\n{lines}\nexec {REAL_GIT} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    return {"PATH": f"{shim.parent}{os.pathsep}{user.env['PATH']}"}


def test_a_candidate_survives_a_prune_before_it_lands(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"second": "2\n"}})

    ran = user.run(env=put_shim(user, "true"))

    assert ran.code == 0, ran.text
    assert_sound(user)


def test_work_that_was_put_on_a_new_head_survives_a_prune_before_it_lands(user: User) -> None:
    home = user.folder / "home"
    user.path("step-2").write_text(step_text("step-2"), encoding="utf-8")
    user.commit_all("side by side")
    # Both stand on the same base, so that the second is put on another; only then the repository is pruned, once.
    both = f"touch {home}/$DRUMLINE_STEP; until [ -e {home}/step-1 ] && [ -e {home}/step-2 ]; do sleep 0.02; done"
    user.play(
        {"match": {"step": "step-1"}, "write": {"second": "2\n"}, "run": both},
        {"match": {"step": "step-2"}, "write": {"step-2.txt": "2\n"}, "run": both},
    )
    counted = f"echo x >> {home}/landings && [ $(wc -l < {home}/landings) = 2 ]"

    ran = user.run("--mode", "parallel", env=put_shim(user, counted))

    assert ran.code == 0, ran.text
    assert len((home / "landings").read_text(encoding="utf-8").split()) == 2
    assert_sound(user)
