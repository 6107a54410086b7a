"""What precedes the work on a step ends the same wherever the process dies: looked at once, landed once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core.events import AttemptEnded, StepLanded
from drumline.core.ids import StepId
from drumline.ports.agents import Assignment, Outcome
from drumline.record import replace

A = StepId("a")
ANSWERS = {
    "orient": {
        "plan_summary": "a",
        "implementation_brief": "as planned",
        "staleness_report": "",
        "has_major_deviation": False,
        "deviation_summary": "",
    },
    "analyse": {"approach": "write", "files_to_modify": [], "files_to_create": [], "complexity": 2, "risks": []},
    "inspect": {"clean": False, "notes": "look again"},
    "look_around": {"edge_cases": [], "annotations": [], "proposals": []},
    "hand_over": {
        "summary": "It is written.",
        "completed": "a.txt",
        "not_completed": "None",
        "deviations": "None",
        "downstream_updates": "None",
        "edge_cases": "None",
        "notes": "None",
    },
}


class Thorough(WritingAgent):
    """Answers with fields at nodes that only read, and writes at all others."""

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.node not in ANSWERS:
            return replace(await WritingAgent.work(self, assignment), message="# Task Report\n\n- Status: success\n")
        self.assignments.append(assignment)
        return Outcome(message=json.dumps(ANSWERS[assignment.node]))


def build(folder: Path, rigor: str) -> Harness:
    """One step, done with this rigor."""
    plan = small_plan(replace(step("a"), title="Modify `src/old.py`"))
    return Harness(folder=folder, plan=plan, agent=Thorough(), mode="sequential", rigor=rigor)


APPENDS = {"quick": 9, "standard": 10, "full": 15}


def list_deaths() -> list[object]:
    """Both sides of every append; the short run dies at one of five."""
    sides = [
        (rigor, nth, when) for rigor, n in APPENDS.items() for nth in range(1, n + 1) for when in ("before", "after")
    ]
    return [
        pytest.param(*side, marks=() if number % 5 == 0 else (pytest.mark.long,)) for number, side in enumerate(sides)
    ]


@pytest.mark.parametrize("rigor", list(APPENDS))
def test_the_enumeration_covers_every_append(tmp_path: Path, rigor: str) -> None:
    harness = build(tmp_path, rigor)

    run = harness.drive()

    nodes = [one.event.node for one in harness.store.tail(RUN) if isinstance(one.event, AttemptEnded)]
    assert harness.store.appends == APPENDS[rigor]
    assert (
        nodes
        == {
            "quick": ["implement"],
            "standard": ["orient", "implement"],
            "full": ["orient", "analyse", "implement", "inspect", "improve", "look_around", "hand_over"],
        }[rigor]
    )
    assert (run.finished[A].attempts, run.finished[A].fixes) == ((2, 1) if rigor == "full" else (1, 0))


@pytest.mark.parametrize(("rigor", "nth", "when"), list_deaths())
def test_a_run_ends_the_same_wherever_the_process_dies(tmp_path: Path, rigor: str, nth: int, when: str) -> None:
    harness = build(tmp_path, rigor)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert [name for _, name in harness.workspaces.log()] == ["a"]
    assert sum(isinstance(one.event, StepLanded) for one in harness.store.tail(RUN)) == 1
    assert (run.finished[A].attempts, run.finished[A].fixes) == ((2, 1) if rigor == "full" else (1, 0))
    assert not harness.store.list_claims(RUN)
