"""A landed step that a person does not find good is sent back: a corrective step, asked about again, before others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core.events import CorrectionPlanned
from drumline.core.ids import GateId, StepId, Stream
from drumline.core.plan import Correction, Step
from drumline.core.state import RunState
from drumline.core.vocabulary import PlanCause
from drumline.errors import InvalidInput
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace
from drumline.testing.planfiles import FakePlanFiles

A, AM, B = StepId("a"), StepId("am"), StepId("b")


class Tidy(WritingAgent):
    """Does every step right; a corrective step has a file of its own beside that."""

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.step == AM:
            self.assignments.append(assignment)
            (assignment.workspace / "am.txt").write_text("put right\n")
            return Outcome()
        return await WritingAgent.work(self, assignment)


def build(folder: Path) -> Harness:
    """Two steps, of which a person verifies two things about the first."""
    first = replace(step("a", manual=("reads well", "is short")), manual_lines=(20, 21))
    return Harness(folder=folder, plan=small_plan(first, step("b", "a")), agent=Tidy(), autonomy="critical")


def refuse_item(harness: Harness) -> None:
    harness.send(Message(kind="answer", subject="wave-1", value="not-good:2", comment="Too long.", by="me"))


def say_good(harness: Harness) -> None:
    harness.send(Message(kind="answer", subject="wave-1.2", value="continue", by="me"))


def assert_put_right(harness: Harness, run: RunState, context: object = "") -> None:
    assert run.ended is not None, context
    assert run.ended.state == "done", (context, run.ended)
    assert [name for _, name in harness.workspaces.log()] == ["a", "am", "b"], context
    planned = [one.event for one in harness.store.read(Stream(RUN)) if isinstance(one.event, CorrectionPlanned)]
    assert [one.correction.id for one in planned] == [AM], context
    assert set(run.mirrored[A].ticked) == {10, 20, 21}, context


def test_a_step_that_is_not_good_gets_a_corrective_step_which_is_verified_before_others_begin(tmp_path: Path) -> None:
    harness = build(tmp_path)

    first = harness.drive()
    asked = first.unanswered[GateId("wave-1")].opened
    refuse_item(harness)
    second = harness.drive()
    ticked = set(second.mirrored[A].ticked)
    again = second.unanswered[GateId("wave-1.2")].opened
    assert again.question.startswith("What was sent back has landed. Please verify by hand")
    say_good(harness)
    third = harness.drive()

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
    assert_put_right(harness, third)
    assert isinstance(harness.agent, Tidy)
    prompts = [one.prompt for one in harness.agent.assignments if one.step in (AM, B)]
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
        harness = build(tmp_path / str(nth))
        harness.drive()
        refuse_item(harness)
        harness.store.appends = 0
        harness.die_at(nth, when=when)
        run = harness.drive_through()
        if run.ended is None:
            say_good(harness)
            run = harness.drive_through()

        assert_put_right(harness, run, nth)


class Full(FakePlanFiles):
    """A plan that takes no further step, once."""

    refusals = 0

    def insert(self, correction: Correction, *, helps: Step) -> str:
        self.refusals += 1
        if self.refusals == 1:
            raise InvalidInput(f"{correction.id} does not fit in", hint="drumline validate plan")
        return super().insert(correction, helps=helps)


def test_an_item_is_asked_about_again_if_the_plan_cannot_take_its_corrective_step(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.planfiles = Full(harness.plan)
    harness.drive()
    refuse_item(harness)

    run = harness.drive()

    assert run.ended is None
    assert [item.text for item in run.unanswered[GateId("wave-1.2")].opened.items] == ["is short"]
    harness.send(Message(kind="answer", subject="wave-1.2", value="not-good", comment="Too long.", by="me"))
    sent = harness.drive()
    harness.send(Message(kind="answer", subject="wave-1.3", value="continue", by="me"))
    assert [item.step for item in sent.unanswered[GateId("wave-1.3")].opened.items] == [AM]
    assert harness.drive().ended is not None
    assert [name for _, name in harness.workspaces.log()] == ["a", "am", "b"]
