"""Chunks in waves: a standard reviewer for each that was worked on, a strong one for all flagged ones together."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.harness import RUN, Harness, WritingAgent, judge, small_plan, step

from drumline.core.events import CheckStarted
from drumline.core.ids import FINAL, StepId
from drumline.core.plan import Check
from drumline.core.vocabulary import Review, RunEnd, Settlement, StepEnd
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.ports.processes import Ended, Job
from drumline.record import replace

C1, C2, C3, R1 = StepId("c1"), StepId("c2"), StepId("c3"), StepId("R1")
EVERYTHING = "check everything"
BLOCKER = {"severity": "blocker", "file": "c1.py", "line": 1, "title": "Loses data", "detail": "It is cut."}


class Building(WritingAgent):
    """Builds chunks, of which c2 stays wrong, and looks at them; `found` is what it finds in the whole."""

    def __init__(self, *found: object) -> None:
        super().__init__(slips={"c2": 99})
        self.found = list(found)
        self.looks: list[tuple[str, str]] = []

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.node == "confirm":
            return Outcome(message=json.dumps({"confirmed": [{"id": "@final-F1", "why": "seen"}], "refuted": []}))
        if assignment.node == "look":
            self.looks.append((assignment.step, assignment.tier))
            again = "- @final-F1 [blocker]" in assignment.prompt
            found = self.found if assignment.step == FINAL and not again else []
            return Outcome(message=json.dumps({"findings": found, "fixed": ["@final-F1"] if again else []}))
        if not assignment.read_only:
            (assignment.workspace / f"{assignment.step}.py").write_text("x\n")
        return await WritingAgent.work(self, assignment)


def build(folder: Path, agent: Building) -> Harness:
    """Three chunks: the plan flags the first one, and the third needs the second."""
    plan = small_plan(replace(step("c1"), review="yes"), step("c2"), step("c3", "c2"))
    plan = replace(plan, format="waves", final=(Check(command=EVERYTHING),))
    options = {"mode": "sequential", "rigor": "standard", "review": Review.ALL, "retries": 0, "script": judge_all}
    return Harness(folder=folder, plan=plan, agent=agent, **options)  # type: ignore[arg-type]


def judge_all(job: Job) -> Ended:
    """What is checked at the end passes; a chunk has to be as it should be."""
    return Ended(exit_code=0, seconds=0.0) if job.argv[-1] == EVERYTHING else judge(job)


def test_every_chunk_is_looked_at_by_the_standard_tier_also_one_that_stays_blocked(tmp_path: Path) -> None:
    harness = build(tmp_path, agent := Building())

    run = harness.drive()

    assert run.finished[C2].state is StepEnd.BLOCKED
    assert [look for look in agent.looks if look[0] != FINAL] == [("c1", "standard"), ("c2", "standard")]
    assert run.finished[C2].reviewed


def test_a_strong_reviewer_looks_at_the_flagged_ones_although_another_one_stays_blocked(tmp_path: Path) -> None:
    harness = build(tmp_path, agent := Building())

    run = harness.drive()

    assert agent.looks[-1] == (FINAL, "strong")
    assert run.finished[FINAL].state is StepEnd.DONE
    assert run.finished[FINAL].reviewed
    assert C3 not in run.finished
    assert run.ended is not None
    assert (run.ended.state, run.ended.step) == (RunEnd.BLOCKED, C2)


def test_what_it_finds_is_put_right_and_looked_at_again(tmp_path: Path) -> None:
    harness = build(tmp_path, agent := Building(BLOCKER))

    run = harness.drive()

    assert run.finished[R1].commit is not None
    assert [look for look in agent.looks if look[0] == FINAL] == [(FINAL, "strong")] * 2
    assert [one.settled for one in run.finished[FINAL].findings] == [Settlement.FIXED]
    assert run.ended is not None
    assert (run.ended.state, run.ended.step) == (RunEnd.BLOCKED, C2)


def test_the_whole_is_looked_at_again_once_the_blocked_one_has_landed(tmp_path: Path) -> None:
    harness = build(tmp_path, agent := Building())
    harness.drive()
    agent.slips = {}
    looked = len(agent.looks)

    harness.send(Message(kind="retry", subject=C2))
    run = harness.drive()

    commands = [event.command for event in checks_of(harness)]
    assert agent.looks[looked:][-1] == (FINAL, "strong")
    assert commands.count(EVERYTHING) == 1
    assert {step for step, _ in agent.looks[looked:]} == {"c2", "c3", FINAL}
    assert run.finished[C3].commit is not None


def checks_of(harness: Harness) -> list[CheckStarted]:
    """The checks of the last walk."""
    told = [one.event for one in harness.store.tail(RUN) if one.stream.step == FINAL]
    return [event for event in told if isinstance(event, CheckStarted)]
