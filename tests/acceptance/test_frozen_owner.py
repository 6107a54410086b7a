"""An owner frozen past its lease is killed and its work taken over; one that wakes up too late changes nothing."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.durability import PlanStep, Rule, World, is_stopped, make_world, wait_until
from tests.warm import Started

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

LEASE = "2s"
ONCE = {"step-1": 1, "step-2": 1}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world whose first agent never stops writing, and whose later ones finish as soon as the file `go` is there.

    The check looks a while later, so that a writer who is still at it would be seen in the file that lands.
    """
    steps = [
        PlanStep(id="step-1", checks=("sleep 0.4; test $(cat work.txt) = finished",)),
        PlanStep(id="step-2", needs=("step-1",), checks=("test -f second.txt",)),
    ]
    rules: list[Rule] = [
        {"match": {"step": "step-1"}, "run": _write_forever(tmp_path)},
        {"match": {"step": "step-2"}, "write": {"second.txt": "second\n"}},
    ]
    with make_world(tmp_path, steps, rules) as world:
        yield world


def _write_forever(folder: Path) -> str:
    """Every agent notes that it came; the first writes on and on, inside the workspace and beside the repository."""
    return (
        f"echo $$ >> '{folder}/came'; "
        f"if [ $(wc -l < '{folder}/came') -gt 1 ]; then "
        f"until [ -e '{folder}/go' ]; do sleep 0.05; done; echo finished > work.txt; exit; fi; "
        f"while :; do echo more >> work.txt; echo more >> '{folder}/growing'; sleep 0.05; done"
    )


def let_go(world: World) -> None:
    """Let every agent but the first finish."""
    (world.repo.parent / "go").touch()


def count_agents(world: World) -> int:
    """How many agents have come to the first step."""
    came = world.repo.parent / "came"
    return len(came.read_text().splitlines()) if came.exists() else 0


def grows(world: World) -> bool:
    """Whether the first agent is still writing, watched for many times its pause."""
    growing = world.repo.parent / "growing"
    before = growing.stat().st_size
    time.sleep(0.5)
    return growing.stat().st_size > before


def start_owner(world: World, *rigging: str) -> Started:
    """A driver, rigged if asked for, that owns the first step and whose agent is writing."""
    began = world.start(*world.run_args(), DRUMLINE_LEASE=LEASE)
    wait_until(lambda: (world.repo.parent / "growing").exists(), "the first agent to write")
    if not rigging:
        return began
    # The rigged program drives what the real one began: its own first agent is the one that never stops.
    began.kill()
    began.wait()
    assert world.wait_alone() == []
    (world.repo.parent / "came").unlink()
    (world.repo.parent / "growing").unlink()
    owner = world.start_rigged(*rigging, DRUMLINE_LEASE=LEASE)
    wait_until(lambda: (world.repo.parent / "growing").exists(), "the first agent to write again")
    return owner


def freeze(process: Started) -> None:
    """Stop a process with all its threads."""
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(process.pid), "the owner to be frozen")


def assert_landed_once(world: World) -> None:
    """Each step landed once, with the content of the agent that was allowed to finish it."""
    assert world.state() == "done"
    assert world.landed() == ONCE
    assert world.count("StepLanded") == ONCE
    assert world.count("StepFinished") == ONCE
    assert world.git("show", f"{world.branch}:work.txt") == "finished"
    assert world.statuses() == dict.fromkeys(ONCE, "done")
    assert world.held() == {}


@pytest.mark.parametrize("command", ["resume", "run"])
def test_a_frozen_owner_is_killed_with_its_writing_agent_and_its_step_taken_over(world: World, command: str) -> None:
    owner = start_owner(world)
    freeze(owner)
    writing = grows(world)
    let_go(world)

    args = world.run_args() if command == "run" else ["resume"]
    code, said = world.call(*args, DRUMLINE_LEASE=LEASE)

    assert writing
    assert code == 0, said
    assert not grows(world)
    assert world.wait(owner) == -signal.SIGKILL
    assert_landed_once(world)
    assert world.wait_alone() == []
    assert world.worktrees() == []


def test_a_driver_that_waits_for_others_takes_over_from_an_owner_that_freezes(world: World) -> None:
    owner = start_owner(world)
    second = world.start(*world.run_args(), DRUMLINE_LEASE=LEASE)
    wait_until(lambda: "joining run" in world.said(second), "the second driver to join")
    let_go(world)

    freeze(owner)

    assert world.wait(second) == 0, world.said(second)
    assert world.wait(owner) == -signal.SIGKILL
    assert not grows(world)
    assert_landed_once(world)
    assert world.wait_alone() == []


@pytest.mark.parametrize("nth", [1, 2, 5])
def test_an_owner_frozen_inside_a_transaction_is_killed_and_nothing_of_it_is_kept(world: World, nth: int) -> None:
    began = start_owner(world)
    began.kill()
    began.wait()
    let_go(world)
    owner = world.start_rigged(f"--strike-at-append={nth}", DRUMLINE_LEASE=LEASE)
    wait_until(lambda: is_stopped(owner.pid), "the owner to be frozen")
    before = len(world.journal())

    code, said = world.call("resume", DRUMLINE_LEASE=LEASE)

    assert "struck in a transaction" in world.said(owner)
    assert code == 0, said
    assert world.wait(owner) == -signal.SIGKILL
    assert len(world.journal()) > before
    assert_landed_once(world)
    assert world.wait_alone() == []


def lose_the_lease(world: World) -> None:
    """Delete the frozen owner's lock file: it counts as dead from now on, and nobody kills it."""
    for home in (world.repo / ".git" / "drumline" / "drivers").glob("d-*"):
        shutil.rmtree(home)


def take_over(world: World, *rigging: str) -> Started:
    """Start another driver and wait until its own agent is at work on the first step."""
    before = count_agents(world)
    second = world.start_rigged(*rigging, DRUMLINE_LEASE=LEASE)
    wait_until(lambda: count_agents(world) > before, "the agent of the second driver")
    return second


def wake(owner: Started, *signals: signal.Signals) -> None:
    """Let the former owner go on, with these signals waiting for it."""
    for number in (*signals, signal.SIGCONT):
        os.kill(owner.pid, number)


def wake_a_former_owner_after_the_end(world: World, *rigging: str) -> Started:
    """Wake a former owner when its successor has finished everything: its agent is dead and its workspace gone."""
    owner = start_owner(world, "--jobs=1", *rigging)
    freeze(owner)
    lose_the_lease(world)
    let_go(world)
    code, said = world.call("resume", DRUMLINE_LEASE=LEASE)
    assert code == 0, said
    assert is_stopped(owner.pid)
    assert_landed_once(world)
    wake(owner)
    world.wait(owner)
    return owner


def test_a_former_owner_that_wakes_after_the_end_is_refused_and_changes_nothing(world: World) -> None:
    owner = wake_a_former_owner_after_the_end(world)

    assert owner.returncode == 0, world.said(owner)
    assert "stale: step 'step-1' is not claimed under token" in world.said(owner)
    assert type(world.journal()[-1].event).__name__ == "RunEnded"
    assert_landed_once(world)
    assert world.wait_alone() == []


def test_without_fencing_a_former_owner_that_wakes_after_the_end_writes_on_and_breaks_down(world: World) -> None:
    owner = wake_a_former_owner_after_the_end(world, "--no-fencing")

    assert "stale: step 'step-1' is not claimed under token" in world.said(owner)
    assert owner.returncode != 0
    assert "Conflict" in world.said(owner)


def test_a_former_owner_that_wakes_with_a_landing_in_its_hands_lands_nothing_twice(world: World) -> None:
    began = start_owner(world)
    began.kill()
    began.wait()
    let_go(world)
    owner = world.start_rigged("--strike-at=landing", DRUMLINE_LEASE=LEASE)
    wait_until(lambda: is_stopped(owner.pid), "the owner to be frozen")
    lose_the_lease(world)
    code, said = world.call("resume", DRUMLINE_LEASE=LEASE)
    journal, tip = world.journal(), world.git("rev-parse", world.branch)

    wake(owner)
    woken = world.wait(owner)

    assert code == 0, said
    assert woken == 0, world.said(owner)
    assert "stale: " in world.said(owner)
    assert world.journal() == journal
    assert world.git("rev-parse", world.branch) == tip
    assert_landed_once(world)


def stop_a_former_owner_in_mid_takeover(world: World, *rigging: str) -> tuple[Started, Started]:
    """Wake a former owner with Ctrl-C waiting for it while its successor works; both when they have ended.

    Stopping it looks at the journal afresh and gives its step back, so that the versions of streams do not protect
    the successor: only the token does.
    """
    owner = start_owner(world, *rigging, "--jobs=1")
    freeze(owner)
    lose_the_lease(world)
    successor = take_over(world, *rigging)
    wake(owner, signal.SIGINT)
    world.wait(owner)
    let_go(world)
    world.wait(successor)
    return owner, successor


def test_a_former_owner_that_is_stopped_cannot_give_back_the_step_of_its_successor(world: World) -> None:
    owner, successor = stop_a_former_owner_in_mid_takeover(world)

    assert owner.returncode == 130, world.said(owner)
    assert "stale: step 'step-1' is not claimed under token" in world.said(owner)
    assert successor.returncode == 0, world.said(successor)
    assert_landed_once(world)
    assert world.wait_alone() == []


def test_without_fencing_a_former_owner_that_is_stopped_breaks_the_work_of_its_successor(world: World) -> None:
    _, successor = stop_a_former_owner_in_mid_takeover(world, "--no-fencing")

    kinds = world.kinds("step-1")
    last_attempt = len(kinds) - kinds[::-1].index("AttemptStarted")
    assert kinds[last_attempt : last_attempt + 3] == ["NodeLost", "WorkLost", "StepReleased"]
    assert successor.returncode != 0
    assert "is at version" in world.said(successor)
    assert world.state() != "done"
