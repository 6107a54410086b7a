"""A driver that is killed with SIGKILL again and again: the run ends as if nothing had been, and nothing is left."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.acceptance.durability import DAEMONS, Harness, PlanStep, Rule, make_harness, send, wait_until
from tests.warm import Started

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

NEEDS: dict[str, Sequence[str]] = {
    "step-1": (),
    "step-2": ("step-1",),
    "step-3": ("step-1",),
    "step-4": ("step-2", "step-3"),
    "step-5": ("step-1",),
    "step-6": ("step-4", "step-5"),
}
ONCE = dict.fromkeys(NEEDS, 1)
FIXED = "step-3"
MOST_KILLS = 12


def write_steps() -> list[PlanStep]:
    """Every step is right only if its file has exactly the lines of its attempts, each played once."""
    return [PlanStep(id=s, needs=n, checks=(f"sleep 0.1; test $(grep -c ok {s}.txt) = 1",)) for s, n in NEEDS.items()]


def write_rules() -> list[Rule]:
    """Each attempt adds a line, so that one played twice in the same workspace shows; one step's first is wrong."""
    rules: list[Rule] = [{"match": {"step": FIXED, "attempt": 1}, "sleep": 0.1, "run": _work(FIXED, "wrong")}]
    return rules + [{"match": {"step": step}, "sleep": 0.1, "run": _work(step, "ok")} for step in NEEDS]


def _work(step: str, line: str) -> str:
    hold = 'while test -e "$HOLD"; do sleep 0.05; done;'
    return f"{DAEMONS} {hold} echo {line} >> {step}.txt; sleep 0.15; mkdir -p out; echo {line} >> out/{step}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Uninterrupted:
    """What a run that nobody disturbed came to, how many events that took and how long."""

    tree: str
    events: int
    seconds: float


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Uninterrupted]:
    with make_harness(tmp_path_factory.mktemp("uninterrupted"), write_steps(), write_rules()) as harness:
        began = time.monotonic()
        code, said = harness.call(*harness.run_args())
        seconds = time.monotonic() - began
        assert code == 0, said
        assert harness.landed() == ONCE
        yield Uninterrupted(tree=harness.tree(), events=len(harness.journal()), seconds=seconds)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with make_harness(tmp_path, write_steps(), write_rules()) as harness:
        yield harness


def drive_on(harness: Harness) -> Started:
    """Begin the run, or resume it if it was begun before the last kill."""
    return harness.start("resume") if harness.state() else harness.start(*harness.run_args())


def wait_moment(harness: Harness, driver: Started, seconds: float, events: int) -> None:
    """Wait for so long, but not past the driver's end, nor past so many events of the run if a number is given."""
    deadline = time.monotonic() + seconds
    while driver.poll() is None and time.monotonic() < deadline:
        if events and harness.store.exists() and len(harness.journal()) >= events:
            return
        time.sleep(0.02)


def drive_with_kills(harness: Harness, moments: random.Random, longest: float, events: int) -> int:
    """Kill the driver after a random while, again and again, then let it end; return how many kills hit.

    The first driver is killed before the run has more than `events`, however fast the machine has become meanwhile.
    """
    kills = 0
    for _ in range(MOST_KILLS):
        driver = drive_on(harness)
        wait_moment(harness, driver, moments.uniform(0.1, longest), 0 if kills else events)
        driver.kill()
        kills += driver.wait() == -signal.SIGKILL
        if harness.state() == "done":
            return kills
    last = drive_on(harness)
    assert harness.wait(last) == 0, harness.said(last)
    return kills


def assert_good_end(harness: Harness, uninterrupted: Uninterrupted) -> None:
    """Everything landed once, files and trees are right, nothing is left."""
    assert harness.state() == "done"
    assert harness.landed() == ONCE
    assert harness.tree() == uninterrupted.tree
    assert harness.statuses() == dict.fromkeys(NEEDS, "done")
    assert harness.count("StepFinished") == ONCE
    assert harness.count("StepLanded") == ONCE
    assert harness.wait_alone() == []
    assert harness.worktrees() == []
    assert harness.list_claims() == {}


def check_random_kills(harness: Harness, uninterrupted: Uninterrupted, seed: int) -> None:
    """Kill at the moments of this seed; a kill comes at any time between the start and well into the work."""
    checkout = harness.checkout()
    longest = min(4.0, max(1.5, uninterrupted.seconds * 0.6))

    kills = drive_with_kills(harness, random.Random(seed), longest, uninterrupted.events // 2)

    assert kills > 0
    assert_good_end(harness, uninterrupted)
    assert harness.checkout() == checkout


@pytest.mark.parametrize("seed", range(2))
def test_a_run_killed_at_random_moments_ends_as_if_it_had_not_been(
    harness: Harness, uninterrupted: Uninterrupted, seed: int
) -> None:
    check_random_kills(harness, uninterrupted, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 142))
def test_a_run_killed_at_many_more_random_moments_ends_as_if_it_had_not_been(
    harness: Harness, uninterrupted: Uninterrupted, seed: int
) -> None:
    check_random_kills(harness, uninterrupted, seed)


def start_held(harness: Harness) -> Started:
    """Begin the run with agents that stay at work until they are killed, however long it takes to look at them."""
    return harness.start(*harness.run_args(), HOLD=str(harness.repo))


def kill_with_supervisors(harness: Harness, driver: Started) -> list[int]:
    """Kill a driver and all its supervisors at once while an agent is at work; return the agents that outlive them."""
    wait_until(lambda: len(harness.agents()) > 3, "agents with their daemons")
    supervisors = harness.supervisors()
    # Frozen first, so that neither has a moment in which it could clean up after the other.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (driver.pid, *supervisors):
            send(pid, number)
    driver.wait()
    wait_until(lambda: not set(supervisors) & set(harness.processes()), "the supervisors to be gone")
    return harness.agents()


def test_agents_that_lost_driver_and_supervisor_are_swept_by_a_resume(
    harness: Harness, uninterrupted: Uninterrupted
) -> None:
    orphans = kill_with_supervisors(harness, start_held(harness))

    code, said = harness.call("resume")

    assert orphans
    assert code == 0, said
    assert not set(orphans) & set(harness.processes())
    assert_good_end(harness, uninterrupted)


def test_an_agent_dies_with_its_killed_driver_before_anybody_resumes(harness: Harness) -> None:
    driver = start_held(harness)
    wait_until(lambda: len(harness.agents()) > 3, "agents with their daemons")

    driver.kill()
    driver.wait()

    assert harness.wait_alone() == []
    assert harness.state() == "interrupted"


def kill_inside_an_attempt(harness: Harness) -> None:
    """Leave a run whose first step has an attempt open that nobody works on any more."""
    driver = start_held(harness)
    wait_until(lambda: harness.store.exists() and harness.kinds("step-1")[-1:] == ["AttemptStarted"], "an attempt")
    wait_until(harness.agents, "an agent at work")
    driver.kill()
    driver.wait()
    assert harness.wait_alone() == []
    assert harness.kinds("step-1")[-1] == "AttemptStarted"


def test_without_recovery_a_run_killed_inside_an_attempt_never_ends_well(
    harness: Harness, uninterrupted: Uninterrupted
) -> None:
    kill_inside_an_attempt(harness)

    rigged = harness.start_rigged("--no-recovery")
    code = harness.wait(rigged)

    assert code != 0
    assert "has an open intent" in harness.said(rigged)
    assert harness.state() != "done"
    assert harness.landed() == {}
    assert harness.call("resume")[0] == 0
    assert_good_end(harness, uninterrupted)


def test_a_workspace_that_a_dead_driver_did_not_come_to_remove_is_removed_by_the_next(
    harness: Harness, uninterrupted: Uninterrupted
) -> None:
    kill_inside_an_attempt(harness)
    struck = harness.start_rigged("--strike-at=release", STRIKE="SIGKILL")
    died = harness.wait(struck)
    left = harness.worktrees()

    code, said = harness.call("resume")

    assert died == -signal.SIGKILL
    assert left
    assert code == 0, said
    assert_good_end(harness, uninterrupted)
