"""Who owns the same files, conservatively and without looking at every pair."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

import pytest

from drumline.core.ids import StepId
from drumline.core.ownership import may_meet, overlaps, shared, take_apart
from drumline.core.plan import Plan, Step
from drumline.core.profile import profile
from drumline.core.validation import validate


def owner(name: str, *files: str, needs: tuple[str, ...] = (), alone: bool = False) -> Step:
    return Step(id=StepId(name), title=name, files=files, needs=tuple(map(StepId, needs)), alone=alone, path="p")


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("a", "a", True),
        ("./a", "a", True),
        ("a", "ab", False),
        ("src", "src/a.py", True),
        ("src/", "src/deep/a.py", True),
        ("src/**", "src/a/b", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/deep/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/*.py", "src/*.js", False),
        ("src/*.py", "src/a*", True),
        ("src/*.py", "src", True),
        ("*.md", "docs/x.md", True),
        ("*.md", "docs/**", True),
        ("a/**", "b/**", False),
        ("src/[ab].py", "src/a.py", True),
        ("src/[!ab].py", "src/a.py", False),
        ("src/?.py", "src/ab.py", False),
    ],
)
def test_two_paths_meet_if_one_file_could_belong_to_both(one: str, other: str, meet: bool) -> None:
    assert may_meet(take_apart(one), take_apart(other)) is meet
    assert may_meet(take_apart(other), take_apart(one)) is meet


def test_steps_in_line_do_not_overlap_and_others_do() -> None:
    steps = [owner("a", "x"), owner("b", "./x", needs=("a",)), owner("c", "x/y")]

    (found,) = overlaps(steps)

    assert set(found.steps) == {"a", "b", "c"}
    assert overlaps(steps[:2]) == []


def test_steps_at_different_depths_overlap_too() -> None:
    steps = [owner("a"), owner("b", "x", needs=("a",)), owner("c", "x")]

    assert [set(found.steps) for found in overlaps(steps)] == [{"b", "c"}]


def test_a_step_that_lists_a_file_twice_does_not_clash_with_itself() -> None:
    assert overlaps([owner("a", "x", "./x", "x")]) == []


def test_ten_thousand_owners_of_one_glob_are_one_finding() -> None:
    steps = [owner(f"s{n}", "src/**") for n in range(10_000)]

    (found,) = overlaps(steps)
    problems = [p for p in validate(Plan(name="p", path="p", steps=tuple(steps))) if p.code == "file_overlap"]

    assert len(found.steps) == 10_000
    assert len(problems) == 1
    assert "9,997 more" in problems[0].message


def test_the_index_finds_exactly_what_comparing_every_pair_finds() -> None:
    dice = random.Random(7)
    paths = [
        "src/",
        "src",
        "src/a",
        "src/*.py",
        "src/**",
        "*.py",
        "src/a/*.py",
        "src/a.py",
        "b/*",
        "**/x.py",
        "b/**/x.py",
    ]
    for _ in range(1_000):
        steps = [owner(f"s{n}", *dice.sample(paths, dice.randint(1, 3))) for n in range(dice.randint(2, 5))]

        found = {frozenset(pair) for group in overlaps(steps) for pair in itertools.combinations(group.steps, 2)}
        expected = {frozenset((a.id, b.id)) for a, b in itertools.combinations(steps, 2) if shared(a, b)}

        assert expected <= found
        assert bool(found) == bool(expected)


def compare(times: int, one: Callable[[], object], other: Callable[[], object]) -> float:
    """The best time of `one` over the best time of `other`, measured in turns so that both meet the same noise."""

    def once(act: Callable[[], object]) -> float:
        began = time.perf_counter()
        act()
        return time.perf_counter() - began

    pairs = [(once(one), once(other)) for _ in range(times)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


def test_looking_for_overlaps_is_linear_in_practice() -> None:
    def plan_of(count: int) -> list[Step]:
        return [
            owner(f"s{n}", *(f"src/m{n}/f{k}.py" for k in range(5)), needs=(f"s{n - 1}",) if n % 7 else ())
            for n in range(count)
        ]

    small, large = plan_of(500), plan_of(2_000)
    ratio = compare(9, lambda: overlaps(large), lambda: overlaps(small))

    assert ratio <= 4 * 1.5  # four times the steps; half as much again for noise


def test_the_profile_counts_only_steps_that_have_another_to_run_beside() -> None:
    steps = [owner("a", "x"), owner("b", "x"), owner("c", "y"), owner("d", "z"), owner("e", alone=True)]

    found = profile(steps)

    assert found.eligible == 2
    assert found.mode == "sequential"
    assert [set(o.steps) for o in found.overlaps] == [{"a", "b"}]
