"""How fast steps land that are ready together: with eight slots, against one after the other.

Checks sleep for a second; agents only write a file. Nothing is compared with the base: only landings are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

from bench.figures import Figure, take_turns
from bench.planruns import Task, drive, read_journal, write_project
from drumline.core.events import StepClaimed, StepLanded
from drumline.core.ids import StepId
from drumline.core.recorded import Recorded
from drumline.views.landings import Landings, measure_landings

SLOTS = 8
CHECK = 1.0
"""Seconds that a check sleeps."""
EVERY = 10
"""Every how manyth step passes alone and fails together with the one before it."""
TARGET, WITH_BAD = 3.0, 2.0


def measure_throughput(folder: Path, *, steps: int, rounds: int) -> list[Figure]:
    """Seconds until all steps have landed and how they came to, with all candidates good and with one bad in ten."""
    return [
        *_measure(folder / "good", make_tasks(steps, bad=False), rounds, name="good candidates", least=TARGET),
        *_measure(folder / "bad", make_tasks(steps, bad=True), rounds, name="10 % bad candidates", least=WITH_BAD),
    ]


def make_tasks(steps: int, *, bad: bool) -> list[Task]:
    """Steps that need nothing; the agent of a bad one puts it right when it is asked again."""
    tasks = []
    for number in range(steps):
        own = f"sleep {CHECK:g}; test -f part-step-{number}.txt"
        clash = f"test ! -f part-step-{number - 1}.txt -o -f joined-{number}.txt"
        is_bad = bad and number % EVERY == EVERY // 2
        check = f"{own} && {clash}" if is_bad else own
        again = f"touch joined-{number}.txt" if is_bad else ""
        tasks.append(Task(name=f"step-{number}", seconds=0.0, check=check, again=again, compared=False))
    return tasks


def _time_landings(journal: Sequence[Recorded]) -> float:
    """Seconds from the first claim to the last landing: what checks the whole at the end is not counted."""
    claimed = min(entry.at for entry in journal if isinstance(entry.event, StepClaimed))
    return max(entry.at for entry in journal if isinstance(entry.event, StepLanded)) - claimed


def _count_landings(journal: Sequence[Recorded]) -> Landings:
    """What `drumline report` says about them."""
    streams: dict[StepId, list[Recorded]] = {}
    for entry in journal:
        if entry.stream.step:
            streams.setdefault(entry.stream.step, []).append(entry)
    return measure_landings([entry for entry in journal if not entry.stream.step], streams)


def _measure(folder: Path, tasks: list[Task], rounds: int, *, name: str, least: float) -> list[Figure]:
    numbers = count()
    counted: list[Landings] = []

    def run(mode: str, slots: int) -> float:
        top = write_project(folder / f"{next(numbers)}" / "repo", tasks)
        drive(top, jobs=slots, check_jobs=slots, mode=mode)
        journal = read_journal(top)
        counted.extend([_count_landings(journal)] if slots == SLOTS else [])
        return _time_landings(journal)

    side, alone = take_turns(rounds, partial(run, "parallel", SLOTS), partial(run, "sequential", 1))
    whole = Figure(
        name=f"{len(tasks)} steps land with {SLOTS} slots, {name}",
        unit="s",
        values=side,
        reference="one after the other",
        references=alone,
        least_gain=least,
        note=f"checks sleep {CHECK:g} s",
    )
    return [whole, *_list_figures(counted, name)]


def _list_figures(counted: Sequence[Landings], name: str) -> list[Figure]:
    """How the steps of the runs with all slots came to land; none of it has a target."""
    return [
        Figure(name=f"wait to land, p50, {name}", unit="s", values=[one.wait_p50 or 0.0 for one in counted]),
        Figure(name=f"wait to land, p95, {name}", unit="s", values=[one.wait_p95 or 0.0 for one in counted]),
        Figure(
            name=f"check runs per landed step, {name}",
            unit="",
            values=[one.check_runs_per_step or 0.0 for one in counted],
        ),
        Figure(name=f"innocent evictions, {name}", unit="", values=[float(one.innocent_evictions) for one in counted]),
    ]
