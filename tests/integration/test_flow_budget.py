"""The money of a run that walks a flow: once it is spent a person is asked, and no death changes the answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.test_flow_agents import AgentHarness, Reply, agent, drive_answering, logging, note
from tests.unit.flows import script

from drumline.core.flow.model import Flow
from drumline.ports.agents import Assignment
from drumline.ports.agents import Outcome as Concluded
from drumline.ports.journal import Message

APPENDS = 10


def charging(dollars: float, *, asks: bool = False) -> Reply:
    """An agent that takes money for every attempt, and may ask before it is done."""

    def reply(assignment: Assignment) -> Concluded:
        if asks and "The answer:" not in assignment.prompt:
            return Concluded(question="Which?", usage={"cost_usd": dollars})
        return Concluded(message="done", usage={"cost_usd": dollars})

    return reply


def in_a_row() -> Flow:
    """Two agents, and a script that costs nothing."""
    return logging(agent("one", "two"), agent("two", "last"), script("last", "end"))


def make_harness(
    folder: Path, *, budget: float | None = 5.0, dollars: float = 5.0, main: Flow | None = None
) -> AgentHarness:
    """A run with a budget and an agent with a price."""
    flows = {"main": main or in_a_row()}
    return AgentHarness(folder=folder, flows=flows, act=note, replies={"ann": charging(dollars)}, budget=budget)


def test_once_the_money_is_spent_a_person_is_asked_before_more_is(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)

    run = harness.drive()

    assert run.parked
    gates = [(gate.opened.gate, gate.opened.question, gate.opened.options) for gate in run.open_gates]
    assert gates == [("budget-1", "The run has spent $5.00 of the $5.00 it may. Proceed anyway?", ("yes", "no"))]
    assert [given.node for _, given in harness.given] == ["one"]


def test_a_yes_allows_as_much_again_and_is_told_to_the_agent(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, dollars=6.0)
    harness.drive()
    harness.send(Message(kind="answer", subject="budget-1", value="yes"))

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert [(given.node, given.budget) for _, given in harness.given] == [("one", 5.0), ("two", 5.0)]


def test_one_yes_is_enough_however_much_was_spent(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, budget=1.0, dollars=3.0)

    run = drive_answering(harness, "yes")

    assert run.ended is not None
    assert list(run.gates) == ["budget-1"]
    assert [gate.opened.spent for gate in run.gates.values()] == [3.0]


def test_after_a_no_nothing_that_costs_money_begins(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    harness.drive()
    harness.send(Message(kind="answer", subject="budget-1", value="no"))

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "blocked"
    assert "the budget is spent; a person said not to proceed" in run.ended.reason
    assert len(harness.given) == 1


def test_without_a_budget_nobody_is_asked(tmp_path: Path) -> None:
    run = make_harness(tmp_path, budget=None, dollars=1_000.0).drive()

    assert run.ended is not None
    assert not run.gates


def test_agents_side_by_side_wait_for_one_answer(tmp_path: Path) -> None:
    main = logging(
        agent("first", "fan"),
        script("fan", "left right"),
        agent("left", "join"),
        agent("right", "join"),
        script("join", "end"),
    )
    harness = make_harness(tmp_path, main=main)

    run = drive_answering(harness, "yes")

    assert run.ended is not None
    assert list(run.gates) == ["budget-1"]
    assert [given.node for _, given in harness.given] == ["first", "left", "right"]


def test_what_a_called_flow_spends_counts(tmp_path: Path) -> None:
    child = logging(agent("inner", "again"), agent("again", "end"))
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("call", "after", who="child"), agent("after", "end")), "child": child},
        act=note,
        replies={"ann": charging(5.0)},
        budget=5.0,
    )

    run = drive_answering(harness, "yes")

    assert run.ended is not None
    assert list(run.gates) == ["budget-1", "budget-2"]
    assert [given.node for _, given in harness.given] == ["inner", "again", "after"]


def test_who_asked_and_was_answered_waits_for_money_too(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, main=logging(agent("work", "end")))
    harness.replies = {"ann": charging(5.0, asks=True)}
    harness.drive()
    harness.send(Message(kind="answer", subject="work", value="blue"))

    parked = harness.drive()
    harness.send(Message(kind="answer", subject="budget-1", value="yes"))
    run = harness.drive()

    assert [gate.opened.gate for gate in parked.open_gates] == ["budget-1"]
    assert run.ended is not None
    assert harness.end.output == '["done"]'


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)

    drive_answering(harness, "yes")

    assert harness.store.appends == APPENDS


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, APPENDS + 1))
def test_wherever_the_process_dies_the_answer_counts_once(tmp_path: Path, nth: int, when: str) -> None:
    harness = make_harness(tmp_path)
    harness.die_at(nth, when=when)

    run = drive_answering(harness, "yes")

    assert run.ended is not None
    assert (run.ended.state, harness.end.output) == ("done", '["done","done","last#1"]')
    assert list(run.gates) == ["budget-1"]
