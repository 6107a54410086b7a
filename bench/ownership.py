"""Looking for steps that own the same files: four times the steps may take four times as long.

The large plan is measured against the plans that its quarters are, so that both sides walk over the same memory and
take about as long; time is that of the processor, because a scheduler interrupts the longer work more often.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.figures import MILLISECOND, Figure, take_turns
from drumline.core.ids import StepId
from drumline.core.ownership import overlaps
from drumline.core.plan import Step

SMALL, LARGE = 500, 2_000
FILES = 5
TURNS = 25
LINEAR = LARGE / SMALL
NOISE = 0.05
"""By how much the ratio of two equal works differs from round to round on a machine that does something else, too."""
OWN, COMMON = "src/m{step}/f{file}.py", "src/m{step}_f{file}.py"


def measure_ownership(folder: Path, *, rounds: int) -> list[Figure]:
    """Milliseconds for the larger plan against the smaller: with a folder for each step, and with one for all."""
    return [
        _measure_layout("a folder for each", OWN, rounds),
        _measure_layout("one folder for all", COMMON, rounds),
    ]


def make_steps(count: int, layout: str) -> list[Step]:
    """Steps in chains of seven that own five files each, none of them shared."""
    return [
        Step(
            id=StepId(f"s{n}"),
            title=f"Step {n}",
            needs=(StepId(f"s{n - 1}"),) if n % 7 else (),
            files=tuple(layout.format(step=n, file=k) for k in range(FILES)),
        )
        for n in range(count)
    ]


def _measure_layout(name: str, layout: str, rounds: int) -> Figure:
    whole = make_steps(LARGE, layout)
    quarters = [whole[first : first + SMALL] for first in range(0, LARGE, SMALL)]
    works = [partial(_per_plan, [whole]), partial(_per_plan, quarters)]
    best = [[min(times) for times in take_turns(TURNS, *works)] for _ in range(rounds)]
    return Figure(
        name=f"overlaps of {LARGE:,} steps, {name}",
        unit="ms",
        values=[large for large, _ in best],
        reference=f"of {SMALL} steps",
        references=[small for _, small in best],
        target=LINEAR * (1 + NOISE),
        note=f"linear is {LINEAR:g}, {NOISE:.0%} are noise",
    )


def _per_plan(plans: Sequence[Sequence[Step]]) -> float:
    """Milliseconds of the processor for one of the plans."""
    began = time.thread_time()
    for steps in plans:
        overlaps(steps)
    return (time.thread_time() - began) / len(plans) / MILLISECOND
