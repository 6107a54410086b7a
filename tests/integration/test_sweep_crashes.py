"""A run with a sweep, a proposal and a review of the whole ends the same wherever the process dies."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step
from tests.integration.test_sweep import CHANGE, NOTE

from drumline.core.events import CorrectionPlanned, FindingRecorded, PlanChanged, RevisionPlanned, StepLanded
from drumline.core.ids import FINAL, StepId
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd, Settlement
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

A, B = StepId("a"), StepId("b")
FOUND = {"severity": "blocker", "file": "a.py", "line": 1, "title": "Loses data", "detail": "It is cut."}


class Looking(WritingAgent):
    """Sweeps step a, and finds one blocker in the whole until its corrective step has landed."""

    async def work(self, assignment: Assignment) -> Outcome:
        own, whole = assignment.step == A, assignment.step == FINAL
        if assignment.node == "look_around":
            swept = {"edge_cases": [], "annotations": [NOTE] if own else [], "proposals": [CHANGE] if own else []}
            return Outcome(message=json.dumps(swept))
        if assignment.node == "confirm":
            return Outcome(message=json.dumps({"confirmed": [{"id": "@final-F1", "why": "seen"}], "refuted": []}))
        if assignment.node == "look":
            known = "- @final-F1 [blocker]" in assignment.prompt
            found = [FOUND] if whole and not known else []
            return Outcome(message=json.dumps({"findings": found, "fixed": ["@final-F1"] if known else []}))
        (assignment.workspace / f"{assignment.step}.py").write_text("x\n")
        return await WritingAgent.work(self, assignment)


def build(folder: Path) -> Harness:
    """Two steps, of which the plan flags the first one; a person is asked about proposals."""
    plan = small_plan(replace(step("a"), review="yes"), step("b", "a"))
    return Harness(folder=folder, plan=plan, agent=Looking(), mode="sequential", rigor="standard", autonomy="critical")


def drive(harness: Harness) -> RunState:
    """Drive to the end, with a person who says yes."""
    run = harness.drive_through()
    for _ in range(4):
        if run.ended is not None:
            break
        for gate in run.open_gates:
            harness.send(Message(kind="answer", subject=gate.opened.gate, value="apply", by="kim"))
        run = harness.drive_through()
    return run


def count(harness: Harness) -> Counter[str]:
    """How often each thing happened that must happen once."""
    kinds = (CorrectionPlanned, FindingRecorded, RevisionPlanned, PlanChanged, StepLanded)
    return Counter(type(one.event).__name__ for one in harness.store.tail(RUN) if isinstance(one.event, kinds))


APPENDS = 45
WANTED = Counter(CorrectionPlanned=1, FindingRecorded=1, RevisionPlanned=2, PlanChanged=3, StepLanded=3)


def look_at_end(harness: Harness, run: RunState) -> None:
    """What has to be so, whatever died on the way."""
    text = harness.planfiles.text(run.plan.by_id[B])
    assert run.ended is not None
    assert run.ended.state is RunEnd.DONE
    assert count(harness) == WANTED
    assert text.count("Do b, and old ones") == 1
    assert text.count("From a: The file may be 'empty'.") == 1
    assert [one.settled for one in run.finished[FINAL].findings] == [Settlement.FIXED]
    assert run.finished[StepId("R1")].commit is not None
    assert not harness.store.list_claims(RUN)
    assert not {*run.unrevised, *run.unfiled}


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    harness = build(tmp_path)

    run = drive(harness)

    look_at_end(harness, run)
    assert harness.store.appends == APPENDS


SIDES = [(nth, when) for nth in range(1, APPENDS + 1) for when in ("before", "after")]


@pytest.mark.parametrize(
    ("nth", "when"),
    [pytest.param(*side, marks=() if at % 12 == 0 else (pytest.mark.long,)) for at, side in enumerate(SIDES)],
)
def test_it_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build(tmp_path)
    harness.die_at(nth, when=when)

    run = drive(harness)

    look_at_end(harness, run)
