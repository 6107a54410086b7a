"""Ending processes that are not our children: only the very one that is meant, or those that carry a mark of ours."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable

from drumline.processes import census
from drumline.record import Record

SWEEP_WAIT = 5.0


class Identity(Record):
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    start: str
    boot: str

    def is_running(self) -> bool:
        """Whether this very process is still there."""
        return self.boot == census.read_boot() and self.start != "" and census.read_start(self.pid) == self.start


def identify(pid: int) -> Identity:
    """The identity of a running process."""
    return Identity(pid=pid, start=census.read_start(pid), boot=census.read_boot())


def kill_exactly(identity: Identity) -> bool:
    """Kill this very process and no later one; False if it is not there, is ours, or may not be killed."""
    if identity.pid == os.getpid():
        return False
    try:
        if hasattr(os, "pidfd_open"):
            return _kill_by_descriptor(identity)
        if not identity.is_running():
            return False
        os.kill(identity.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_tree(identity: Identity) -> bool:
    """Kill this very process and everything below it; False if it is not there or may not be killed."""
    if not identity.is_running():
        return False
    # Stopped first and looked for again, so that none is missed because it was forked meanwhile.
    _send(signal.SIGSTOP, [identity.pid, *census.descendants(identity.pid)])
    _send(signal.SIGKILL, census.descendants(identity.pid))
    return kill_exactly(identity)


def sweep(mark: str) -> list[int]:
    """Kill every process of ours started under this mark, or under any mark of this driver; return their pids."""
    if not mark:
        return []
    swept: set[int] = set()
    deadline = time.monotonic() + SWEEP_WAIT
    while found := census.marked(mark):
        swept.update(found)
        # All stopped before the first dies, so that none can start another meanwhile.
        _send(signal.SIGSTOP, found)
        _send(signal.SIGKILL, found)
        if time.monotonic() >= deadline:
            break
        time.sleep(0.005)
    return sorted(swept)


def _kill_by_descriptor(identity: Identity) -> bool:
    descriptor = os.pidfd_open(identity.pid)
    try:
        # Checked after opening: from here on the number cannot come to mean another process.
        if not identity.is_running():
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    finally:
        os.close(descriptor)
    return True


def _send(number: int, pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
