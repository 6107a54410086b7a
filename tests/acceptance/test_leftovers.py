"""What killed and closed runs leave: removed at the next start, by `doctor` and by `gc`, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, states_of, step_text
from tests.acceptance.durability import Harness, PlanStep, make_harness, send, wait_until
from tests.acceptance.terminals import open_terminal
from tests.warm import Started

from drumline.isolation.scratch import name_temp

REAL_GIT = shutil.which("git") or "git"
STEPS = (PlanStep(id="step-1"), PlanStep(id="step-2", needs=("step-1",)))
HALF = "echo half > .half; mv .half half; until [ -e {0} ]; do sleep 0.05; done; rm half"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """A run whose first step writes half of its work and waits for the file `go`."""
    first = {"match": {"step": "step-1"}, "write": {"one": "1\n"}, "run": HALF.format(tmp_path / "go")}
    with make_harness(tmp_path, STEPS, [first, {"match": {"step": "step-2"}, "write": {"two": "2\n"}}]) as made:
        yield made


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))


def attempts_of(user: User) -> list[Path]:
    """The logs of a step's attempts."""
    return sorted((user.repo / ".git" / "drumline" / "runs").glob("*/step-1/attempt-*.log"))


def let_go(harness: Harness) -> None:
    (harness.repo.parent / "go").touch()


def start_work(harness: Harness, **env: str) -> Started:
    """Start a run whose first step is half done."""
    driver = harness.start(*harness.run_args(), **env)
    wait_until(lambda: list(worktrees(harness).glob("*/*/half")), "an agent at work")
    return driver


def kill_in_work(harness: Harness) -> None:
    """Leave a run that was killed in its first step and that nobody resumes, with something in every place."""
    driver = start_work(harness)
    driver.kill()
    driver.wait()
    assert harness.wait_alone() == []


def worktrees(harness: Harness) -> Path:
    return next((harness.repo.parent / "state" / "drumline").glob("*/worktrees"), harness.repo.parent / "none")


def drivers(harness: Harness) -> list[str]:
    return [path.name for path in (harness.repo / ".git" / "drumline" / "drivers").iterdir()]


def make_scratch(harness: Harness) -> tuple[Path, Path]:
    """What a killed agent program leaves beside its log and in the system's temporary folder."""
    logs = next((harness.repo / ".git" / "drumline" / "runs").glob("*/step-1"))
    scratch = logs / "attempt-1.log.tmp"
    scratch.mkdir()
    temp = name_temp(scratch)
    temp.mkdir()
    (temp / "socket").touch()
    return scratch, temp


def tell(harness: Harness, *args: str) -> list[dict[str, object]]:
    code, said = harness.call("gc", "--json", *args)
    assert code == 0, said
    found: list[dict[str, object]] = json.loads(said)["leftovers"]
    return found


def test_gc_removes_what_a_killed_run_left_and_keeps_what_it_needs_to_be_resumed(harness: Harness) -> None:
    kill_in_work(harness)
    scratch, temp = make_scratch(harness)

    planned = tell(harness, "--dry-run")
    untouched = [scratch.exists(), temp.exists(), bool(drivers(harness))]
    done = tell(harness)
    again = tell(harness)

    kinds = sorted(str(one["kind"]) for one in done if one["removed"])
    left = [one for one in done if not one["removed"]]
    assert [one["path"] for one in planned] == [one["path"] for one in done]
    assert untouched == [True, True, True]
    assert kinds == ["driver", "scratch"]
    assert (scratch.exists(), temp.exists(), drivers(harness)) == (False, False, [])
    assert [(one["kind"], "its step is not finished: drumline resume" in str(one["reason"])) for one in left] == [
        ("worktree", True)
    ]
    assert again == left
    let_go(harness)
    code, said = harness.call("resume")
    assert code == 0, said
    assert harness.landed() == {"step-1": 1, "step-2": 1}


def test_gc_removes_the_place_of_a_landed_step_that_nobody_came_to_use(tmp_path: Path) -> None:
    half = {"match": {"step": "step-1"}, "write": {"one": "1\n"}, "run": HALF.format(tmp_path / "go")}
    apart = (PlanStep(id="step-1"), PlanStep(id="step-2"))
    with make_harness(tmp_path, apart, [half, {"match": {"step": "step-2"}, "write": {"two": "2\n"}}]) as harness:
        driver = start_work(harness)
        wait_until(lambda: "done" in harness.statuses().values(), "a landing")
        live = tell(harness)
        driver.kill()
        driver.wait()
        assert harness.wait_alone() == []

        found = [one for one in tell(harness) if one["kind"] == "worktree"]

        assert [one["removed"] for one in live] == [False, False]
        assert sum("is at work on its run" in str(one["reason"]) for one in live) == 1
        assert [(one["removed"], "its step is not finished" in str(one["reason"])) for one in found] == [
            (False, True),
            (True, False),
        ]
        assert len(harness.worktrees()) == 1


def test_gc_touches_nothing_of_a_live_run(harness: Harness) -> None:
    driver = start_work(harness)
    make_scratch(harness)

    found = tell(harness)

    assert [one for one in found if one["removed"]] == []
    assert {one["kind"] for one in found} == {"worktree", "scratch"}
    assert all("is at work on it" in str(one["reason"]) for one in found)
    let_go(harness)
    assert harness.wait(driver) == 0, harness.said(driver)


@pytest.mark.parametrize("way", ["gc", "doctor", "run"])
def test_the_worktree_of_a_run_that_was_closed_undriven_goes_and_its_work_is_kept(harness: Harness, way: str) -> None:
    driver = start_work(harness)
    driver.terminate()
    harness.wait(driver)
    path = next(worktrees(harness).glob("*/work@1"))
    run = harness.run_id()
    code, said = harness.call("skip", "step-1", "--reason", "not wanted")
    assert code == 0, said
    assert path.exists()

    words = {"gc": ["gc"], "doctor": ["doctor"], "run": ["resume"]}[way]
    code, said = harness.call(*words)

    assert not path.exists(), said
    assert harness.git("show", f"refs/drumline/{run}/step-1/skipped:half") == "half"
    assert harness.worktrees() == []
    assert drivers(harness) == []


@pytest.mark.parametrize("words", [("skip", "step-1", "--reason", "no"), ("cancel",)])
def test_the_worktree_of_a_step_that_is_closed_while_it_is_in_work_goes_with_it(
    harness: Harness, words: tuple[str, ...]
) -> None:
    driver = start_work(harness)
    run = harness.run_id()

    code, said = harness.call(*words)
    harness.wait(driver)

    assert code == 0, said
    assert harness.worktrees() == []
    assert list(worktrees(harness).glob("*/work@1")) == []
    label = "cancelled" if words == ("cancel",) else "skipped"
    assert harness.git("show", f"refs/drumline/{run}/step-1/{label}:half") == "half"


@pytest.mark.parametrize("named", [0, 1], ids=["retry", "cancel"])
def test_gc_names_commands_that_go_on_with_a_blocked_step_or_give_it_up(user: User, named: int) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"half": "half"}})
    assert user.run("--retries", "0", "--autonomy", "autopilot").code == 2
    run, before = user.status()["run"], len(attempts_of(user))
    told = user.drumline("gc", "--json").json["leftovers"]
    assert isinstance(told, list)
    (left,) = [one for one in told if one["kind"] == "worktree"]
    advice = re.findall(r"drumline ([^,]+?)(?:,| if|$)", left["reason"])

    done = user.drumline(*advice[named].split())

    assert advice == [f"retry step-1 --run {run} --resume", f"cancel {run}"]
    assert done.code == (2, 0)[named], done.text
    assert (len(attempts_of(user)) > before) is (named == 0)
    if named == 1:
        assert user.status()["state"] == "cancelled"
        assert not Path(left["path"]).exists()
        assert user.git("show", f"refs/drumline/{run}/step-1/blocked:half") == "half"
        assert user.drumline("cancel").code == 3


def test_a_driver_that_is_terminated_while_it_lands_leaves_no_worktree(harness: Harness) -> None:
    shim = harness.repo.parent / "bin" / "git"
    shim.parent.mkdir()
    lines = f'case " $* " in *"land "*) touch {harness.repo.parent}/landing; sleep 1;; esac\nexec {REAL_GIT} "$@"\n'
    shim.write_text(f"#!/bin/bash\n{lines}", encoding="utf-8")
    shim.chmod(0o755)
    driver = start_work(harness, PATH=f"{shim.parent}{os.pathsep}{harness.env['PATH']}")
    let_go(harness)
    wait_until((harness.repo.parent / "landing").exists, "a landing")

    send(driver.pid, signal.SIGTERM)
    harness.wait(driver)

    assert harness.landed() == {"step-1": 1}
    assert harness.worktrees() == []


def test_gc_names_only_the_work_that_is_nowhere_else_where_nothing_is_left(user: User) -> None:
    before = user.type("gc")
    user.run()
    refs = user.git("for-each-ref", "--format=%(refname)", "refs/heads/drumline", "refs/drumline").splitlines()

    after = user.drumline("gc")

    assert (before.code, before.out) == (0, "nothing is left over\n")
    assert refs
    stay = f"{len(refs)} of runs that are over stay; drumline gc --dry-run says why"
    assert (after.code, after.out) == (0, f"left branches and refs below refs: {stay}\n")
    assert list((user.folder / "home" / "state" / "drumline").glob("*/worktrees/*")) == []
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}


def test_a_worktree_of_an_unknown_run_stays_and_is_named(user: User) -> None:
    user.run()
    root = next((user.folder / "home" / "state" / "drumline").glob("*")) / "worktrees"
    (root / "elsewhere" / "step-1").mkdir(parents=True)

    told = user.drumline("gc")

    assert "left worktree" in told.out
    assert "the journal does not know its run" in told.out
    assert (root / "elsewhere" / "step-1").is_dir()


def test_drafts_that_a_dead_writer_left_beside_the_plan_go_and_a_persons_files_stay(user: User) -> None:
    user.run()
    folder = user.path("step-1").parent
    old = time.time() - 3600
    for name in (".step-1.md.drumline-x1y2.tmp", ".notes.tmp"):
        (folder / name).touch()
        os.utime(folder / name, (old, old))

    told = user.drumline("gc")

    assert "removed draft" in told.out
    assert not (folder / ".step-1.md.drumline-x1y2.tmp").exists()
    assert (folder / ".notes.tmp").exists()


def test_folders_in_the_systems_temporary_folder_that_are_not_ours_stay(user: User) -> None:
    user.run()
    with tempfile.TemporaryDirectory(prefix="drumline-") as name:
        user.drumline("gc")

        assert Path(name).is_dir()


def leave_lock(user: User) -> Path:
    """The lock of a ref that a git of ours died writing, with the note that says whose it is."""
    folder = user.repo / ".git"
    lock = folder / "refs" / "heads" / "drumline" / "old.lock"
    for path, text in ((lock, ""), (folder / "drumline" / "locks" / "refs-old", "refs/heads/drumline/old\0")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return lock


def test_a_start_removes_the_lock_of_a_ref_of_another_run(user: User) -> None:
    lock = leave_lock(user)

    ran = user.run()

    assert ran.code == 0, ran.text
    assert not lock.exists()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")
def test_a_start_at_a_terminal_removes_what_other_runs_left_as_well(user: User) -> None:
    lock = leave_lock(user)

    with open_terminal(user) as terminal:
        terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--mode", "sequential")
        terminal.await_text("Execute them in this run")
        terminal.press("Enter")
        terminal.await_text("exit=0")

    assert not lock.exists()
