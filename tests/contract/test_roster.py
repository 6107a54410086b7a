"""What every implementation of the roster port promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from drumline.core.ids import DriverId, RunId
from drumline.ports.roster import Roster, Standing
from drumline.processes import census
from drumline.processes.roster import FileRoster
from drumline.testing.roster import FakeRoster

RUN = RunId("run-1")
OTHER_RUN = RunId("run-2")
LEASE = 3.0
DEADLINE = 30.0

DRIVER = """
import sys, time
from pathlib import Path
from drumline.core.ids import RunId
from drumline.processes.roster import FileRoster

roster = FileRoster(Path(sys.argv[1]), lease=float(sys.argv[2]))
print(roster.join(RunId(sys.argv[3])), flush=True)
sys.stdin.read()
"""


class Machine(Protocol):
    """A roster, and other processes that drive, die and freeze."""

    roster: Roster

    def start_driver(self, run: RunId) -> DriverId: ...

    def die(self, driver: DriverId) -> None: ...

    def freeze(self, driver: DriverId) -> None: ...

    def close(self) -> None: ...


class FakeMachine:
    def __init__(self) -> None:
        self.fake = FakeRoster()
        self.roster: Roster = self.fake

    def start_driver(self, run: RunId) -> DriverId:
        return self.fake.join(run)

    def die(self, driver: DriverId) -> None:
        self.fake.die(driver)

    def freeze(self, driver: DriverId) -> None:
        self.fake.freeze(driver)

    def close(self) -> None:
        return


class RealMachine:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.roster: Roster = FileRoster(root, lease=LEASE)
        self.children: dict[DriverId, subprocess.Popen[str]] = {}

    def start_driver(self, run: RunId) -> DriverId:
        argv = [sys.executable, "-c", DRIVER, str(self.root), str(LEASE), run]
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        driver = DriverId(child.stdout.readline().strip())
        self.children[driver] = child
        return driver

    def die(self, driver: DriverId) -> None:
        self.children[driver].kill()
        self.children[driver].wait()

    def freeze(self, driver: DriverId) -> None:
        os.kill(self.children[driver].pid, signal.SIGSTOP)
        deadline = time.monotonic() + DEADLINE
        while self.roster.standing(driver) is Standing.LIVE and time.monotonic() < deadline:
            time.sleep(0.02)

    def close(self) -> None:
        for driver in (*self.roster.drivers(RUN), *self.roster.drivers(OTHER_RUN)):
            self.roster.leave(driver)
        for child in self.children.values():
            child.kill()
            child.communicate()


@pytest.fixture(params=["fake", "files"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    machine: Machine = FakeMachine() if request.param == "fake" else RealMachine(tmp_path / "drivers")
    yield machine
    machine.close()


def test_a_driver_that_joined_is_live_until_it_leaves(machine: Machine) -> None:
    driver = machine.roster.join(RUN)
    joined = machine.roster.standing(driver)

    machine.roster.leave(driver)

    assert joined is Standing.LIVE
    assert machine.roster.standing(driver) is Standing.DEAD
    assert machine.roster.drivers(RUN) == []


@pytest.mark.parametrize("name", ["nobody", "", "../escape"])
def test_a_driver_nobody_knows_is_dead_and_needs_no_eviction(machine: Machine, name: str) -> None:
    assert machine.roster.standing(DriverId(name)) is Standing.DEAD
    assert machine.roster.evict(DriverId(name))


def test_the_drivers_of_a_run_are_those_that_joined_it_and_live(machine: Machine) -> None:
    ours = machine.roster.join(RUN)
    theirs = machine.start_driver(RUN)
    machine.roster.join(OTHER_RUN)
    dead = machine.start_driver(RUN)
    machine.die(dead)

    listed = machine.roster.drivers(RUN)

    assert sorted(listed) == sorted([ours, theirs])


def test_two_drivers_of_one_process_have_names_of_their_own(machine: Machine) -> None:
    first, second = machine.roster.join(RUN), machine.roster.join(RUN)

    machine.roster.leave(first)

    assert first != second
    assert machine.roster.standing(second) is Standing.LIVE


def test_a_live_driver_cannot_be_evicted(machine: Machine) -> None:
    ours, theirs = machine.roster.join(RUN), machine.start_driver(RUN)

    assert not machine.roster.evict(ours)
    assert not machine.roster.evict(theirs)
    assert machine.roster.standing(theirs) is Standing.LIVE


def test_a_driver_whose_process_was_killed_is_dead_at_once_and_can_be_evicted(machine: Machine) -> None:
    driver = machine.start_driver(RUN)
    machine.die(driver)

    standing = machine.roster.standing(driver)

    assert standing is Standing.DEAD
    assert machine.roster.evict(driver)
    assert machine.roster.evict(driver)


def test_a_driver_that_does_not_move_any_more_is_frozen_and_dead_once_evicted(machine: Machine) -> None:
    driver = machine.start_driver(RUN)
    machine.freeze(driver)
    standing = machine.roster.standing(driver)
    listed = machine.roster.drivers(RUN)

    evicted = machine.roster.evict(driver)

    assert standing is Standing.FROZEN
    assert listed == [driver]
    assert evicted
    assert machine.roster.standing(driver) is Standing.DEAD
    assert machine.roster.drivers(RUN) == []


def test_leaving_twice_is_harmless(machine: Machine) -> None:
    driver = machine.roster.join(RUN)

    machine.roster.leave(driver)
    machine.roster.leave(driver)

    assert machine.roster.standing(driver) is Standing.DEAD


@pytest.mark.parametrize(("mark", "found"), [("{0}/7", RUN), ("", None), ("d-2-bb/7", None), ("{0}0/7", None)])
def test_what_a_live_driver_has_started_is_known_by_its_mark(tmp_path: Path, mark: str, found: RunId | None) -> None:
    roster = FileRoster(tmp_path, lease=LEASE)
    driver = roster.join(RUN)

    known = roster.find_around(mark.format(driver), os.getpid())
    roster.leave(driver)
    later = roster.find_around(mark.format(driver), os.getpid())

    assert (known, later) == (found, None)


ASK = """
import os, resource, sys
from pathlib import Path
from drumline.processes.inherited import number_mark
from drumline.processes.roster import FileRoster

resource.setrlimit(resource.RLIMIT_RTTIME, (number_mark(sys.argv[2]),) * 2)
print(FileRoster(Path(sys.argv[1])).find_around("", os.getpid()))
"""


@pytest.mark.skipif(not census.LINUX, reason="the limit that is inherited is Linux's")
def test_what_a_driver_started_is_known_by_its_limits_also_once_the_driver_is_dead(tmp_path: Path) -> None:
    machine = RealMachine(tmp_path)
    driver = machine.start_driver(RUN)

    def ask(mark: str) -> str:
        command = [sys.executable, "-c", ASK, str(tmp_path), mark]
        return subprocess.run(command, check=True, capture_output=True, text=True, env={}).stdout.strip()

    alive = ask(f"{driver}/7")
    machine.die(driver)

    assert (alive, ask(f"{driver}/7"), ask("d-2-bb/7")) == (RUN, RUN, "None")
    machine.close()


def test_dead_drivers_are_taken_off_and_live_ones_stay(machine: Machine) -> None:
    live, dead = machine.start_driver(RUN), machine.start_driver(RUN)
    machine.die(dead)

    machine.roster.clear_dead()

    assert machine.roster.drivers(RUN) == [live]
    assert machine.roster.standing(live) is Standing.LIVE
