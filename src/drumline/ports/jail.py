"""The kernel's limits around a command. The rule: what a command may reach is said here in full, as paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from drumline.ports.processes import Ended, Job
from drumline.record import Record, field


class Bounds(Record):
    """What a jailed command can reach beside what every jail shows; everything else it can only read, or not see.

    It writes to `writable`, but not to `sealed`, even where a folder around one is writable. Where it looks for a key
    of `places`, it finds the value, and writes there. So it does with `layers`, which are copies of which nothing is
    kept: what is hidden stays hidden in them. `readable` stays visible where a jail shows an empty folder, for example
    below `/tmp`. A hidden path that is writable or readable here is granted on purpose and is visible. Not shown either
    is what `hidden` names, unless it lies in what the command writes to. Where it looks for a key of `provided`, it
    finds the value, and can only read it.
    """

    writable: Sequence[Path] = ()
    sealed: Sequence[Path] = ()
    places: Mapping[Path, Path] = field(default_factory=dict)
    layers: Mapping[Path, Path] = field(default_factory=dict)
    readable: Sequence[Path] = ()
    hidden: Sequence[Path] = ()
    provided: Mapping[Path, Path] = field(default_factory=dict)


class Wrapper(Protocol):
    """A jail that works on this machine."""

    def wrap(self, job: Job, bounds: Bounds) -> Job:
        """The job, held within the bounds."""
        ...


class Outside(Record):
    """The person's checkout, whose code is not the one that is judged; what is `granted` of it may be loaded."""

    checkout: Path
    granted: Sequence[Path] = ()


class Hold(Protocol):
    """How checks are held."""

    def hold(self, job: Job, *, scratch: Path, shown: Sequence[Path] = ()) -> AbstractContextManager[Job]:
        """The job as it may run, until the block is left; it writes to `scratch`, too, and can read what is `shown`."""
        ...

    def strip(self, job: Job) -> Job:
        """The job without ways by which code of the person's checkout is found."""
        ...

    def find_outside(self, folder: Path) -> Outside | None:
        """The checkout, if a job in this folder is not to load code of it; None if it is what is judged there."""
        ...

    def was_killed(self, ended: Ended) -> bool:
        """Whether a job that was held did not end by itself."""
        ...

    def links(self) -> bool:
        """Whether a job finds what is provided in place of what is empty; else it has to be copied."""
        ...


class NoHold:
    """Nothing is held."""

    @contextmanager
    def hold(self, job: Job, *, scratch: Path, shown: Sequence[Path] = ()) -> Iterator[Job]:
        """The job as it is."""
        yield job

    def strip(self, job: Job) -> Job:
        """The job as it is."""
        return job

    def find_outside(self, folder: Path) -> Outside | None:
        """Nobody knows a checkout."""
        return None

    def was_killed(self, ended: Ended) -> bool:
        """Whether it says so."""
        return ended.killed

    def links(self) -> bool:
        """Nothing is shown that is not there."""
        return False


NO_HOLD = NoHold()
