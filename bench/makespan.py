"""How long a plan takes beside what it must take: the longest path, or the work divided by the slots.

And beside the same plan with barriers, in which a step waits for all that are less deep. Agents sleep at least 30 times
what a landing costs, which is measured first, so that only the scheduler and the queue are left to waste time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median

from bench.figures import Figure, take_turns
from bench.planruns import Task, drive, read_journal, write_project
from drumline.core.events import AttemptEnded, StepLanded
from drumline.record import replace

SLOTS = 4
TIMES = 30.0
"""How many times the cost of a landing a step takes at least."""
LEAST = 5.0
"""Seconds of the shortest step."""
TARGET, BARRIERS = 1.05, 1.15
BACK = 8
"""How many steps before it a step may need."""


def measure_makespan(folder: Path, *, plans: int, steps: int) -> list[Figure]:
    """Seconds that plans with disjoint files take, beside their bounds and beside barriers."""
    cost = measure_landing(folder / "landing")
    least = max(LEAST, TIMES * cost)
    side, bounds, barriers = list[float](), list[float](), list[float]()
    for seed in range(plans):
        tasks = make_tasks(seed, steps, least)
        bounds.append(find_bound(tasks))
        works = [partial(_drive, folder / f"{seed}-{kind}", made) for kind, made in _pair(tasks)]
        (one,), (other,) = take_turns(1, *works)
        side.append(one)
        barriers.append(other)
    note = f"a landing costs {cost:.2f} s, a step {least:.1f} to {3 * least:.1f} s"
    name = f"plans of {steps} steps with disjoint files, {SLOTS} slots, mean"
    return [
        Figure(
            name=name,
            unit="s",
            values=[mean(side)],
            reference="longest path, or work / slots",
            references=[mean(side) / mean(a / b for a, b in zip(side, bounds, strict=True))],
            target=TARGET,
            note=note,
        ),
        Figure(
            name=name,
            unit="s",
            values=side,
            reference="the same with barriers",
            references=barriers,
            least_gain=BARRIERS,
            note=note,
        ),
    ]


def measure_landing(folder: Path) -> float:
    """Seconds from the end of a step's agent to its landing, with all slots taken."""
    top = write_project(folder / "repo", [Task(name=f"step-{n}", seconds=2 + 0.5 * n) for n in range(2 * SLOTS)])
    drive(top, jobs=SLOTS, check_jobs=SLOTS)
    ended: dict[str, float] = {}
    costs = []
    for entry in read_journal(top):
        if isinstance(entry.event, AttemptEnded):
            ended[entry.stream.step] = entry.at
        if isinstance(entry.event, StepLanded):
            costs.append(entry.at - ended[entry.stream.step])
    return median(costs)


def make_tasks(seed: int, count: int, least: float) -> list[Task]:
    """A random plan: steps take `least` to three times that, and need up to two of those shortly before them."""
    dice = random.Random(seed)
    tasks: list[Task] = []
    for number in range(count):
        before = [task.name for task in tasks[-BACK:]]
        wanted = dice.choice([0, 1, 1, 2]) if number >= SLOTS else 0
        needs = tuple(sorted(dice.sample(before, min(wanted, len(before)))))
        tasks.append(Task(name=f"step-{number}", seconds=round(dice.uniform(least, 3 * least), 2), needs=needs))
    return tasks


def add_barriers(tasks: Sequence[Task]) -> list[Task]:
    """The same steps, each of which needs all those of the wave before its own."""
    depths: dict[str, int] = {}
    for task in tasks:
        depths[task.name] = 1 + max((depths[need] for need in task.needs), default=-1)
    waves = {depth: tuple(name for name in depths if depths[name] == depth) for depth in depths.values()}
    return [replace(task, needs=waves.get(depths[task.name] - 1, ())) for task in tasks]


def find_bound(tasks: Sequence[Task]) -> float:
    """What no scheduler is faster than: the longest path, or the work divided by the slots."""
    paths: dict[str, float] = {}
    for task in tasks:
        paths[task.name] = task.seconds + max((paths[need] for need in task.needs), default=0.0)
    return max(max(paths.values()), sum(task.seconds for task in tasks) / SLOTS)


def _pair(tasks: Sequence[Task]) -> list[tuple[str, Sequence[Task]]]:
    return [("side", tasks), ("waves", add_barriers(tasks))]


def _drive(folder: Path, tasks: Sequence[Task]) -> float:
    return drive(write_project(folder / "repo", tasks), jobs=SLOTS, check_jobs=SLOTS)
