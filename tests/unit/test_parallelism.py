"""How parallel a plan is found to be."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from drumline.core.ids import StepId
from drumline.core.ownership import shared
from drumline.core.parallelism import measure_parallelism, parallelism_json
from drumline.core.plan import Step
from drumline.record import replace


def steps(**needs: str) -> list[Step]:
    return [
        Step(id=StepId(step_id), title=step_id, needs=tuple(StepId(n) for n in listed.split()))
        for step_id, listed in needs.items()
    ]


def test_a_diamond_has_three_waves_and_a_width_of_two() -> None:
    found = measure_parallelism(steps(a="", b="a", c="a", d="b c"))

    assert found.waves == (("a",), ("b", "c"), ("d",))
    assert (found.total, found.depths, found.width, found.eligible) == (4, 3, 2, 2)
    assert found.critical_path[0] == "a"
    assert found.critical_path[-1] == "d"
    assert found.cost == 3.0


@pytest.mark.parametrize(
    ("plan", "mode"),
    [
        (steps(), "sequential"),
        (steps(a=""), "sequential"),
        (steps(a="", b="a"), "sequential"),
        (steps(a="", b="a", c="a", d="b c"), "sequential"),
        (steps(a="", b="a", c="a"), "parallel"),
        (steps(a="", b=""), "parallel"),
    ],
)
def test_parallel_is_recommended_to_maestro_when_more_than_half_can_share_a_batch(plan: list[Step], mode: str) -> None:
    assert measure_parallelism(plan, "maestro").mode == mode


@pytest.mark.parametrize("format", ["dag", "phased", "implement", "waves", "speckit", "superpowers"])
def test_parallel_is_recommended_for_every_other_format_when_two_steps_can_share_a_batch(format: str) -> None:
    diamond, chain = steps(a="", b="a", c="a", d="b c"), steps(a="", b="a", c="b")

    assert [measure_parallelism(plan, format).mode for plan in (diamond, chain)] == ["parallel", "sequential"]


def test_the_critical_path_follows_estimates_rather_than_counts() -> None:
    long = Step(id=StepId("long"), title="long", estimate=10.0)

    found = measure_parallelism([*steps(a="", b="a"), long])

    assert found.critical_path == ("long",)
    assert found.cost == 10.0


def test_steps_on_a_cycle_are_counted_but_not_placed() -> None:
    found = measure_parallelism(steps(root="", a="b", b="a", c="root a"))

    assert found.total == 4
    assert found.waves == (("root",),)


def test_the_profile_prints_as_json() -> None:
    found = json.loads(json.dumps(parallelism_json(measure_parallelism(steps(a="", b="")))))

    assert found["waves"] == [["a", "b"]]
    assert found["mode"] == "parallel"
    assert "2 of 2" in found["reason"]


def owners(*files: str, alone: tuple[int, ...] = ()) -> list[Step]:
    """Steps without needs, each with one path; "" for none."""
    return [
        Step(id=StepId(f"s{n}"), title=f"s{n}", files=(path,) if path else (), alone=n in alone)
        for n, path in enumerate(files)
    ]


@pytest.mark.parametrize(
    ("plan", "eligible", "mode"),
    [
        (owners("a", "a"), 0, "sequential"),
        (owners("a", "a", "a", "a"), 0, "sequential"),
        (owners("a", "a", "b", "b"), 2, "sequential"),
        (owners("a", "a", "b", "b", "c"), 3, "parallel"),
        (owners("src/**", "src/x", "src/y"), 2, "parallel"),
        (owners("src/x", "src/y", "src/**"), 2, "parallel"),
        (owners("src/**", "src/x", "", "", "", alone=(2,)), 3, "parallel"),
        (owners("a", "a", "", alone=(2,)), 0, "sequential"),
        (owners("", "", alone=(0, 1)), 0, "sequential"),
    ],
)
def test_of_steps_that_share_files_one_is_free_and_loners_never_are(plan: list[Step], eligible: int, mode: str) -> None:
    found = measure_parallelism(plan, "maestro")

    assert (found.eligible, found.mode) == (eligible, mode)


def test_the_reason_says_how_many_steps_are_free() -> None:
    found = measure_parallelism(owners("src/**", "src/x", "", "", alone=(2, 3)) + steps(a="", b="a"), "maestro")

    assert found.reason == "2 of 6 steps are free to run side by side: not more than half"


def test_the_free_steps_of_a_batch_share_nothing_and_no_other_could_join_them() -> None:
    dice = random.Random(5)
    paths = ["a", "b", "c", "d", "src/x", "src/y", "src/", "*.py", "src/z.py"]
    for _ in range(300):
        plan = [
            replace(step, files=tuple(dice.sample(paths, dice.randint(0, 2))))
            for step in owners(*[""] * dice.randint(1, 7))
        ]

        found = measure_parallelism(plan).eligible

        sizes = {len(group) for group in groups_side_by_side(plan)}
        assert found in sizes if found else 1 in sizes


def groups_side_by_side(plan: list[Step]) -> list[tuple[Step, ...]]:
    """Every group of steps without a shared file that no further step could join."""
    free = [
        group
        for size in range(1, len(plan) + 1)
        for group in itertools.combinations(plan, size)
        if not any(shared(one, other) for one, other in itertools.combinations(group, 2))
    ]
    return [
        group for group in free if all(step in group or any(shared(step, member) for member in group) for step in plan)
    ]
