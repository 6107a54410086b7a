"""A durable node transition against a raw SQLite append with the same pragmas, index and number of bytes."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from bench.figures import MILLISECOND, Figure, in_rounds, take_turns
from bench.idle import CHECKS, RUN, begin_run, claim_walks, idle_flows, idle_run, idle_step, idle_tools, walk_together
from drumline.core import codec
from drumline.core.ids import Stream
from drumline.core.plan import Plan, Step
from drumline.core.runfold import fold_run
from drumline.ports.journal import Addition
from drumline.store.sqlite import SqliteStore

TRANSITIONS = CHECKS + 5
"""Appends of one walk of `idle_step`: prepare, attempt, checks, comparison, land, finish."""
CHAINS = 8
WARM = 300
TURNS = 40
"""Times that each side gets its turn in one round."""

_TABLE = """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        run TEXT NOT NULL, step TEXT NOT NULL, version INTEGER NOT NULL,
        kind TEXT NOT NULL, v INTEGER NOT NULL, at REAL NOT NULL, body TEXT,
        UNIQUE (run, step, version)
    )
"""
_INSERT = "INSERT INTO events (run, step, version, kind, v, at, body) VALUES ('bench', ?, ?, 'Event', 1, 1.5, ?)"


class Raw:
    """A table like the journal's in a file beside it, written row by row."""

    def __init__(self, path: Path, size: int) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(_TABLE)
        self.size = size
        self._body = "x" * size
        self._numbers = count()

    def append(self, times: int) -> float:
        """Seconds for one append, over this many."""
        began = time.perf_counter()
        for _ in range(times):
            self._add()
        return (time.perf_counter() - began) / times

    def _add(self) -> None:
        step, version = divmod(next(self._numbers), TRANSITIONS)
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(_INSERT, (f"step-{step}", version, self._body))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


class Chains:
    """Steps that walk through their transitions on a real store."""

    def __init__(self, path: Path) -> None:
        self._store = SqliteStore.open(path)
        self._numbers = count(1)
        self._steps = 0
        self._tools, self._flows = idle_tools(), idle_flows()
        plan = Plan(name="bench", path="plans/bench", title="Bench")
        self._run = idle_run(plan)
        self._begun = self._read = self._run.version
        self._loop = asyncio.Runner()
        self._loop.run(self._begin(plan))

    async def _begin(self, plan: Plan) -> None:
        await self._store.append({Stream(RUN): Addition(events=begin_run(plan))})

    def walk(self, steps: int, *, at_once: int) -> float:
        """Seconds for one transition while `at_once` steps walk in one loop, over this many steps."""
        self._steps += steps
        chosen = [idle_step(next(self._numbers)) for _ in range(steps)]
        self._run.plan = self._run.plan.with_steps(chosen)  # nothing is recorded about a step that the run has not got
        return self._loop.run(self._walk(chosen, at_once)) / (steps * TRANSITIONS)

    async def _walk(self, steps: Sequence[Step], at_once: int) -> float:
        spent = 0.0
        for first in range(0, len(steps), at_once):
            group = steps[first : first + at_once]
            before = self._store.commits
            walks = claim_walks(self._store, self._run, group, tools=self._tools, flows=self._flows)
            claims = self._store.commits - before
            began = time.perf_counter()
            if at_once == 1:
                await walks[0][0].go(walks[0][1])
            else:
                await walk_together(walks)
            spent += time.perf_counter() - began
            if at_once == 1 and self._store.commits - before - claims != TRANSITIONS:
                raise AssertionError(
                    f"a walk has {self._store.commits - before - claims} transitions, not {TRANSITIONS}"
                )
            for walk, _ in walks:
                self._store.release(RUN, walk.step, walk.token)
            self._fold()
        return spent

    def _fold(self) -> None:
        """Fold in what the run's stream has since, as a driver does before it claims again."""
        recorded = self._store.read(Stream(RUN), after=self._read)
        fold_run(self._run, [entry.event for entry in recorded])
        self._read += len(recorded)

    def size(self) -> int:
        """How many bytes of bodies one transition wrote, on average over all walks so far."""
        bodies = [codec.encode(recorded.event) for recorded in self._store.tail(RUN)][self._begun :]
        return round(sum(map(len, bodies)) / (self._steps * TRANSITIONS))

    def close(self) -> None:
        """Let go of the file."""
        self._loop.close()
        self._store.close()


def measure_transitions(folder: Path, *, rounds: int) -> list[Figure]:
    """One chain, and eight in one loop, each against the raw append of as many bytes."""
    chains = Chains(folder / "journal.db")
    chains.walk(WARM // TRANSITIONS, at_once=1)
    raw = Raw(folder / "raw.db", chains.size())
    raw.append(WARM)
    try:
        one, reference, eight = take_turns(
            rounds * TURNS,
            lambda: chains.walk(1, at_once=1),
            lambda: raw.append(TRANSITIONS),
            lambda: chains.walk(CHAINS, at_once=CHAINS),
        )
    finally:
        chains.close()
        raw.close()
    against = f"raw append of {raw.size} bytes"
    return [
        _figure("durable node transition", one, reference, against=against, target=1.5),
        _figure(f"the same, {CHAINS} chains in one loop", eight, reference, against=against, target=1.0),
    ]


def _figure(name: str, values: Sequence[float], references: Sequence[float], *, against: str, target: float) -> Figure:
    return Figure(
        name=name,
        unit="ms",
        values=in_rounds(values, TURNS, MILLISECOND),
        reference=against,
        references=in_rounds(references, TURNS, MILLISECOND),
        target=target,
    )
