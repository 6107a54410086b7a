"""The drivers of this machine, one folder each. A lock that is held is the only proof of life, a free one of death.

    <root>/<driver>/lease    locked while the driver lives; heartbeat and identity
    <root>/<driver>/sup-<n>  locked while one of its supervisors, or anything that it has to end, lives

A folder is filled and locked under another name first, so that nobody ever sees a living driver unlocked.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.core.ids import DriverId, RunId
from drumline.errors import DrumlineError, InvalidInput
from drumline.late import import_late
from drumline.ports.roster import Standing
from drumline.processes import census, locks
from drumline.processes.kill import Identity, kill_exactly, kill_tree, sweep
from drumline.processes.lease import LEASE, Heartbeat, read_lease

if TYPE_CHECKING:
    import secrets
    import shutil
else:
    secrets = import_late("secrets")
    shutil = import_late("shutil")

DRIVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
NAME_TRIES = 20
DRIVER_WAIT = 10.0
SUPERVISOR_WAIT = 5.0


class FileRoster:
    """Drivers entered under `root`; one whose heartbeat is older than the lease it joined with counts as frozen."""

    def __init__(self, root: Path, *, lease: float = 30.0) -> None:
        self._root = root
        self._lease = lease
        self._ours: dict[DriverId, Heartbeat] = {}

    def join(self, run: RunId) -> DriverId:
        """Enter a new driver for a run and keep its lease fresh until it leaves or dies."""
        self._root.mkdir(parents=True, exist_ok=True)
        for _ in range(NAME_TRIES):
            driver = DriverId(f"d-{os.getpid()}-{secrets.token_hex(2)}")
            if self._enter(driver, run):
                return driver
        raise DrumlineError(
            f"no free name for a driver was found in {str(self._root)!r} after {NAME_TRIES} tries",
            hint="drumline doctor",
        )

    def leave(self, driver: DriverId) -> None:
        """Take the driver off; its lock is free afterwards."""
        heartbeat = self._ours.pop(driver, None)
        if heartbeat is None:
            return
        home = self.home(driver)
        # With a supervisor still at work the folder has to stay: whoever takes over must wait for it.
        if not any(locks.is_held(path) for path in home.glob("sup-*")):
            shutil.rmtree(home, ignore_errors=True)
        heartbeat.stop()

    def standing(self, driver: DriverId) -> Standing:
        """How the driver is now; one nobody knows is dead."""
        if not DRIVER_NAME.fullmatch(driver):
            return Standing.DEAD
        path = self.home(driver) / LEASE
        if not locks.is_held(path):
            return Standing.DEAD
        lease = read_lease(path)
        # A held lock whose beat cannot be compared with our clock proves life, but not that it goes on.
        if lease is None or lease.identity.boot != census.read_boot():
            return Standing.FROZEN
        return Standing.LIVE if time.monotonic() - lease.beat < lease.seconds else Standing.FROZEN

    def drivers(self, run: RunId) -> Sequence[DriverId]:
        """Drivers of the run that are not dead."""
        found: list[DriverId] = []
        for driver in self.entered():
            lease = read_lease(self._root / driver / LEASE)
            if lease is not None and lease.run == run and self.standing(driver) is not Standing.DEAD:
                found.append(driver)
        return found

    def find_around(self, mark: str, pid: int) -> RunId | None:
        """The run whose driver has started this process: by its mark, by a supervisor above it, or by its limits.

        An environment can be cleaned, and counts only while the driver is not dead. Who is above a process, and on
        Linux the limit that it inherited, stay with it whatever it executes: they count also once it has killed its
        driver.
        """
        above = set(census.ancestors(pid))
        for driver in self.entered():
            lease = read_lease(self._root / driver / LEASE)
            if lease is None:
                continue
            found = [_read_supervisor(path) for path in (self._root / driver).glob("sup-*")]
            is_above = any(one is not None and one.pid in above and one.is_running() for one in found)
            named = mark.partition("/")[0] == driver and self.standing(driver) is not Standing.DEAD
            if is_above or named or census.inherits(pid, driver):
                return lease.run
        return None

    def evict(self, driver: DriverId) -> bool:
        """Make sure that neither a dead or frozen driver nor anything it started can act any more; blocks for seconds.

        Safe to be called by several at once: each step only ends what is left, and names are never used again.
        """
        if not DRIVER_NAME.fullmatch(driver):
            return True
        standing = self.standing(driver)
        if standing is Standing.LIVE:
            return False
        home = self.home(driver)
        if standing is Standing.FROZEN and not _kill_driver(home / LEASE):
            return False
        if not _end_supervisors(home):
            return False
        # What lost its supervisor earlier, for example to the kernel when memory ran out, has only its mark.
        sweep(driver)
        if census.marked(driver):
            return False
        shutil.rmtree(home, ignore_errors=True)
        return True

    def evict_frozen(self) -> None:
        """End every frozen driver, whichever run it is of: one frozen inside a transaction blocks all writers."""
        for driver in self.entered():
            if self.standing(driver) is Standing.FROZEN:
                self.evict(driver)

    def is_alone(self, driver: DriverId) -> bool:
        """Whether nothing that the driver started runs any more."""
        return not census.marked(driver)

    def clear_dead(self) -> None:
        """Take off every dead driver that has left a folder, also one that died while it entered."""
        for driver in self.entered():
            if driver.startswith("."):
                self._clear_hidden(driver)
            elif self.standing(driver) is Standing.DEAD:
                self.evict(driver)

    def _clear_hidden(self, name: str) -> None:
        """Remove a folder that was not entered yet, if the process that its name tells is gone."""
        found = re.fullmatch(r"\.d-(\d+)-[0-9a-f]+", name)
        if found and not census.read_start(int(found[1])):
            shutil.rmtree(self._root / name, ignore_errors=True)

    def home(self, driver: DriverId) -> Path:
        """The driver's own folder, also for the lock files of its supervisors."""
        if not DRIVER_NAME.fullmatch(driver):
            raise InvalidInput(
                f"{driver!r} is not the name of a driver (letters, digits, '-' and '_')", hint="drumline status"
            )
        return self._root / driver

    def find_home(self, driver: DriverId) -> Path:
        """The folder of an entry, also of one whose name is not a driver's: it died while it entered."""
        return self._root / driver

    def entered(self) -> list[DriverId]:
        """Every driver that has a folder, dead ones included."""
        if not self._root.is_dir():
            return []
        return [DriverId(name) for name in sorted(entry.name for entry in self._root.iterdir())]

    def _enter(self, driver: DriverId, run: RunId) -> bool:
        home = self.home(driver)
        hidden = self._root / f".{driver}"
        try:
            hidden.mkdir()
        except FileExistsError:
            return False
        try:
            heartbeat = Heartbeat(hidden / LEASE, run, lease=self._lease)
        except OSError:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        try:
            hidden.rename(home)
        except OSError:
            heartbeat.stop()
            shutil.rmtree(hidden, ignore_errors=True)
            if not home.exists():
                raise
            return False
        self._ours[driver] = heartbeat
        return True


def _kill_driver(path: Path) -> bool:
    """Kill the frozen holder of a lease and wait until its lock is free."""
    lease = read_lease(path)
    if lease is not None:
        kill_exactly(lease.identity)
    # Whether the kill was ours or another's does not matter: the lock tells.
    return locks.wait_free(path, time.monotonic() + (DRIVER_WAIT if lease is not None else 0))


def _end_supervisors(home: Path) -> bool:
    """Wait for the supervisors, which end with their driver; kill those that are frozen themselves."""
    deadline = time.monotonic() + SUPERVISOR_WAIT
    stuck = [path for path in home.glob("sup-*") if not locks.wait_free(path, deadline)]
    for path in stuck:
        identity = _read_supervisor(path)
        if identity is not None:
            kill_tree(identity)
    deadline = time.monotonic() + SUPERVISOR_WAIT
    return all(locks.wait_free(path, deadline) for path in stuck)


def _read_supervisor(path: Path) -> Identity | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        entry = json.loads(path.read_text(encoding="ascii"))
        return Identity(pid=int(entry["pid"]), start=str(entry["start"]), boot=str(entry["boot"]))
    return None
