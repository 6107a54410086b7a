"""How parallel a plan is found to be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Step
from drumline.core.profile import profile, profile_json


def steps(**needs: str) -> list[Step]:
    return [
        Step(id=StepId(step_id), title=step_id, needs=tuple(StepId(n) for n in listed.split()))
        for step_id, listed in needs.items()
    ]


def test_a_diamond_has_three_batches_and_a_width_of_two() -> None:
    found = profile(steps(a="", b="a", c="a", d="b c"))

    assert found.batches == (("a",), ("b", "c"), ("d",))
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
def test_parallel_is_recommended_when_more_than_half_can_share_a_batch(plan: list[Step], mode: str) -> None:
    assert profile(plan).mode == mode


def test_the_critical_path_follows_estimates_rather_than_counts() -> None:
    long = Step(id=StepId("long"), title="long", estimate=10.0)

    found = profile([*steps(a="", b="a"), long])

    assert found.critical_path == ("long",)
    assert found.cost == 10.0


def test_steps_on_a_cycle_are_counted_but_not_placed() -> None:
    found = profile(steps(root="", a="b", b="a", c="root a"))

    assert found.total == 4
    assert found.batches == (("root",),)


def test_the_profile_prints_as_json() -> None:
    found = json.loads(json.dumps(profile_json(profile(steps(a="", b="")))))

    assert found["batches"] == [["a", "b"]]
    assert found["mode"] == "parallel"
    assert "2 of 2" in found["reason"]


def test_steps_that_share_files_or_run_alone_are_not_free_in_their_batch() -> None:
    one, two, three, four, five = steps(a="", b="", c="", d="", e="")

    found = profile(
        [replace(one, files=("src/**",)), replace(two, files=("src/x.py",)), replace(three, alone=True), four, five]
    )

    assert (found.width, found.eligible, found.mode) == (5, 2, "sequential")
    assert found.reason == "2 of 5 steps are free to run side by side: not more than half"
