"""A landed step that a person does not find good is sent back: a corrective step, asked about again, before others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.worlds import RUN, World, WritingAgent, small_plan, step

from drumline.core.events import CorrectionPlanned
from drumline.core.ids import GateId, StepId, Stream
from drumline.core.state import RunState
from drumline.core.words import PlanCause
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

A, AM, B = StepId("a"), StepId("am"), StepId("b")


class Tidy(WritingAgent):
    """Does every step right; a corrective step has a file of its own beside that."""

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.step == AM:
            self.assignments.append(assignment)
            (assignment.workspace / "am.txt").write_text("put right\n")
            return Outcome()
        return await WritingAgent.work(self, assignment)


def build(folder: Path) -> World:
    """Two steps, of which a person verifies two things about the first."""
    first = replace(step("a", manual=("reads well", "is short")), manual_lines=(20, 21))
    return World(folder=folder, plan=small_plan(first, step("b", "a")), agent=Tidy(), autonomy="critical")


def refuse_item(world: World) -> None:
    world.say(Message(kind="answer", subject="wave-1", value="not-good:2", comment="Too long.", by="me"))


def say_good(world: World) -> None:
    world.say(Message(kind="answer", subject="wave-1.2", value="continue", by="me"))


def assert_put_right(world: World, run: RunState, context: object = "") -> None:
    assert run.ended is not None, context
    assert run.ended.state == "done", (context, run.ended)
    assert [name for _, name in world.workspaces.log()] == ["a", "am", "b"], context
    planned = [one.event for one in world.store.read(Stream(RUN)) if isinstance(one.event, CorrectionPlanned)]
    assert [one.correction.id for one in planned] == [AM], context
    assert set(run.mirrored[A].ticked) == {10, 20, 21}, context


def test_a_step_that_is_not_good_gets_a_corrective_step_which_is_verified_before_others_begin(tmp_path: Path) -> None:
    world = build(tmp_path)

    first = world.drive()
    asked = first.unanswered[GateId("wave-1")].opened
    refuse_item(world)
    second = world.drive()
    ticked = set(second.mirrored[A].ticked)
    again = second.unanswered[GateId("wave-1.2")].opened
    say_good(world)
    third = world.drive()

    landed = first.finished[A].commit
    assert [(item.step, item.text, item.commit) for item in asked.items] == [
        (A, "reads well", landed),
        (A, "is short", landed),
    ]
    assert ticked == {10, 20}
    assert [(item.step, item.text, item.commit) for item in again.items] == [
        (AM, "is short", second.finished[AM].commit)
    ]
    assert B not in second.finished
    assert second.corrections[AM].cause is PlanCause.MANUAL
    assert_put_right(world, third)
    assert isinstance(world.agent, Tidy)
    prompts = [one.prompt for one in world.agent.assignments if one.step in (AM, B)]
    assert all("Too long." in prompt for prompt in prompts)


@pytest.mark.parametrize("when", ["before", pytest.param("after", marks=pytest.mark.long)])
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 4))])
def test_a_step_is_sent_back_once_wherever_the_process_dies(tmp_path: Path, when: str, part: int) -> None:
    whole = build(tmp_path / "whole")
    whole.drive()
    refuse_item(whole)
    whole.store.appends = 0
    whole.drive()
    say_good(whole)
    whole.drive()

    for nth in range(1 + part, whole.store.appends + 1, 4):
        world = build(tmp_path / str(nth))
        world.drive()
        refuse_item(world)
        world.store.appends = 0
        world.die_at(nth, when=when)
        run = world.drive_through()
        if run.ended is None:
            say_good(world)
            run = world.drive_through()

        assert_put_right(world, run, nth)
