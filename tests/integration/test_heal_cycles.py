"""The way of a step that stays red, through diagnosis and two corrective steps, wherever the process dies."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.lowlevel
import pytest
from tests.integration.harness import RUN, Harness, small_plan, step

from drumline.core.events import CorrectionPlanned, StepFinished, StepReopened
from drumline.core.ids import GateId, StepId, Stream
from drumline.core.state import RunState
from drumline.core.vocabulary import STANDARD
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message

A, AH, AH2, B = StepId("a"), StepId("ah"), StepId("ah2"), StepId("b")
DIAGNOSIS = {
    "verdict": "heal",
    "cause": "it is wrong",
    "evidence": "a.txt:1",
    "title": "Write it",
    "approach": "Right.",
}


class Healer:
    """Works on every step and says why one fails; only the steps that are named do what their checks ask for."""

    def __init__(self, *right: str, **said: object) -> None:
        self.right = right
        self.said = {**DIAGNOSIS, **said}
        self.assignments: list[Assignment] = []

    async def work(self, assignment: Assignment) -> Outcome:
        self.assignments.append(assignment)
        await anyio.lowlevel.checkpoint()
        if assignment.node == "diagnose":
            return Outcome(message=json.dumps(self.said))
        name = "b" if assignment.step == "b" else "a"
        good = assignment.step in self.right
        (assignment.workspace / f"{name}.txt").write_text(f"{name}\n" if good else f"wrong {assignment.step}\n")
        return Outcome()


def build(folder: Path, agent: Healer, **more: object) -> Harness:
    """Two steps, of which the second needs the first."""
    plan = small_plan(step("a"), step("b", "a"))
    harness = Harness(folder=folder, plan=plan, agent=agent, mode="sequential", rigor=STANDARD)
    for name, value in more.items():
        setattr(harness, name, value)
    return harness


def told(harness: Harness, kind: type) -> list[object]:
    return [one.event for one in harness.store.read(Stream(RUN)) if isinstance(one.event, kind)]


def assert_healed_at_last(harness: Harness, run: RunState, context: object = "") -> None:
    assert run.ended is not None, context
    assert run.ended.state == "done", (context, run.ended)
    assert [name for _, name in harness.workspaces.log()] == ["ah2", "b"], context
    assert {name: one.state for name, one in run.finished.items() if name in run.plan.by_id} == {
        A: "done",
        AH: "skipped",
        AH2: "done",
        B: "done",
    }, context
    assert run.finished[A].landed_by == AH2, context
    assert len(told(harness, CorrectionPlanned)) == 2, context
    assert [one.heal for one in told(harness, StepReopened) if isinstance(one, StepReopened)] == [True], context
    assert not run.gates, context
    assert not harness.store.list_claims(RUN), context


def test_a_second_way_is_planned_when_the_first_did_not_get_through(tmp_path: Path) -> None:
    agent = Healer("ah2", "b")
    harness = build(tmp_path, agent)

    run = harness.drive()

    assert_healed_at_last(harness, run)
    asked = [one for one in agent.assignments if one.node == "diagnose"]
    assert ["ah (Write it)" in one.prompt for one in asked] == [False, True]
    assert [one.tier for one in agent.assignments if one.step == "a" and one.node == "implement"] == [
        "standard",
        "standard",
        "strong",
    ]
    offered = [planned.kept for planned in told(harness, CorrectionPlanned) if isinstance(planned, CorrectionPlanned)]
    assert all(offered)
    assert all(any(kept in one.prompt for one in agent.assignments if one.step in (AH, AH2)) for kept in offered)


def test_after_two_ways_in_vain_the_step_says_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    harness = build(tmp_path, Healer("b"))

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "blocked"
    assert {name: one.state for name, one in run.finished.items()} == {A: "blocked", AH: "skipped", AH2: "blocked"}
    reason = run.finished[A].reason
    assert reason.startswith("still fails after 2 fixes (validation): it is wrong;\ntried: ah (Write it): still")
    assert "not as it should be" in reason
    assert "next: drumline retry a --context TEXT, drumline heal a or drumline skip a" in reason
    assert run.finished[A].tried == (AH2,)
    assert run.finished[A].failing == ("check a",)


def test_a_person_is_asked_about_what_is_stuck_and_the_run_is_blocked_not_parked(tmp_path: Path) -> None:
    agent = Healer("b")
    harness = build(tmp_path, agent)

    run = harness.drive()

    assert list(run.unanswered) == ["failure-a"]
    assert run.unanswered[GateId("failure-a")].opened.options == ("adapt", "retry", "skip", "stop")
    assert run.ended is not None
    assert run.ended.state == "blocked"

    harness.send(Message(kind="answer", subject="failure-a", value="stop", by="me"))
    stopped = harness.drive()

    assert stopped.ended is not None
    assert stopped.ended.state == "failed"
    assert "stopped by a person at gate failure-a" in stopped.ended.reason


def test_a_wrong_plan_is_neither_fixed_nor_healed_further(tmp_path: Path) -> None:
    agent = Healer("b", verdict="plan")
    harness = build(tmp_path, agent)

    run = harness.drive()

    assert list(run.unanswered) == ["plan-a"]
    assert run.finished[A].state == "blocked"
    assert not told(harness, CorrectionPlanned)

    harness.send(Message(kind="answer", subject="plan-a", value="skip", comment="it is there", by="me"))
    skipped = harness.drive()

    assert skipped.ended is not None
    assert skipped.ended.state == "done"
    assert skipped.finished[A].state == "skipped"


def test_a_person_who_retries_the_step_does_not_wait_for_its_blocked_corrective_step(tmp_path: Path) -> None:
    agent = Healer("b")
    harness = build(tmp_path, agent)
    harness.drive()
    agent.right = ("a", "b")
    harness.send(Message(kind="retry", subject="a", value=json.dumps({"tier": "strong", "context": "Think of a."})))

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert {name: one.state for name, one in run.finished.items() if name in run.plan.by_id} == {
        A: "done",
        AH: "skipped",
        AH2: "skipped",
        B: "done",
    }
    last = next(one for one in reversed(agent.assignments) if one.step == "a")
    assert last.tier == "strong"
    assert "Think of a." in last.prompt


@pytest.mark.parametrize("when", ["before", pytest.param("after", marks=pytest.mark.long)])
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 8))])
def test_both_ways_are_tried_once_wherever_the_process_dies(tmp_path: Path, when: str, part: int) -> None:
    whole = build(tmp_path / "whole", Healer("ah2", "b"))
    whole.drive()

    for nth in range(1 + part, whole.store.appends + 1, 8):
        harness = build(tmp_path / str(nth), Healer("ah2", "b"))
        harness.die_at(nth, when=when)
        run = harness.drive_through()

        assert_healed_at_last(harness, run, nth)


def test_what_a_blocked_step_fails_is_recorded(tmp_path: Path) -> None:
    harness = build(tmp_path, Healer("b"), retries=0)

    run = harness.drive()

    assert [one.failing for one in told(harness, StepFinished) if isinstance(one, StepFinished)] == [("check a",)]
    assert run.finished[A].reason == "still failing after 0 fixes (validation): check a (not as it should be)"


def test_a_step_that_works_too_long_is_blocked(tmp_path: Path) -> None:
    harness = build(tmp_path, Healer("b"), step_timeout=0.0001)

    run = harness.drive()

    assert run.finished[A].state == "blocked"
    assert run.finished[A].reason == "timed out after 0.0001s"
