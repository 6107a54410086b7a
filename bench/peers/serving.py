"""The side of the other engine: one line of JSON on stdin asks for one measurement, one on stdout answers it.

Between two questions it does nothing, so that everybody's turns can alternate. Runs on the peers' packages alone.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

CHAIN = 15
"""Nodes of the chain that is walked."""
FULL = 2
"""What `PRAGMA synchronous` answers when every commit waits for the disk."""

Walk = Callable[[int], object]
"""One walk of the chain; it is given a number that no other walk has."""


def serve(works: Mapping[str, Walk], *, packages: tuple[str, ...], note: str) -> None:
    """Introduce ourselves, then measure what is asked for until stdin ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed must not look like an answer
    about = {"versions": {name: version(name) for name in packages}, "note": note}
    print(json.dumps(about), file=answers)
    first = 0
    for line in sys.stdin:
        asked = json.loads(line)
        seconds = _clock(works[asked["work"]], first, asked["walks"])
        first += asked["walks"]
        print(json.dumps({"seconds": seconds / (asked["walks"] * CHAIN)}), file=answers)


def _clock(walk: Walk, first: int, walks: int) -> float:
    began = time.perf_counter()
    for number in range(first, first + walks):
        walk(number)
    return time.perf_counter() - began


def create_database(path: Path) -> sqlite3.Connection:
    """A new file in WAL mode, whose commits return once they are on the disk."""
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    check_durability(connection)
    return connection


def check_durability(connection: sqlite3.Connection) -> None:
    """AssertionError unless this connection writes a WAL and waits for the disk at every commit."""
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
    if (mode, synchronous) != ("wal", FULL):
        raise AssertionError(f"journal_mode is {mode!r} and synchronous {synchronous!r}; measured are 'wal' and {FULL}")
