"""An owner frozen past its lease is killed and its work taken over; one that wakes up too late changes nothing."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.durability import Harness, PlanStep, Rule, is_stopped, make_harness, wait_until
from tests.warm import Started

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

LEASE = "2s"
ONCE = {"step-1": 1, "step-2": 1}


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
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
    with make_harness(tmp_path, steps, rules) as harness:
        yield harness


def _write_forever(folder: Path) -> str:
    """Every agent notes that it came; the first writes on and on, inside the workspace and beside the repository."""
    return (
        f"echo $$ >> '{folder}/came'; "
        f"if [ $(wc -l < '{folder}/came') -gt 1 ]; then "
        f"until [ -e '{folder}/go' ]; do sleep 0.05; done; echo finished > work.txt; exit; fi; "
        f"while :; do echo more >> work.txt; echo more >> '{folder}/growing'; sleep 0.05; done"
    )


def let_go(harness: Harness) -> None:
    """Let every agent but the first finish."""
    (harness.repo.parent / "go").touch()


def count_agents(harness: Harness) -> int:
    """How many agents have come to the first step."""
    came = harness.repo.parent / "came"
    return len(came.read_text().splitlines()) if came.exists() else 0


def grows(harness: Harness) -> bool:
    """Whether the first agent is still writing, watched for many times its pause."""
    growing = harness.repo.parent / "growing"
    before = growing.stat().st_size
    time.sleep(0.5)
    return growing.stat().st_size > before


def start_owner(harness: Harness, *rigging: str) -> Started:
    """A driver, rigged if asked for, that owns the first step and whose agent is writing."""
    began = harness.start(*harness.run_args(), DRUMLINE_LEASE=LEASE)
    wait_until(lambda: (harness.repo.parent / "growing").exists(), "the first agent to write")
    if not rigging:
        return began
    # The rigged program drives what the real one began: its own first agent is the one that never stops.
    began.kill()
    began.wait()
    assert harness.wait_alone() == []
    (harness.repo.parent / "came").unlink()
    (harness.repo.parent / "growing").unlink()
    owner = harness.start_rigged(*rigging, DRUMLINE_LEASE=LEASE)
    wait_until(lambda: (harness.repo.parent / "growing").exists(), "the first agent to write again")
    return owner


def freeze(process: Started) -> None:
    """Stop a process with all its threads."""
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(process.pid), "the owner to be frozen")


def assert_landed_once(harness: Harness) -> None:
    """Each step landed once, with the content of the agent that was allowed to finish it."""
    assert harness.state() == "done"
    assert harness.landed() == ONCE
    assert harness.count("StepLanded") == ONCE
    assert harness.count("StepFinished") == ONCE
    assert harness.git("show", f"{harness.branch}:work.txt") == "finished"
    assert harness.statuses() == dict.fromkeys(ONCE, "done")
    assert harness.list_claims() == {}


@pytest.mark.parametrize("command", ["resume", "run"])
def test_a_frozen_owner_is_killed_with_its_writing_agent_and_its_step_taken_over(
    harness: Harness, command: str
) -> None:
    owner = start_owner(harness)
    freeze(owner)
    writing = grows(harness)
    let_go(harness)

    args = harness.run_args() if command == "run" else ["resume"]
    code, said = harness.call(*args, DRUMLINE_LEASE=LEASE)

    assert writing
    assert code == 0, said
    assert not grows(harness)
    assert harness.wait(owner) == -signal.SIGKILL
    assert_landed_once(harness)
    assert harness.wait_alone() == []
    assert harness.worktrees() == []


def test_a_driver_that_waits_for_others_takes_over_from_an_owner_that_freezes(harness: Harness) -> None:
    owner = start_owner(harness)
    second = harness.start(*harness.run_args(), DRUMLINE_LEASE=LEASE)
    wait_until(lambda: "joining run" in harness.said(second), "the second driver to join")
    let_go(harness)

    freeze(owner)

    assert harness.wait(second) == 0, harness.said(second)
    assert harness.wait(owner) == -signal.SIGKILL
    assert not grows(harness)
    assert_landed_once(harness)
    assert harness.wait_alone() == []


@pytest.mark.parametrize("nth", [1, 2, 5])
def test_an_owner_frozen_inside_a_transaction_is_killed_and_nothing_of_it_is_kept(harness: Harness, nth: int) -> None:
    began = start_owner(harness)
    began.kill()
    began.wait()
    let_go(harness)
    owner = harness.start_rigged(f"--strike-at-append={nth}", DRUMLINE_LEASE=LEASE)
    wait_until(lambda: is_stopped(owner.pid), "the owner to be frozen")
    before = len(harness.journal())

    code, said = harness.call("resume", DRUMLINE_LEASE=LEASE)

    assert "struck in a transaction" in harness.said(owner)
    assert code == 0, said
    assert harness.wait(owner) == -signal.SIGKILL
    assert len(harness.journal()) > before
    assert_landed_once(harness)
    assert harness.wait_alone() == []


def lose_the_lease(harness: Harness) -> None:
    """Delete the frozen owner's lock file: it counts as dead from now on, and nobody kills it."""
    for home in (harness.repo / ".git" / "drumline" / "drivers").glob("d-*"):
        shutil.rmtree(home)


def take_over(harness: Harness, *rigging: str) -> Started:
    """Start another driver and wait until its own agent is at work on the first step."""
    before = count_agents(harness)
    second = harness.start_rigged(*rigging, DRUMLINE_LEASE=LEASE)
    wait_until(lambda: count_agents(harness) > before, "the agent of the second driver")
    return second


def wake(owner: Started, *signals: signal.Signals) -> None:
    """Let the former owner go on, with these signals waiting for it."""
    for number in (*signals, signal.SIGCONT):
        os.kill(owner.pid, number)


def wake_a_former_owner_after_the_end(harness: Harness, *rigging: str) -> Started:
    """Wake a former owner when its successor has finished everything: its agent is dead and its workspace gone."""
    owner = start_owner(harness, "--jobs=1", *rigging)
    freeze(owner)
    lose_the_lease(harness)
    let_go(harness)
    code, said = harness.call("resume", DRUMLINE_LEASE=LEASE)
    assert code == 0, said
    assert is_stopped(owner.pid)
    assert_landed_once(harness)
    wake(owner)
    harness.wait(owner)
    return owner


def test_a_former_owner_that_wakes_after_the_end_is_refused_and_changes_nothing(harness: Harness) -> None:
    owner = wake_a_former_owner_after_the_end(harness)

    assert owner.returncode == 0, harness.said(owner)
    assert "stale: step 'step-1' is not claimed under token" in harness.said(owner)
    assert type(harness.journal()[-1].event).__name__ == "RunEnded"
    assert_landed_once(harness)
    assert harness.wait_alone() == []


def test_without_fencing_a_former_owner_that_wakes_after_the_end_writes_on_and_breaks_down(harness: Harness) -> None:
    owner = wake_a_former_owner_after_the_end(harness, "--no-fencing")

    assert "stale: step 'step-1' is not claimed under token" in harness.said(owner)
    assert owner.returncode != 0
    assert "Conflict" in harness.said(owner)


def test_a_former_owner_that_wakes_with_a_landing_in_its_hands_lands_nothing_twice(harness: Harness) -> None:
    began = start_owner(harness)
    began.kill()
    began.wait()
    let_go(harness)
    owner = harness.start_rigged("--strike-at=landing", DRUMLINE_LEASE=LEASE)
    wait_until(lambda: is_stopped(owner.pid), "the owner to be frozen")
    lose_the_lease(harness)
    code, said = harness.call("resume", DRUMLINE_LEASE=LEASE)
    journal, tip = harness.journal(), harness.git("rev-parse", harness.branch)

    wake(owner)
    woken = harness.wait(owner)

    assert code == 0, said
    assert woken == 0, harness.said(owner)
    assert "stale: " in harness.said(owner)
    assert harness.journal() == journal
    assert harness.git("rev-parse", harness.branch) == tip
    assert_landed_once(harness)


def stop_a_former_owner_in_mid_takeover(harness: Harness, *rigging: str) -> tuple[Started, Started]:
    """Wake a former owner with Ctrl-C waiting for it while its successor works; both when they have ended.

    Stopping it looks at the journal afresh and gives its step back, so that the versions of streams do not protect
    the successor: only the token does.
    """
    owner = start_owner(harness, *rigging, "--jobs=1")
    freeze(owner)
    lose_the_lease(harness)
    successor = take_over(harness, *rigging)
    wake(owner, signal.SIGINT)
    harness.wait(owner)
    let_go(harness)
    harness.wait(successor)
    return owner, successor


def test_a_former_owner_that_is_stopped_cannot_give_back_the_step_of_its_successor(harness: Harness) -> None:
    owner, successor = stop_a_former_owner_in_mid_takeover(harness)

    assert owner.returncode == 130, harness.said(owner)
    assert "stale: step 'step-1' is not claimed under token" in harness.said(owner)
    assert successor.returncode == 0, harness.said(successor)
    assert_landed_once(harness)
    assert harness.wait_alone() == []


def test_without_fencing_a_former_owner_that_is_stopped_breaks_the_work_of_its_successor(harness: Harness) -> None:
    _, successor = stop_a_former_owner_in_mid_takeover(harness, "--no-fencing")

    kinds = harness.kinds("step-1")
    last_attempt = len(kinds) - kinds[::-1].index("AttemptStarted")
    assert kinds[last_attempt : last_attempt + 3] == ["NodeLost", "WorkLost", "StepReleased"]
    assert successor.returncode != 0
    assert "is at version" in harness.said(successor)
    assert harness.state() != "done"
