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
from tests.acceptance.durability import DAEMONS, PlanStep, Rule, World, make_world, send, wait_until
from tests.acceptance.userland import PLAN, SCRIPTED, leaving_nothing, make_user, step_text
from tests.warm import Started

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

INTERRUPTED = 130
STEPS = ("step-1", "step-2", "step-3")
ONCE = dict.fromkeys(STEPS, 1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two steps side by side and one after them; agents leave daemons and work until the file `go` is there."""
    steps = [PlanStep(id=s, needs=STEPS[:2] if s == STEPS[2] else (), checks=(f"test -f {s}.txt",)) for s in STEPS]
    wait = f"until [ -e '{tmp_path}/go' ]; do sleep 0.05; done; "
    rules: list[Rule] = [{"match": {"step": s}, "run": f"{DAEMONS} {wait} echo {s} > {s}.txt"} for s in STEPS]
    with make_world(tmp_path, steps, rules) as world:
        yield world


def let_go(world: World) -> None:
    """Let the agents finish."""
    (world.repo.parent / "go").touch()


def start_working(world: World) -> Started:
    """A driver with two agents at work."""
    driver = world.start(*world.run_args())
    wait_until(lambda: len(world.supervisors()) == 2 and len(world.agents()) > 8, "two agents with their daemons")
    return driver


def assert_given_back(world: World) -> None:
    """Claims, files, processes and status all say that nobody works here, and that work can go on."""
    assert world.held() == {}
    assert world.statuses() == dict.fromkeys(STEPS, "ready")
    assert json.loads(world.call("status", "--json")[1])["state"] == "interrupted"
    assert [world.kinds(step)[-2:] for step in STEPS[:2]] == [["WorkLost", "StepReleased"]] * 2


def assert_resumes(world: World) -> None:
    """A resume finishes the run, each step once."""
    let_go(world)
    code, said = world.call("resume")
    assert code == 0, said
    assert world.state() == "done"
    assert world.landed() == ONCE
    assert world.count("StepFinished") == ONCE
    assert world.statuses() == dict.fromkeys(STEPS, "done")
    assert world.wait_alone() == []
    assert world.worktrees() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_driver_gives_its_steps_back_and_ends_its_agents(
    world: World, number: signal.Signals
) -> None:
    driver = start_working(world)

    os.kill(driver.pid, number)

    assert world.wait(driver) == INTERRUPTED, world.said(driver)
    assert world.processes() == []
    assert_given_back(world)
    assert_resumes(world)


def test_a_stop_does_not_wait_for_a_git_of_the_users_and_the_next_start_writes_what_is_late(world: World) -> None:
    driver = start_working(world)
    over = threading.Event()

    def lock_index() -> None:
        while not over.wait(0.05):
            (world.repo / ".git/index.lock").touch()
        (world.repo / ".git/index.lock").unlink()

    git = threading.Thread(target=lock_index)
    git.start()
    wait_until((world.repo / ".git/index.lock").exists, "git at work")
    try:
        os.kill(driver.pid, signal.SIGINT)

        assert world.wait(driver) == INTERRUPTED, world.said(driver)
        assert {"claimed", "in-progress"}.issuperset(world.statuses()[step] for step in STEPS[:2])
    finally:
        over.set()
        git.join()
    assert "the next start of the run writes it" in world.said(driver)
    assert world.held() == {}
    assert_resumes(world)


def test_ctrl_c_at_a_terminal_reaches_the_whole_process_group_and_is_as_clean(world: World) -> None:
    driver = start_working(world)

    os.killpg(driver.pid, signal.SIGINT)

    assert world.wait(driver) == INTERRUPTED, world.said(driver)
    assert world.processes() == []
    assert_given_back(world)
    assert_resumes(world)


def test_a_stopped_driver_leaves_the_work_of_the_others_alone(world: World) -> None:
    first = world.start(*world.run_args("--jobs", "1"))
    wait_until(lambda: len(world.supervisors()) == 1, "the first agent")
    second = world.start(*world.run_args("--jobs", "1"))
    wait_until(lambda: len(world.supervisors()) == 2 and len(world.held()) == 2, "the second agent")

    os.kill(first.pid, signal.SIGINT)

    assert world.wait(first) == INTERRUPTED, world.said(first)
    assert len(world.held()) == 1
    assert world.state() == "running"
    let_go(world)
    assert world.wait(second) == 0, world.said(second)
    assert world.landed() == ONCE
    assert world.count("StepFinished") == ONCE


def test_a_second_ctrl_c_ends_a_slow_stop_at_once_and_leaves_nothing_running(world: World) -> None:
    driver = start_working(world)
    supervisors = world.supervisors()
    for pid in supervisors:
        send(pid, signal.SIGSTOP)  # a stop waits for supervisors, and these do not answer

    os.kill(driver.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        driver.wait(1.0)
    os.kill(driver.pid, signal.SIGINT)

    assert world.wait(driver) == INTERRUPTED, world.said(driver)
    assert set(supervisors) <= set(world.processes())
    assert set(world.held()) == set(STEPS[:2])
    for pid in supervisors:
        send(pid, signal.SIGCONT)
    assert world.wait_alone() == []
    assert world.state() == "interrupted"
    assert_resumes(world)


def test_a_resume_ends_supervisors_that_froze_before_their_driver_was_stopped_at_once(world: World) -> None:
    driver = start_working(world)
    for pid in world.supervisors():
        send(pid, signal.SIGSTOP)
    os.kill(driver.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        driver.wait(1.0)
    os.kill(driver.pid, signal.SIGINT)

    code = world.wait(driver)

    assert code == INTERRUPTED
    assert world.agents()
    assert_resumes(world)


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
