"""Deciding what a run does next: one look at a plan of 10,000 steps takes less than 5 ms, whatever its shape.

The plan is half done, as its files say; time is that of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import MILLISECOND, Figure
from drumline.core import events as ev
from drumline.core.decide import decide
from drumline.core.ids import Commit, RunId, StepId
from drumline.core.plan import Marks, Status, Step
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode, StepEnd

STEPS = 10_000
SLOTS = 4
TURNS = 20
LIMIT = 5.0
SHAPES: dict[str, Callable[[int], int]] = {"side by side": lambda n: -1, "in a row": lambda n: n - 1}


def measure_deciding(folder: Path, *, rounds: int) -> list[Figure]:
    """Milliseconds of one decision, beside the limit."""
    return [_measure_shape(name, before, rounds) for name, before in SHAPES.items()]


def _measure_shape(name: str, before: Callable[[int], int], rounds: int) -> Figure:
    run = _make_run(before)
    marks = {s.id: Marks(status=Status.DONE if s.id in run.finished else Status.READY) for s in run.plan.steps}
    around = Surroundings(claimed=frozenset(), marks=marks, now=0.0, stale_after=3600.0, claim_times={})
    values = [min(_decide(run, around) for _ in range(TURNS)) for _ in range(rounds)]
    return Figure(
        name=f"a decision, {STEPS:,} steps {name}",
        unit="ms",
        values=values,
        reference="the limit",
        references=[LIMIT] * rounds,
        target=1.0,
        note="best of 20 in each round",
    )


def _decide(run: RunState, around: Surroundings) -> float:
    began = time.process_time()
    decide(run, around, slots=SLOTS)
    return (time.process_time() - began) / MILLISECOND


def _make_run(before: Callable[[int], int]) -> RunState:
    """A run in parallel mode whose first half is done."""
    names = [StepId(f"s{n}") for n in range(STEPS)]
    steps = tuple(
        Step(
            id=name,
            title=name,
            needs=(names[before(n)],) if before(n) >= 0 else (),
            files=(f"src/m{n}.py",),
            path=f"plan/{name}.md",
        )
        for n, name in enumerate(names)
    )
    commit = Commit("0" * 40)
    started = ev.RunStarted(
        plan="plan",
        plan_name="plan",
        plan_digest="",
        branch="drumline/plan",
        base=commit,
        agent="scripted:x",
        mode=Mode.PARALLEL,
        autonomy="critical",
        retries=2,
    )
    pinned = ev.PlanPinned(format="dag", title="plan", steps=steps, digests={}, marks={}, inherited=())
    over = [
        event
        for name in names[: STEPS // 2]
        for event in (ev.StepStarted(step=name), ev.StepFinished(step=name, state=StepEnd.DONE, commit=commit))
    ]
    return fold_run(RunState(id=RunId("r")), [started, pinned, *over])
