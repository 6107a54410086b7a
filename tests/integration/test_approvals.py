"""What a person sees before a step lands, and what their wish for a change leads to."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.harness import Harness, WritingAgent, small_plan, step

from drumline.core.ids import GateId, StepId
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

SAID = Outcome(message="I wrote a. It reads well. I am sure. You can rely on it.", usage={"cost_usd": 0.25})


def build(folder: Path, slips: int = 1) -> Harness:
    """One step, whose first attempts are wrong."""
    agent = WritingAgent({"a": slips}, {f"a{number}": SAID for number in range(1, 9)})
    return Harness(folder=folder, plan=small_plan(step("a")), agent=agent, autonomy="verbose")


def test_an_approval_shows_words_files_checks_level_fixes_and_cost(tmp_path: Path) -> None:
    harness = build(tmp_path)

    run = harness.drive()

    question = run.unanswered[GateId("approve-a")].opened.question
    lines = question.splitlines()
    assert lines[:2] == [
        "a (Do a) passed its checks. Land it?",
        "Its agent says: I wrote a. It reads well. I am sure.",
    ]
    assert lines[2].startswith("It changes 1 file (+1 -0): git show ")
    assert lines[3:] == [
        "  a.txt +1 -0",
        "Its checks; it would land as proved:",
        "  check a: passes, failed without the work",
        "1 of 2 fixes used, $0.50 spent.",
    ]


def test_an_approval_shows_what_the_agent_claims_about_scenarios(tmp_path: Path) -> None:
    plan = small_plan(replace(step("a"), qa=("log in", "log out")))
    agent = WritingAgent({}, {"a1": Outcome(message="It works.\n\nAutomated QA: 1/2 passed")})
    harness = Harness(folder=tmp_path, plan=plan, agent=agent, autonomy="verbose")

    run = harness.drive()

    question = run.unanswered[GateId("approve-a")].opened.question
    assert "\nAutomated QA 1/2 by the word of its agent, not proved.\n" in question


def test_an_approval_shows_what_the_report_of_the_agent_says_and_not_its_form(tmp_path: Path) -> None:
    harness = build(tmp_path, slips=0)
    report = (
        "It is done.\n\n# Task Report\n\n- **Status**: success\n- **Objective Achieved**: a is there\n- Errors: none\n"
        "- Scope Deviations: b, too.\n\n# Downstream Context\n\n- Warnings: none\n"
    )
    harness.agent = WritingAgent({}, {"a1": Outcome(message=report)})

    run = harness.drive()

    question = run.unanswered[GateId("approve-a")].opened.question
    assert question.splitlines()[1] == (
        "Its agent says: It is done. Objective achieved: a is there. Scope deviations: b, too."
    )


def test_a_revision_has_fresh_fixes_and_the_tier_of_a_first_attempt(tmp_path: Path) -> None:
    harness = build(tmp_path, slips=2)
    agent = harness.agent
    assert isinstance(agent, WritingAgent)

    harness.drive()
    agent.slips = {"a": 5}
    harness.send(Message(kind="answer", subject="approve-a", value="Use another word.", by="me"))
    run = harness.drive()

    assert [one.tier for one in agent.assignments] == [
        "standard",
        "standard",
        "strong",
        "standard",
        "standard",
        "strong",
    ]
    assert "approve-a.2" in run.unanswered
    assert "4 of 2 fixes" not in run.unanswered[GateId("approve-a.2")].opened.question
    assert StepId("a") not in run.finished


CONCERN = {"severity": "concern", "title": "Slow", "file": "a.txt", "line": 1, "detail": "Is it?"}


class Thorough(WritingAgent):
    """Finds a concern, and sweeps for edge cases."""

    async def work(self, assignment: Assignment) -> Outcome:
        answers = {
            "look": {"findings": [CONCERN], "fixed": []},
            "look_around": {
                "edge_cases": [{"kind": "input", "title": "no words", "status": "handled", "reason": ""}],
                "annotations": [{"step": "b", "text": "a may be empty"}],
                "proposals": [{"step": "b", "title": "Say more", "why": "a does", "replace": "Do b", "with": "Do c"}],
            },
        }
        if assignment.node in answers:
            return Outcome(message=json.dumps(answers[assignment.node]))
        return await WritingAgent.work(self, assignment)


def test_an_approval_shows_findings_edge_cases_and_proposals(tmp_path: Path) -> None:
    plan = small_plan(replace(step("a"), review="yes"), step("b", "a"))
    harness = Harness(
        folder=tmp_path, plan=plan, agent=Thorough(), mode="sequential", autonomy="verbose", rigor="standard"
    )

    run = harness.drive()
    for choice in ("defer", "decline"):
        [gate] = run.unanswered
        harness.send(Message(kind="answer", subject=gate, value=choice, by="me"))
        run = harness.drive()

    lines = run.unanswered[GateId("approve-a")].opened.question.splitlines()
    assert lines[-8:-1] == [
        "Its review has 1 finding:",
        "  [concern] Slow: deferred (a.txt:1)",
        "Edge cases:",
        "  handled: no words (input)",
        "For later steps:",
        "  b: a may be empty",
        "  a-P1 for b: Say more (proposed, not applied)",
    ]
