"""Reading and validating plans of growing size: the cost of one step must not grow with the plan."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.figures import Figure, clock, take_turns
from bench.plans import make_repository, read_plan, write_plan

SIZES = (100, 1_000, 10_000)
TARGET = 1.5


def measure_validation(folder: Path, *, rounds: int, sizes: tuple[int, ...] = SIZES) -> list[Figure]:
    """Milliseconds per step for each size; the largest against the one before it."""
    repos = [make_repository(folder / f"plan-{size}") for size in sizes]
    for repo, size in zip(repos, sizes, strict=True):
        write_plan(repo, size)
    works = [partial(_per_step, repo, size) for repo, size in zip(repos, sizes, strict=True)]
    found = take_turns(rounds, *works)
    figures = [
        Figure(name=f"validate {size:,} steps, per step", unit="ms", values=values)
        for size, values in zip(sizes[:-1], found[:-1], strict=True)
    ]
    largest = Figure(
        name=f"validate {sizes[-1]:,} steps, per step",
        unit="ms",
        values=found[-1],
        reference=f"with {sizes[-2]:,} steps",
        references=found[-2],
        target=TARGET,
    )
    return [*figures, largest]


def _per_step(repo: Path, size: int) -> float:
    """Milliseconds per step of one full reading; a plan with problems would not be a fair measure."""

    def read() -> None:
        reading = read_plan(repo)
        if len(reading.plan.steps) != size or reading.errors:
            raise AssertionError(f"the plan of {size} steps was not read cleanly: {reading.problems[:3]}")

    return clock(read) / size * 1000
