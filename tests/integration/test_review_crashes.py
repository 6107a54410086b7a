"""A review ends the same wherever the process dies: findings are recorded and fixed once, and the work lands once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core.events import FindingConfirmed, FindingRecorded, FindingSettled, StepLanded
from drumline.core.ids import StepId
from drumline.core.vocabulary import Settlement
from drumline.ports.agents import Assignment, Outcome
from drumline.record import replace

A = StepId("a")
BLOCKER = {"severity": "blocker", "file": "a.txt", "line": 1, "title": "Loses data", "detail": "It is cut."}


class Reviewed(WritingAgent):
    """Finds a blocker, confirms it, and finds it fixed once it is among the open findings."""

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.node == "confirm":
            return Outcome(message=json.dumps({"confirmed": [{"id": "a-F1", "why": "seen"}], "refuted": []}))
        if assignment.node != "look":
            return await WritingAgent.work(self, assignment)
        known = "- a-F1 [blocker]" in assignment.prompt
        return Outcome(message=json.dumps({"findings": [] if known else [BLOCKER], "fixed": ["a-F1"] if known else []}))


def build(folder: Path) -> Harness:
    """One step that its plan flags for a review."""
    plan = small_plan(replace(step("a"), review="yes"))
    return Harness(folder=folder, plan=plan, agent=Reviewed(), mode="sequential", rigor="standard")


def count(harness: Harness) -> Counter[str]:
    """How often each thing about the review happened."""
    kinds = (FindingRecorded, FindingConfirmed, FindingSettled, StepLanded)
    return Counter(type(one.event).__name__ for one in harness.store.tail(RUN) if isinstance(one.event, kinds))


APPENDS = 17
WANTED = Counter(FindingRecorded=1, FindingConfirmed=1, FindingSettled=1, StepLanded=1)


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    harness = build(tmp_path)

    run = harness.drive()

    assert harness.store.appends == APPENDS
    assert count(harness) == WANTED
    assert [one.settled for one in run.finished[A].findings] == [Settlement.FIXED]
    assert (run.finished[A].attempts, run.finished[A].fixes, run.finished[A].reviews) == (2, 0, 1)


SIDES = [(nth, when) for nth in range(1, APPENDS + 1) for when in ("before", "after")]


@pytest.mark.parametrize(
    ("nth", "when"),
    [pytest.param(*side, marks=() if at % 6 == 0 else (pytest.mark.long,)) for at, side in enumerate(SIDES)],
)
def test_a_review_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build(tmp_path)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert count(harness) == WANTED
    assert [one.settled for one in run.finished[A].findings] == [Settlement.FIXED]
    assert run.finished[A].commit is not None
    assert not harness.store.list_claims(RUN)
