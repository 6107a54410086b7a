"""A driver that is killed with SIGKILL again and again: the run ends as if nothing had been, and nothing is left."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.acceptance.durability import DAEMONS, PlanStep, Rule, World, make_world, send, wait_until
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
    with make_world(tmp_path_factory.mktemp("uninterrupted"), write_steps(), write_rules()) as world:
        began = time.monotonic()
        code, said = world.call(*world.run_args())
        seconds = time.monotonic() - began
        assert code == 0, said
        assert world.landed() == ONCE
        yield Uninterrupted(tree=world.tree(), events=len(world.journal()), seconds=seconds)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_world(tmp_path, write_steps(), write_rules()) as world:
        yield world


def drive_on(world: World) -> Started:
    """Begin the run, or resume it if it was begun before the last kill."""
    return world.start("resume") if world.state() else world.start(*world.run_args())


def wait_moment(world: World, driver: Started, seconds: float, events: int) -> None:
    """Wait for so long, but not past the driver's end, nor past so many events of the run if a number is given."""
    deadline = time.monotonic() + seconds
    while driver.poll() is None and time.monotonic() < deadline:
        if events and world.store.exists() and len(world.journal()) >= events:
            return
        time.sleep(0.02)


def drive_with_kills(world: World, moments: random.Random, longest: float, events: int) -> int:
    """Kill the driver after a random while, again and again, then let it end; return how many kills hit.

    The first driver is killed before the run has more than `events`, however fast the machine has become meanwhile.
    """
    kills = 0
    for _ in range(MOST_KILLS):
        driver = drive_on(world)
        wait_moment(world, driver, moments.uniform(0.1, longest), 0 if kills else events)
        driver.kill()
        kills += driver.wait() == -signal.SIGKILL
        if world.state() == "done":
            return kills
    last = drive_on(world)
    assert world.wait(last) == 0, world.said(last)
    return kills


def assert_good_end(world: World, uninterrupted: Uninterrupted) -> None:
    """Everything landed once, files and trees are right, nothing is left."""
    assert world.state() == "done"
    assert world.landed() == ONCE
    assert world.tree() == uninterrupted.tree
    assert world.statuses() == dict.fromkeys(NEEDS, "done")
    assert world.count("StepFinished") == ONCE
    assert world.count("StepLanded") == ONCE
    assert world.wait_alone() == []
    assert world.worktrees() == []
    assert world.held() == {}


def check_random_kills(world: World, uninterrupted: Uninterrupted, seed: int) -> None:
    """Kill at the moments of this seed; a kill comes at any time between the start and well into the work."""
    checkout = world.checkout()
    longest = min(4.0, max(1.5, uninterrupted.seconds * 0.6))

    kills = drive_with_kills(world, random.Random(seed), longest, uninterrupted.events // 2)

    assert kills > 0
    assert_good_end(world, uninterrupted)
    assert world.checkout() == checkout


@pytest.mark.parametrize("seed", range(2))
def test_a_run_killed_at_random_moments_ends_as_if_it_had_not_been(
    world: World, uninterrupted: Uninterrupted, seed: int
) -> None:
    check_random_kills(world, uninterrupted, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 142))
def test_a_run_killed_at_many_more_random_moments_ends_as_if_it_had_not_been(
    world: World, uninterrupted: Uninterrupted, seed: int
) -> None:
    check_random_kills(world, uninterrupted, seed)


def start_held(world: World) -> Started:
    """Begin the run with agents that stay at work until they are killed, however long it takes to look at them."""
    return world.start(*world.run_args(), HOLD=str(world.repo))


def kill_with_supervisors(world: World, driver: Started) -> list[int]:
    """Kill a driver and all its supervisors at once while an agent is at work; return the agents that outlive them."""
    wait_until(lambda: len(world.agents()) > 3, "agents with their daemons")
    supervisors = world.supervisors()
    # Frozen first, so that neither has a moment in which it could clean up after the other.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (driver.pid, *supervisors):
            send(pid, number)
    driver.wait()
    wait_until(lambda: not set(supervisors) & set(world.processes()), "the supervisors to be gone")
    return world.agents()


def test_agents_that_lost_driver_and_supervisor_are_swept_by_a_resume(
    world: World, uninterrupted: Uninterrupted
) -> None:
    orphans = kill_with_supervisors(world, start_held(world))

    code, said = world.call("resume")

    assert orphans
    assert code == 0, said
    assert not set(orphans) & set(world.processes())
    assert_good_end(world, uninterrupted)


def test_an_agent_dies_with_its_killed_driver_before_anybody_resumes(world: World) -> None:
    driver = start_held(world)
    wait_until(lambda: len(world.agents()) > 3, "agents with their daemons")

    driver.kill()
    driver.wait()

    assert world.wait_alone() == []
    assert world.state() == "interrupted"


def kill_inside_an_attempt(world: World) -> None:
    """Leave a run whose first step has an attempt open that nobody works on any more."""
    driver = start_held(world)
    wait_until(lambda: world.store.exists() and world.kinds("step-1")[-1:] == ["AttemptStarted"], "an attempt")
    wait_until(world.agents, "an agent at work")
    driver.kill()
    driver.wait()
    assert world.wait_alone() == []
    assert world.kinds("step-1")[-1] == "AttemptStarted"


def test_without_recovery_a_run_killed_inside_an_attempt_never_ends_well(
    world: World, uninterrupted: Uninterrupted
) -> None:
    kill_inside_an_attempt(world)

    rigged = world.start_rigged("--no-recovery")
    code = world.wait(rigged)

    assert code != 0
    assert "has an open intent" in world.said(rigged)
    assert world.state() != "done"
    assert world.landed() == {}
    assert world.call("resume")[0] == 0
    assert_good_end(world, uninterrupted)


def test_a_workspace_that_a_dead_driver_did_not_come_to_remove_is_removed_by_the_next(
    world: World, uninterrupted: Uninterrupted
) -> None:
    kill_inside_an_attempt(world)
    struck = world.start_rigged("--strike-at=release", STRIKE="SIGKILL")
    died = world.wait(struck)
    left = world.worktrees()

    code, said = world.call("resume")

    assert died == -signal.SIGKILL
    assert left
    assert code == 0, said
    assert_good_end(world, uninterrupted)
