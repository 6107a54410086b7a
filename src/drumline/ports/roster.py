"""Which drivers are alive, by proof and not by guess."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from drumline.core.ids import DriverId, RunId


class Standing(Enum):
    """Live: its lease is fresh. Dead: its lock is free. Frozen: the lock is held but the lease ran out."""

    LIVE = "live"
    DEAD = "dead"
    FROZEN = "frozen"


class Roster(Protocol):
    """The drivers of this machine."""

    def join(self, run: RunId) -> DriverId:
        """Enter a new driver for a run and keep its lease fresh until it leaves or dies."""
        ...

    def leave(self, driver: DriverId) -> None:
        """Take the driver off; its lock is free afterwards."""
        ...

    def standing(self, driver: DriverId) -> Standing:
        """How the driver is now; one nobody knows is dead."""
        ...

    def drivers(self, run: RunId) -> Sequence[DriverId]:
        """Drivers of the run that are not dead."""
        ...

    def evict(self, driver: DriverId) -> bool:
        """Make sure that neither a dead or frozen driver nor anything it started can act any more.

        Kills a frozen process (identity checked) and waits for its supervisors. False if that could not be achieved
        or the driver is live: then its claims must not be taken.
        """
        ...

    def is_alone(self, driver: DriverId) -> bool:
        """Whether nothing that the driver started runs any more."""
        ...

    def clear_dead(self) -> None:
        """Take off every dead driver of this machine that has left an entry; blocks for seconds at most."""
        ...
