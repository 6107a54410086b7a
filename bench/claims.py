"""Claims per second while eight processes contend for the steps of one run."""

from __future__ import annotations

import multiprocessing
import time
from itertools import count
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from bench.figures import Figure, take_turns
from bench.idle import RUN
from drumline.core.ids import DriverId, StepId
from drumline.store.sqlite import SqliteStore

PROCESSES = 8
PATIENCE = 120.0


def measure_claims(folder: Path, *, rounds: int, steps: int) -> list[Figure]:
    """Every process tries every step, in the same order; each step is claimed once."""
    stores = (folder / f"claims-{number}.db" for number in count())
    contended, alone = take_turns(
        rounds,
        lambda: _contend(next(stores), PROCESSES, steps),
        lambda: _contend(next(stores), 1, steps),
    )
    return [
        Figure(
            name=f"claims, {PROCESSES} processes contending",
            unit="/s",
            values=contended,
            reference="the same, one process",
            references=alone,
        )
    ]


def _contend(path: Path, processes: int, steps: int) -> float:
    """Claims per second, from the moment all are ready until the last is through."""
    SqliteStore.open(path).close()
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(processes + 1)
    results: Queue[int] = context.Queue()
    workers = [
        context.Process(target=_claim_all, args=(path, f"driver-{number}", steps, start, results))
        for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    start.wait(PATIENCE)
    began = time.perf_counter()
    taken = sum(results.get(timeout=PATIENCE) for _ in workers)
    seconds = time.perf_counter() - began
    for worker in workers:
        worker.join(PATIENCE)
    if taken != steps:
        raise AssertionError(f"{taken} claims were given out for {steps} steps")
    return steps / seconds


def _claim_all(path: Path, driver: str, steps: int, start: Barrier, results: Queue[int]) -> None:
    store = SqliteStore.open(path)
    start.wait(PATIENCE)
    tokens = [store.take(RUN, StepId(f"step-{number}"), DriverId(driver)) for number in range(steps)]
    results.put(sum(token is not None for token in tokens))
    store.close()
