"""A driver's entry on disk: who it is, and a heartbeat that a thread of its own keeps fresh.

The heartbeat is a fixed-width number overwritten in place. It shares nothing with the store, so that a driver frozen
inside a transaction cannot stop the heartbeat of another.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.core.ids import RunId
from drumline.late import import_late
from drumline.processes import locks
from drumline.processes.kill import Identity, identify
from drumline.record import Record

if TYPE_CHECKING:
    import logging
    import threading
else:
    logging = import_late("logging")
    threading = import_late("threading")

LEASE = "lease"
BEAT_WIDTH = 32
BEATS_PER_LEASE = 4


class Lease(Record):
    """What the file says: `beat` is the monotonic clock of the machine when the driver was last seen.

    `seconds` is how long its owner may be silent, in the owner's own words: it beats at a pace that fits them.
    """

    run: RunId
    identity: Identity
    beat: float
    seconds: float


def read_lease(path: Path) -> Lease | None:
    """Read a driver's lease; None if there is none that makes sense."""
    try:
        beat, line = path.read_text(encoding="ascii").splitlines()
        entry = json.loads(line)
        identity = Identity(pid=int(entry["pid"]), start=str(entry["start"]), boot=str(entry["boot"]))
        seconds = float(entry["lease"])
        return Lease(run=RunId(str(entry["run"])), identity=identity, beat=float(beat), seconds=seconds)
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Heartbeat:
    """A lease held by this process, from the moment it is made until it stops."""

    def __init__(self, path: Path, run: RunId, *, lease: float) -> None:
        self._fd = locks.hold(path)
        self._every = lease / BEATS_PER_LEASE
        self._done = threading.Event()
        identity = identify(os.getpid())
        entry = {"pid": identity.pid, "start": identity.start, "boot": identity.boot, "run": run, "lease": lease}
        self._beat()
        os.pwrite(self._fd, json.dumps(entry).encode() + b"\n", BEAT_WIDTH)
        self._thread = threading.Thread(target=self._keep_fresh, name="drumline-heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, then let go of the lock."""
        self._done.set()
        self._thread.join()
        os.close(self._fd)

    def _keep_fresh(self) -> None:
        while not self._done.wait(self._every):
            try:
                self._beat()
            except OSError:
                # One missed beat is not a reason to stop; a disk that stays broken makes us frozen for the others.
                logging.getLogger(__name__).warning("a heartbeat could not be written", exc_info=True)

    def _beat(self) -> None:
        os.pwrite(self._fd, f"{time.monotonic():0{BEAT_WIDTH - 1}.6f}\n".encode(), 0)
