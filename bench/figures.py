"""Figures and how they are taken: the thing and its reference in turns, so that a noisy machine disturbs both alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

MILLISECOND = 1e-3
MICROSECOND = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """What one thing cost in each round, and what its reference cost in the same rounds.

    `target` is how many times the reference it may cost; `least_gain` how many times cheaper than it it must be.
    """

    name: str
    unit: str
    values: Sequence[float]
    reference: str = ""
    references: Sequence[float] = ()
    target: float | None = None
    least_gain: float | None = None
    note: str = ""

    @property
    def ratios(self) -> list[float]:
        """Round by round, how many times the reference it cost."""
        return [value / other for value, other in zip(self.values, self.references, strict=False)]

    @property
    def ratio(self) -> float | None:
        """The median ratio; None without a reference."""
        return median(self.ratios) if self.references else None

    @property
    def gains(self) -> list[float]:
        """Round by round, how many times cheaper than the reference it was."""
        return [1 / ratio for ratio in self.ratios]

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one or without a reference."""
        if self.ratio is None:
            return None
        if self.least_gain is not None:
            return median(self.gains) >= self.least_gain
        return None if self.target is None else self.ratio <= self.target


def clock(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def take_turns(rounds: int, *works: Callable[[], float]) -> list[list[float]]:
    """What each of the works returned in each round; every round runs all of them, in changing order."""
    found: list[list[float]] = [[] for _ in works]
    for number in range(rounds):
        order = list(enumerate(works))
        for place, work in order if number % 2 == 0 else reversed(order):
            found[place].append(work())
    return found


def in_rounds(seconds: Sequence[float], turns: int, unit: float) -> list[float]:
    """The median of each round's turns, in a unit of so many seconds: one slow fsync says nothing about either side."""
    return [median(seconds[first : first + turns]) / unit for first in range(0, len(seconds), turns)]


def spread(values: Sequence[float], digits: int) -> str:
    """The median with its range: `1.23 (1.10..1.40)`."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}..{max(values):.{digits}f})"
