"""The shape of a plan: order, cycles, depths and ranks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core import graph
from drumline.core.ids import StepId
from drumline.core.plan import Step


def steps(**needs: str) -> list[Step]:
    return [
        Step(id=StepId(step_id), title=step_id, needs=tuple(StepId(n) for n in listed.split()))
        for step_id, listed in needs.items()
    ]


@st.composite
def acyclic(draw: st.DrawFn) -> list[Step]:
    made: list[Step] = []
    for number in range(draw(st.integers(0, 12))):
        needs = draw(st.sets(st.sampled_from(made), max_size=3)) if made else set()
        made.append(Step(id=StepId(f"s{number}"), title="", needs=tuple(sorted(n.id for n in needs))))
    return draw(st.permutations(made))


def test_dependents_are_in_plan_order_and_unknown_needs_are_left_out() -> None:
    assert graph.dependents(steps(a="", c="a a", b="a x")) == {"a": ["c", "b"], "c": [], "b": []}


@given(acyclic())
def test_needs_come_before_the_steps_that_need_them(plan: list[Step]) -> None:
    order = graph.topological(plan)

    place = {step_id: number for number, step_id in enumerate(order)}

    assert len(order) == len(plan)
    assert all(place[need] < place[step.id] for step in plan for need in step.needs)


def test_equals_keep_the_order_of_the_plan() -> None:
    assert graph.topological(steps(z="", b="", a="z b")) == ["z", "b", "a"]


def test_steps_behind_a_cycle_are_not_ordered() -> None:
    assert graph.topological(steps(a="", b="c", c="b", d="c")) == ["a"]


@pytest.mark.parametrize(
    "plan", [steps(a="a"), steps(a="b", b="a"), steps(r="", d="c", a="c", b="a", c="b"), steps(e="d", d="c", c="d")]
)
def test_a_cycle_is_a_closed_walk_along_needs(plan: list[Step]) -> None:
    by_id = {step.id: step for step in plan}

    found = graph.cycle(plan)

    assert found[0] == found[-1]
    assert len(set(found)) == len(found) - 1
    assert all(before in by_id[after].needs for before, after in itertools.pairwise(found))


@given(acyclic())
def test_a_plan_without_a_cycle_has_none(plan: list[Step]) -> None:
    assert graph.cycle(plan) == []


@given(acyclic())
def test_a_step_is_one_deeper_than_its_deepest_need(plan: list[Step]) -> None:
    depth = graph.depths(plan)

    assert all(depth[s.id] == max((depth[n] + 1 for n in s.needs), default=0) for s in plan)


@given(acyclic())
def test_the_critical_path_is_a_chain_as_long_as_the_highest_rank(plan: list[Step]) -> None:
    by_id = {step.id: step for step in plan}

    path = graph.critical_path(plan)

    assert len(path) == max(graph.ranks(plan).values(), default=0)
    assert all(before in by_id[after].needs for before, after in itertools.pairwise(path))
