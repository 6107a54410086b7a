"""The kernel's limits around a command. The rule: what a command may reach is said here in full, as paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from drumline.ports.processes import Job
from drumline.record import Record, field


class Bounds(Record):
    """What a jailed command can reach beside what every jail shows; everything else it can only read, or not see.

    It writes to `writable`, but not to `sealed`, even where a folder around one is writable. Where it looks for a key
    of `places`, it finds the value, and writes there. `readable` stays visible where a jail shows an empty folder, for
    example below `/tmp`. A hidden path that is writable or readable here is lent on purpose and is visible. Not shown
    either is what `hidden` names, unless it lies in what the command writes to.
    """

    writable: Sequence[Path] = ()
    sealed: Sequence[Path] = ()
    places: Mapping[Path, Path] = field(default_factory=dict)
    readable: Sequence[Path] = ()
    hidden: Sequence[Path] = ()


class Wrapper(Protocol):
    """A jail that works on this machine."""

    def wrap(self, job: Job, bounds: Bounds) -> Job:
        """The job, held within the bounds."""
        ...
