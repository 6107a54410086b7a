"""Looks at the work on one step: what becomes of blockers if whoever looks again says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, small_plan, step
from tests.integration.test_review_crashes import Reviewed

from drumline.core.events import WorkReviewed
from drumline.core.ids import StepId
from drumline.core.vocabulary import StepEnd
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

A = StepId("a")
ASKED = 3
"""How often an answer in the right form is asked for in one visit."""
SILENT = "its reviewer, test (the same agent in a session of its own), gave no usable answer when it looked again"


class Silent(Reviewed):
    """Finds a blocker, and says nothing when it looks again, nor when its answer is asked for in another form."""

    looks = 0

    async def work(self, assignment: Assignment) -> Outcome:
        self.looks += assignment.node == "look"
        if assignment.node == "look" and 1 < self.looks <= 1 + ASKED:
            return Outcome(message="I have nothing to say.")
        return await Reviewed.work(self, assignment)


@pytest.mark.parametrize("autonomy", ["autopilot", "critical"])
def test_a_reviewer_that_is_silent_the_second_time_is_named_and_lets_nothing_pass(
    tmp_path: Path, autonomy: str
) -> None:
    plan = small_plan(replace(step("a"), review="yes"))
    agent = Silent()
    harness = Harness(folder=tmp_path, plan=plan, agent=agent, mode="sequential", rigor="standard", autonomy=autonomy)

    run = harness.drive()

    assert agent.looks == 1 + ASKED
    if autonomy == "autopilot":
        assert run.finished[A].state is StepEnd.BLOCKED
        assert SILENT in run.finished[A].reason
        return
    gate = run.open_gates[0].opened
    assert SILENT in gate.question
    assert "Loses data" in gate.question
    harness.send(Message(kind="answer", subject=gate.gate, value="again"))
    assert harness.drive().finished[A].commit is not None


def test_work_on_files_of_other_steps_is_a_reason_for_a_review(tmp_path: Path) -> None:
    class Straying(Reviewed):
        async def work(self, assignment: Assignment) -> Outcome:
            if assignment.node == "look":
                return Outcome(message='{"findings": [], "fixed": []}')
            (assignment.workspace / "b.py").write_text(f"{assignment.step}\n")
            return await Reviewed.work(self, assignment)

    other = replace(step("b", "a"), files=("b.py",), binding=False)
    plan = small_plan(replace(step("a"), files=("a.txt",)), other)
    harness = Harness(folder=tmp_path, plan=plan, agent=Straying(), mode="sequential", rigor="standard")

    harness.drive()

    events = [one.event for one in harness.store.tail(RUN)]
    reasons = [event.reasons for event in events if isinstance(event, WorkReviewed)]
    assert reasons == [("it changes files of other steps (b.py)",)]
