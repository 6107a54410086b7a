"""Checks that agents must not know: which of them count, and what is told of them."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, run_started, step_of

from drumline.core.baseline import list_counting
from drumline.core.events import CheckEnded
from drumline.core.heldout import HIDDEN, SHOWN, is_named, leave_out_names, name_held_out
from drumline.core.ids import Tree
from drumline.core.orders import Orders, orders_for
from drumline.core.plan import Check
from drumline.core.prompt import write_feedback
from drumline.core.testids import Difference
from drumline.record import replace

OWN, CONFIGURED = Check(command="own"), Check(command="shared", source="config")
SECRET, SEEN = name_held_out(["/h/a b.sh"], hidden=True)[0], name_held_out(["/h/a b.sh"], hidden=False)[0]


@pytest.mark.parametrize(
    ("checks", "counting"),
    [
        ((OWN, CONFIGURED, SECRET), [0, 2]),
        ((CONFIGURED, SECRET), [0, 1]),
        ((SECRET,), [0]),
        ((OWN, CONFIGURED, SEEN), [0]),
        ((CONFIGURED, SEEN), [0]),
        ((SEEN,), []),
    ],
)
def test_what_is_held_out_counts_unless_an_agent_could_read_it(checks: tuple[Check, ...], counting: list[int]) -> None:
    assert list_counting(checks) == counting


def orders_with(agent: str, *, jailed: tuple[str, ...] = ("command",), steps: int = 1) -> Orders:
    planned = [step_of(name) for name in "abc"[:steps]]
    started = replace(run_started(), agent=agent, held_out=("/h/a b.sh",), jailed=jailed)
    return orders_for(Scene(steps=planned, started=started).run(), planned[0])


@pytest.mark.parametrize(
    ("agent", "jailed", "source"),
    [("command:x", ("command",), HIDDEN), ("scripted:x", ("command",), SHOWN), ("command:x", (), SHOWN)],
)
def test_it_is_hidden_only_from_agents_in_a_jail(agent: str, jailed: tuple[str, ...], source: str) -> None:
    orders = orders_with(agent, jailed=jailed)

    assert (orders.checks[-1].command, orders.checks[-1].source) == ("held-out check 1", source)
    assert orders.spell(len(orders.checks) - 1) == "'/h/a b.sh'"


def test_a_step_is_the_last_if_no_other_is_left() -> None:
    assert orders_with("command:x").last
    assert not orders_with("command:x", steps=2).last


def test_an_agent_hears_only_that_one_failed() -> None:
    tree = Tree("t")
    ended = CheckEnded(check=1, command="held-out check 1", tree=tree, tree_after=tree, exit_code=1, output="secret")

    told = write_feedback([ended])

    assert "not shown to you" in told
    assert "secret" not in told
    assert "check 1" not in told


def test_a_command_that_only_looks_like_one_is_a_command() -> None:
    assert [is_named(text) for text in ("held-out check 12", "held-out check 1; ls", "make test")] == [
        True,
        False,
        False,
    ]


def test_lost_tests_of_it_are_counted_and_not_named() -> None:
    lost = Difference(lost=("test_a", "test_b"), lost_total=3, broken=("test_c",), broken_total=1)

    told = leave_out_names(lost)

    assert told == Difference(lost_total=3, broken_total=1)
    assert [lost.tell_lost(), told.tell_lost()] == ["test_a, test_b and 1 more", "3 of them"]
