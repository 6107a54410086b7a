"""Drivers that freeze or die with work in hand: after an eviction nothing of them can act any more."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drumline.core.ids import DriverId, RunId
from drumline.ports.roster import Standing
from drumline.processes import census, locks, roster
from drumline.processes.kill import identify
from drumline.processes.lease import BEAT_WIDTH
from drumline.processes.roster import FileRoster

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

RUN = RunId("run-1")
LEASE = 1.0
DEADLINE = 30.0

DRIVER = """
import sqlite3, sys
from pathlib import Path
import anyio
from drumline.core.ids import RunId
from drumline.ports.processes import Job
from drumline.processes.roster import FileRoster
from drumline.processes.supervised import SupervisedProcesses

folder = Path(sys.argv[1])
roster = FileRoster(folder / "drivers", lease=float(sys.argv[2]))
driver = roster.join(RunId("run-1"))
store = sqlite3.connect(folder / "store.db", isolation_level=None)
store.execute("PRAGMA journal_mode=WAL")
store.execute("CREATE TABLE notes (text)")
store.execute("BEGIN IMMEDIATE")
store.execute("INSERT INTO notes VALUES ('never committed')")
print(driver, flush=True)
agent = "setsid bash -c 'while :; do echo more >> work; sleep 0.01; done' & echo $$ > agent; wait"
job = Job(argv=("bash", "-c", agent), cwd=folder, log=folder / "job.log")
anyio.run(SupervisedProcesses(roster.home(driver), driver).run, job)
"""


class Driver:
    """A driver in a process of its own, in the middle of a transaction and with an agent that keeps writing."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.child = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(folder), str(LEASE)], stdout=subprocess.PIPE, text=True
        )
        assert self.child.stdout is not None
        self.name = DriverId(self.child.stdout.readline().strip())
        assert wait_until(lambda: self.work.exists() and self.work.stat().st_size > 0)
        entry = json.loads((folder / "drivers" / self.name / "sup-1").read_text())
        self.supervisor = int(entry["pid"])

    def freeze(self) -> None:
        os.kill(self.child.pid, signal.SIGSTOP)

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()


def wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def grows(path: Path) -> bool:
    """Whether anybody still appends, watched for many times the writer's pause."""
    before = path.stat().st_size
    time.sleep(0.3)
    return path.stat().st_size > before


@pytest.fixture
def drivers(tmp_path: Path) -> FileRoster:
    return FileRoster(tmp_path / "drivers", lease=LEASE)


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(tmp_path)
    yield driver
    driver.child.kill()
    driver.child.communicate()
    assert wait_until(lambda: census.marked(driver.name) == [])


def test_a_frozen_driver_is_killed_with_the_agent_that_keeps_writing(drivers: FileRoster, driver: Driver) -> None:
    driver.freeze()
    frozen = wait_until(lambda: drivers.standing(driver.name) is Standing.FROZEN)
    still_writing = grows(driver.work)

    evicted = drivers.evict(driver.name)

    assert frozen
    assert still_writing
    assert evicted
    assert not grows(driver.work)
    assert census.marked(driver.name) == []
    assert drivers.standing(driver.name) is Standing.DEAD
    assert driver.child.wait(DEADLINE) == -signal.SIGKILL
    assert not drivers.home(driver.name).exists()


def test_a_driver_is_judged_by_its_own_lease_not_by_that_of_whoever_looks(tmp_path: Path) -> None:
    patient = FileRoster(tmp_path / "drivers", lease=3_600.0)
    hasty = FileRoster(tmp_path / "drivers", lease=1e-9)
    driver = patient.join(RUN)

    standing = hasty.standing(driver)

    patient.leave(driver)
    assert standing is Standing.LIVE


def test_a_driver_frozen_in_a_transaction_blocks_the_store_only_until_it_is_evicted(
    tmp_path: Path, drivers: FileRoster, driver: Driver
) -> None:
    driver.freeze()
    wait_until(lambda: drivers.standing(driver.name) is Standing.FROZEN)
    store = sqlite3.connect(tmp_path / "store.db", timeout=0.1, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        store.execute("INSERT INTO notes VALUES ('too early')")

    evicted = drivers.evict(driver.name)

    store.execute("INSERT INTO notes VALUES ('after')")
    rows = store.execute("SELECT text FROM notes").fetchall()
    store.close()
    assert evicted
    assert rows == [("after",)]


def test_a_killed_driver_is_dead_at_once_and_its_agent_with_it(drivers: FileRoster, driver: Driver) -> None:
    driver.kill()
    standing = drivers.standing(driver.name)

    evicted = drivers.evict(driver.name)

    assert standing is Standing.DEAD
    assert evicted
    assert not grows(driver.work)
    assert census.marked(driver.name) == []


def test_a_supervisor_that_is_frozen_itself_is_killed_with_its_family(
    drivers: FileRoster, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "SUPERVISOR_WAIT", 1.0)
    os.kill(driver.supervisor, signal.SIGSTOP)
    driver.kill()
    still_writing = grows(driver.work)

    evicted = drivers.evict(driver.name)

    assert still_writing
    assert evicted
    assert not grows(driver.work)
    assert census.marked(driver.name) == []


def test_an_agent_whose_driver_and_supervisor_are_gone_is_found_by_its_mark(
    drivers: FileRoster, driver: Driver
) -> None:
    driver.freeze()  # so that it cannot clean up after its supervisor
    os.kill(driver.supervisor, signal.SIGKILL)
    driver.kill()
    still_writing = grows(driver.work)

    evicted = drivers.evict(driver.name)

    assert still_writing
    assert evicted
    assert not grows(driver.work)


def test_several_may_evict_the_same_driver_at_the_same_time(drivers: FileRoster, driver: Driver) -> None:
    driver.freeze()
    wait_until(lambda: drivers.standing(driver.name) is Standing.FROZEN)
    verdicts: list[bool] = []
    evictors = [threading.Thread(target=lambda: verdicts.append(drivers.evict(driver.name))) for _ in range(4)]

    for evictor in evictors:
        evictor.start()
    for evictor in evictors:
        evictor.join()

    assert verdicts == [True] * 4
    assert not grows(driver.work)


@pytest.mark.parametrize("wrong", ["start", "boot"])
def test_a_process_that_only_has_the_number_of_a_frozen_driver_is_spared(
    drivers: FileRoster, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr(roster, "DRIVER_WAIT", 0.2)
    bystander = subprocess.Popen(["sleep", "1000"])
    identity = identify(bystander.pid)
    entry = {"pid": identity.pid, "start": identity.start, "boot": identity.boot, "run": RUN, wrong: "another"}
    home = drivers.home(DriverId("d-forged"))
    home.mkdir(parents=True)
    lock = locks.hold(home / "lease")
    os.pwrite(lock, f"{0:0{BEAT_WIDTH - 1}.6f}\n{json.dumps(entry)}\n".encode(), 0)

    standing = drivers.standing(DriverId("d-forged"))
    evicted = drivers.evict(DriverId("d-forged"))

    spared = bystander.poll() is None
    bystander.kill()
    bystander.wait()
    os.close(lock)
    assert standing is Standing.FROZEN
    assert not evicted
    assert spared


def test_a_folder_stays_while_a_supervisor_of_a_driver_that_left_is_at_work(drivers: FileRoster) -> None:
    driver = drivers.join(RUN)
    lock = locks.hold(drivers.home(driver) / "sup-1")

    drivers.leave(driver)

    kept = drivers.home(driver).exists()
    os.close(lock)
    assert kept
    assert drivers.standing(driver) is Standing.DEAD
    assert drivers.evict(driver)
    assert not drivers.home(driver).exists()


def test_an_eviction_fails_while_a_supervisor_holds_its_lock(
    drivers: FileRoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "SUPERVISOR_WAIT", 0.1)
    dead = DriverId("d-dead")
    drivers.home(dead).mkdir(parents=True)
    lock = locks.hold(drivers.home(dead) / "sup-1")

    while_held = drivers.evict(dead)
    os.close(lock)
    afterwards = drivers.evict(dead)

    assert not while_held
    assert afterwards


def test_a_driver_whose_lease_cannot_be_written_leaves_no_folder(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from drumline.processes.roster import FileRoster; "
        "FileRoster(Path(sys.argv[1])).join('run-1')"
    )
    limited = 'ulimit -f 0; exec "$@"'  # no file may grow, as on a disk that is full

    ended = subprocess.run(
        ["bash", "-c", limited, "-", sys.executable, "-c", program, str(tmp_path / "drivers")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "File too large" in ended.stderr
    assert list((tmp_path / "drivers").iterdir()) == []


def test_the_folders_of_dead_drivers_are_removed(tmp_path: Path, drivers: FileRoster) -> None:
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True, text=True
    )
    for name in (f"d-{gone.stdout.strip()}-beef", f".d-{gone.stdout.strip()}-beef", f".d-{os.getpid()}-beef"):
        (tmp_path / "drivers" / name).mkdir(parents=True)

    drivers.clear_dead()

    assert [path.name for path in (tmp_path / "drivers").iterdir()] == [f".d-{os.getpid()}-beef"]
