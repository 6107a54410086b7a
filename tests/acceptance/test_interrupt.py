"""Ctrl-C: the first stops this driver cleanly and gives its steps back, the second ends it at once; nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, leaving_nothing, make_user, step_text
from tests.acceptance.durability import DAEMONS, Harness, PlanStep, Rule, make_harness, send, wait_until
from tests.warm import Started

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

INTERRUPTED = 130
STEPS = ("step-1", "step-2", "step-3")
ONCE = dict.fromkeys(STEPS, 1)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """Two steps side by side and one after them; agents leave daemons and work until the file `go` is there."""
    steps = [PlanStep(id=s, needs=STEPS[:2] if s == STEPS[2] else (), checks=(f"test -f {s}.txt",)) for s in STEPS]
    wait = f"until [ -e '{tmp_path}/go' ]; do sleep 0.05; done; "
    rules: list[Rule] = [{"match": {"step": s}, "run": f"{DAEMONS} {wait} echo {s} > {s}.txt"} for s in STEPS]
    with make_harness(tmp_path, steps, rules) as harness:
        yield harness


def let_go(harness: Harness) -> None:
    """Let the agents finish."""
    (harness.repo.parent / "go").touch()


def start_working(harness: Harness) -> Started:
    """A driver with two agents at work."""
    driver = harness.start(*harness.run_args())
    wait_until(lambda: len(harness.supervisors()) == 2 and len(harness.agents()) > 8, "two agents with their daemons")
    return driver


def assert_given_back(harness: Harness) -> None:
    """Claims, files, processes and status all say that nobody works here, and that work can go on."""
    assert harness.list_claims() == {}
    assert harness.statuses() == dict.fromkeys(STEPS, "ready")
    assert json.loads(harness.call("status", "--json")[1])["state"] == "interrupted"
    assert [harness.kinds(step)[-2:] for step in STEPS[:2]] == [["WorkLost", "StepReleased"]] * 2


def assert_resumes(harness: Harness) -> None:
    """A resume finishes the run, each step once."""
    let_go(harness)
    code, said = harness.call("resume")
    assert code == 0, said
    assert harness.state() == "done"
    assert harness.landed() == ONCE
    assert harness.count("StepFinished") == ONCE
    assert harness.statuses() == dict.fromkeys(STEPS, "done")
    assert harness.wait_alone() == []
    assert harness.worktrees() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_driver_gives_its_steps_back_and_ends_its_agents(
    harness: Harness, number: signal.Signals
) -> None:
    driver = start_working(harness)

    os.kill(driver.pid, number)

    assert harness.wait(driver) == INTERRUPTED, harness.said(driver)
    assert harness.processes() == []
    assert_given_back(harness)
    assert_resumes(harness)


def test_a_stop_does_not_wait_for_a_git_of_the_users_and_the_next_start_writes_what_is_late(harness: Harness) -> None:
    driver = start_working(harness)
    over = threading.Event()

    def lock_index() -> None:
        while not over.wait(0.05):
            (harness.repo / ".git/index.lock").touch()
        (harness.repo / ".git/index.lock").unlink()

    git = threading.Thread(target=lock_index)
    git.start()
    wait_until((harness.repo / ".git/index.lock").exists, "git at work")
    try:
        os.kill(driver.pid, signal.SIGINT)

        assert harness.wait(driver) == INTERRUPTED, harness.said(driver)
        assert {"claimed", "in-progress"}.issuperset(harness.statuses()[step] for step in STEPS[:2])
    finally:
        over.set()
        git.join()
    assert "the next start of the run writes it" in harness.said(driver)
    assert harness.list_claims() == {}
    assert_resumes(harness)


def test_ctrl_c_at_a_terminal_reaches_the_whole_process_group_and_is_as_clean(harness: Harness) -> None:
    driver = start_working(harness)

    os.killpg(driver.pid, signal.SIGINT)

    assert harness.wait(driver) == INTERRUPTED, harness.said(driver)
    assert harness.processes() == []
    assert_given_back(harness)
    assert_resumes(harness)


def test_a_stopped_driver_leaves_the_work_of_the_others_alone(harness: Harness) -> None:
    first = harness.start(*harness.run_args("--jobs", "1"))
    wait_until(lambda: len(harness.supervisors()) == 1, "the first agent")
    second = harness.start(*harness.run_args("--jobs", "1"))
    wait_until(lambda: len(harness.supervisors()) == 2 and len(harness.list_claims()) == 2, "the second agent")

    os.kill(first.pid, signal.SIGINT)

    assert harness.wait(first) == INTERRUPTED, harness.said(first)
    assert len(harness.list_claims()) == 1
    assert harness.state() == "running"
    let_go(harness)
    assert harness.wait(second) == 0, harness.said(second)
    assert harness.landed() == ONCE
    assert harness.count("StepFinished") == ONCE


def test_a_second_ctrl_c_ends_a_slow_stop_at_once_and_leaves_nothing_running(harness: Harness) -> None:
    driver = start_working(harness)
    supervisors = harness.supervisors()
    for pid in supervisors:
        send(pid, signal.SIGSTOP)  # a stop waits for supervisors, and these do not answer

    os.kill(driver.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        driver.wait(1.0)
    os.kill(driver.pid, signal.SIGINT)

    assert harness.wait(driver) == INTERRUPTED, harness.said(driver)
    assert set(supervisors) <= set(harness.processes())
    assert set(harness.list_claims()) == set(STEPS[:2])
    for pid in supervisors:
        send(pid, signal.SIGCONT)
    assert harness.wait_alone() == []
    assert harness.state() == "interrupted"
    assert_resumes(harness)


def test_a_resume_ends_supervisors_that_froze_before_their_driver_was_stopped_at_once(harness: Harness) -> None:
    driver = start_working(harness)
    for pid in harness.supervisors():
        send(pid, signal.SIGSTOP)
    os.kill(driver.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        driver.wait(1.0)
    os.kill(driver.pid, signal.SIGINT)

    code = harness.wait(driver)

    assert code == INTERRUPTED
    assert harness.agents()
    assert_resumes(harness)


@pytest.mark.parametrize(("passes", "code"), [(True, 0), (False, 2)])
def test_a_ctrl_c_after_the_run_is_over_does_not_change_how_it_ended(tmp_path: Path, passes: bool, code: int) -> None:
    run = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--retries", "0")
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1", checks=["true" if passes else "false"]))

        ran = user.rigged(*run, env={"STRIKE": "SIGINT", "STRIKE_EVENT": "RunEnded"})

        assert "struck after RunEnded" in ran.err
        assert ran.code == code, ran.text


def test_a_driver_that_is_killed_as_soon_as_the_end_is_recorded_leaves_no_workspace(tmp_path: Path) -> None:
    run = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--jobs", "2")
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1"), step_text("step-2"))

        died = user.rigged(*run, env={"STRIKE": "SIGKILL", "STRIKE_EVENT": "RunEnded"})

        assert died.code == -signal.SIGKILL, died.text
        assert user.git("worktree", "list").count("\n") == 0
