"""Landed steps that share a file with the work: their checks judge it, too."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.integration.harness import RUN, Harness, small_plan, step

from drumline.core import events as ev
from drumline.core.findings import Superseded
from drumline.core.ids import StepId, Stream
from drumline.core.state import RunState
from drumline.core.vocabulary import Severity
from drumline.ports.agents import Assignment, Outcome

A, B = StepId("a"), StepId("b")


class Overwriting:
    """Writes the file of its step; at step b also that of step a, wrongly, as often as it is told."""

    def __init__(self, wrong: int) -> None:
        self.wrong = wrong
        self.prompts: list[str] = []

    async def work(self, assignment: Assignment) -> Outcome:
        """Write."""
        await anyio.lowlevel.checkpoint()
        (assignment.workspace / f"{assignment.step}.txt").write_text(f"{assignment.step}\n")
        if assignment.step == B:
            self.prompts.append(assignment.prompt)
            (assignment.workspace / "a.txt").write_text("wrong\n" if assignment.attempt <= self.wrong else "a\n")
        return Outcome()


def drive(folder: Path, agent: Overwriting, *needs: str, retries: int = 2) -> RunState:
    """A run of two steps, one after the other, of which the second changes the file of the first."""
    plan = small_plan(step("a"), step("b", *needs))
    return Harness(folder=folder, plan=plan, agent=agent, mode="sequential", retries=retries).drive()


def test_the_check_of_a_landed_step_that_shares_a_file_judges_the_work(tmp_path: Path) -> None:
    agent = Overwriting(wrong=1)

    run = drive(tmp_path, agent, "a")

    assert {finished.state.value for finished in run.finished.values()} == {"done"}
    assert len(agent.prompts) == 2
    assert "breaks those of steps that it builds on: `check a` of a" in agent.prompts[1]
    assert (run.finished[B].fixes, run.finished[B].supersedes) == (0, ())


def test_work_that_still_breaks_a_check_of_a_step_it_needs_lands_with_a_concern(tmp_path: Path) -> None:
    agent = Overwriting(wrong=9)

    run = drive(tmp_path, agent, "a", retries=0)

    finished = run.finished[B]
    assert (finished.state.value, finished.is_proved, len(agent.prompts)) == ("done", True, 2)
    assert finished.supersedes == (Superseded(step=A, command="check a"),)
    assert [(one.finding.severity, one.finding.step) for one in finished.findings] == [(Severity.CONCERN, A)]
    assert finished.findings[0].finding.title == "superseded by b: the check check a fails"
    assert (finished.checks_passed, finished.checks_total) == (1, 1)


def test_work_that_breaks_a_check_of_a_step_it_does_not_need_is_not_done(tmp_path: Path) -> None:
    agent = Overwriting(wrong=9)

    run = drive(tmp_path, agent, retries=1)

    assert (run.finished[B].state.value, run.finished[B].failing) == ("blocked", ("check a",))
    assert run.finished[B].fixes == 1


def test_steps_that_share_no_file_cost_no_check_of_each_other(tmp_path: Path) -> None:
    harness = Harness(folder=tmp_path, plan=small_plan(step("a"), step("b", "a")), mode="sequential")

    harness.drive()

    stream = harness.store.read(Stream(RUN, B))
    ended = [entry.event.command for entry in stream if isinstance(entry.event, ev.CheckEnded)]
    assert ended == ["check b"]


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 40))
def test_a_death_at_any_append_changes_nothing_about_what_is_superseded(tmp_path: Path, nth: int, when: str) -> None:
    agent = Overwriting(wrong=9)
    plan = small_plan(step("a"), step("b", "a"))
    harness = Harness(folder=tmp_path, plan=plan, agent=agent, mode="sequential")
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert run.finished[B].supersedes == (Superseded(step=A, command="check a"),)
    assert run.finished[B].commit is not None
