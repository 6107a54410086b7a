"""Who owns the same files, conservatively and without looking at every pair."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

import pytest

from drumline.core.ids import StepId
from drumline.core.ownership import may_meet, overlaps, shared, take_apart
from drumline.core.parallelism import measure_parallelism
from drumline.core.plan import Plan, Step
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


PARTS = ("a", "b", "a.b", "a-", "x.py", "*", "**", "?", "[ab]", "*.py", "a*")


def draw_path(dice: random.Random) -> str:
    """A path of up to four parts, most of them plain, in one of the ways people write it."""
    parts = [dice.choice(PARTS[:5] if dice.random() < 0.8 else PARTS) for _ in range(dice.randint(1, 4))]
    return dice.choice(("", "", "", "./")) + "/".join(parts) + dice.choice(("", "", "", "/"))


@pytest.mark.parametrize("seed", range(4))
def test_the_index_finds_exactly_what_comparing_every_pair_finds(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(500):
        steps = [
            owner(f"s{n}", *(draw_path(dice) for _ in range(dice.randint(0, 4)))) for n in range(dice.randint(1, 6))
        ]

        groups = overlaps(steps)

        by_id = {step.id: step for step in steps}
        found = {frozenset(pair) for group in groups for pair in itertools.combinations(group.steps, 2)}
        expected = {frozenset((a.id, b.id)) for a, b in itertools.combinations(steps, 2) if shared(a, b)}
        assert expected <= found
        assert all(shared(*(by_id[step_id] for step_id in group.steps[:2])) for group in groups)


@pytest.mark.parametrize(
    "files",
    [
        (("src/a/x", "src/a/y"), ("src/b/x", "src/b/y")),
        (("src/a", "lib/b"), ("src/b", "lib/a")),
        (("src/a/x",), ("src/b",)),
        (("src/a/x",), ("src/a-",)),
        (("src/*.py",), ("src/a.js", "src/a/b.py")),
        (("src/a/*.py",), ("src/b/a.py",)),
        (("src/a/",), ("src/b/",)),
        (("x", "x", "./x"), ("y",)),
        ((), ()),
    ],
)
def test_steps_that_only_share_folders_do_not_overlap(files: tuple[tuple[str, ...], ...]) -> None:
    assert overlaps([owner(f"s{n}", *owned) for n, owned in enumerate(files)]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/x", "src/x"),
        ("./src/x", "src/x"),
        ("src", "src/deep/down/x"),
        ("src/", "src/deep/down/x"),
        ("src", "src/deep/*.py"),
        ("src/deep", "src/"),
        ("*.py", "src/deep/x.py"),
        ("src/d*", "src/deep/x.py"),
        ("src/**/x", "src/d*/x"),
    ],
)
def test_two_paths_are_found_among_many_that_meet_nothing(one: str, other: str) -> None:
    bystanders = [owner(f"s{n}", f"lib/m{n}/a", f"docs/m{n}", f"src/m{n}") for n in range(20)]

    found = overlaps([*bystanders[:10], owner("one", one), *bystanders[10:], owner("other", other)])

    assert {"one", "other"} in [set(group.steps[:2]) for group in found]


def compare(times: int, one: Callable[[], object], other: Callable[[], object]) -> float:
    """The best time of `one` over the best time of `other`, measured in turns so that both meet the same noise.

    It is the time of the processor: a scheduler interrupts the longer work more often.
    """

    def once(act: Callable[[], object]) -> float:
        began = time.thread_time()
        act()
        return time.thread_time() - began

    pairs = [(once(one), once(other)) for _ in range(times)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["src/m{step}/f{file}.py", "src/m{step}_f{file}.py"])
def test_looking_for_overlaps_is_linear_in_practice(layout: str) -> None:
    whole = [
        owner(f"s{n}", *(layout.format(step=n, file=k) for k in range(5)), needs=(f"s{n - 1}",) if n % 7 else ())
        for n in range(2_000)
    ]
    quarters = [whole[first : first + 500] for first in range(0, 2_000, 500)]

    ratios = (
        compare(25, lambda: overlaps(whole), lambda: [overlaps(quarter) for quarter in quarters]) for _ in range(4)
    )

    # As long as the four quarters together; a tenth more, and further tries, for the tests beside this one.
    assert any(ratio <= 1.1 for ratio in ratios)


def test_the_profile_counts_only_steps_that_have_another_to_run_beside() -> None:
    steps = [owner("a", "x"), owner("b", "x"), owner("c", "y"), owner("d", "z"), owner("e", alone=True)]

    found = measure_parallelism(steps)

    assert found.eligible == 3
    assert found.mode == "parallel"
    assert [set(o.steps) for o in found.overlaps] == [{"a", "b"}]
