"""A roster in memory, on which drivers die and freeze when a test says so."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from drumline.core.ids import DriverId, RunId
from drumline.ports.roster import Standing


class FakeRoster:
    """One object shared by all drivers of a test; what happens to a driver is told by `die` and `freeze`."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._runs: dict[DriverId, RunId] = {}
        self._standings: dict[DriverId, Standing] = {}
        self.stuck: set[DriverId] = set()
        """Drivers of which something runs on that cannot be ended."""

    def join(self, run: RunId) -> DriverId:
        """Enter a new driver for a run."""
        driver = DriverId(f"d-{next(self._numbers)}")
        self._runs[driver] = run
        self._standings[driver] = Standing.LIVE
        return driver

    def leave(self, driver: DriverId) -> None:
        """Take the driver off."""
        self._standings.pop(driver, None)

    def standing(self, driver: DriverId) -> Standing:
        """How the driver is now; one nobody knows is dead."""
        return self._standings.get(driver, Standing.DEAD)

    def drivers(self, run: RunId) -> Sequence[DriverId]:
        """Drivers of the run that are not dead."""
        return [
            d for d, standing in self._standings.items() if self._runs.get(d) == run and standing is not Standing.DEAD
        ]

    def evict(self, driver: DriverId) -> bool:
        """Take a dead or frozen driver off; False for a live one."""
        if self.standing(driver) is Standing.LIVE or driver in self.stuck:
            return False
        self.leave(driver)
        return True

    def is_alone(self, driver: DriverId) -> bool:
        """Whether nothing that the driver started runs any more; nothing ever does here."""
        return True

    def clear_dead(self) -> None:
        """Take off every dead driver."""
        for driver in [d for d, standing in self._standings.items() if standing is Standing.DEAD]:
            self.leave(driver)

    def die(self, driver: DriverId) -> None:
        """Let the driver's process end as if by `kill -9`."""
        self._standings[driver] = Standing.DEAD

    def freeze(self, driver: DriverId) -> None:
        """Let the driver's process stop as if by SIGSTOP for longer than its lease."""
        self._standings[driver] = Standing.FROZEN
