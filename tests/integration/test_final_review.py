"""Everything that a run has landed is reviewed at its end: what is found becomes corrective steps, twice at most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core.events import CorrectionPlanned, PlanChanged
from drumline.core.ids import FINAL, StepId
from drumline.core.state import RunState
from drumline.core.vocabulary import PlanCause, RunEnd, Settlement, StepEnd
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

A, B = StepId("a"), StepId("b")
BLOCKER = {"severity": "blocker", "file": "a.py", "line": 1, "title": "Loses data", "detail": "It is cut."}
OTHER = {**BLOCKER, "title": "Leaks", "file": "b.py"}
CONCERN = {**BLOCKER, "severity": "concern", "title": "Is slow"}


class Reviewing(WritingAgent):
    """Looks at the whole: `found` is what it finds at each look, `fixed` what it calls so."""

    def __init__(self, *found: list[dict[str, object]], fixed: tuple[list[str], ...] = ()) -> None:
        super().__init__()
        self.found, self.fixed, self.looks = found, fixed, 0
        self.prompts: list[str] = []
        self.prose = False

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.node == "confirm":
            ids = [f"@final-F{n}" for n in range(1, 10)]
            return Outcome(message=json.dumps({"confirmed": [{"id": n, "why": "seen"} for n in ids], "refuted": []}))
        if assignment.node != "look":
            name = "notes.md" if self.prose else f"{assignment.step}.py"
            (assignment.workspace / name).write_text(f"{assignment.attempt}\n")
            return await WritingAgent.work(self, assignment)
        if assignment.step != FINAL:
            return Outcome(message=json.dumps({"findings": [], "fixed": []}))
        self.looks += 1
        self.prompts.append(assignment.prompt)
        found = self.found[self.looks - 1] if self.looks <= len(self.found) else []
        fixed = self.fixed[self.looks - 1] if self.looks <= len(self.fixed) else []
        return Outcome(message=json.dumps({"findings": found, "fixed": fixed}))


def build(folder: Path, agent: WritingAgent, *, flag: str = "yes", **more: object) -> Harness:
    """Two steps, of which the plan flags the first one for a review."""
    plan = small_plan(replace(step("a"), review=flag), step("b"))
    options = {"mode": "sequential", "rigor": "standard", **more}
    return Harness(folder=folder, plan=plan, agent=agent, **options)  # type: ignore[arg-type]


def list_planned(harness: Harness) -> list[CorrectionPlanned]:
    """The corrective steps that were planned."""
    return [one.event for one in harness.store.tail(RUN) if isinstance(one.event, CorrectionPlanned)]


def tell_findings(run: RunState) -> dict[str, Settlement | None]:
    """What became of the findings about the whole."""
    return {one.finding.title: one.settled for one in run.finished[FINAL].findings}


def test_what_is_found_after_the_last_landing_becomes_a_step_that_lands_and_is_reviewed_again(tmp_path: Path) -> None:
    agent = Reviewing([BLOCKER], fixed=([], ["@final-F1"]))
    harness = build(tmp_path, agent)

    run = harness.drive()

    planned = list_planned(harness)
    changes = [one.event for one in harness.store.tail(RUN) if isinstance(one.event, PlanChanged)]
    assert [(p.correction.id, p.helps, p.cause, p.findings) for p in planned] == [
        ("R1", A, PlanCause.REVIEW, ("@final-F1",))
    ]
    assert [(c.cause, c.origin) for c in changes] == [(PlanCause.REVIEW, FINAL)]
    assert planned[0].correction.title == "Review fix: Loses data"
    assert "Loses data (a.py:1)" in planned[0].correction.what
    assert run.finished[StepId("R1")].commit is not None
    assert agent.looks == 2
    assert "the plan flags 1 step for a review (a)" in agent.prompts[0]
    assert "## a: Do a" in agent.prompts[0]
    assert "@final-F1 [blocker] Loses data" in agent.prompts[1]
    assert tell_findings(run) == {"Loses data": Settlement.FIXED}
    assert run.ended is not None
    assert run.ended.state is RunEnd.DONE


def test_blockers_of_one_file_are_one_step_and_a_second_look_names_its_steps_with_a_letter(tmp_path: Path) -> None:
    agent = Reviewing(
        [BLOCKER, {**BLOCKER, "title": "Again"}, OTHER], fixed=([], ["@final-F2", "@final-F3"], ["@final-F1"])
    )
    harness = build(tmp_path, agent)

    run = harness.drive()

    assert [(p.correction.id, p.helps, len(p.findings)) for p in list_planned(harness)] == [
        ("R1", A, 2),
        ("R2", B, 1),
        ("R1b", A, 1),
    ]
    assert set(tell_findings(run).values()) == {Settlement.FIXED}
    assert run.ended is not None
    assert run.ended.state is RunEnd.DONE


def test_blockers_that_stay_block_the_run_after_two_rounds(tmp_path: Path) -> None:
    harness = build(tmp_path, Reviewing([BLOCKER]))

    run = harness.drive()

    assert [p.correction.id for p in list_planned(harness)] == ["R1", "R1b"]
    assert run.ended is not None
    assert run.ended.state is RunEnd.BLOCKED
    assert "Loses data" in run.finished[FINAL].reason


def test_a_step_of_the_review_that_is_skipped_does_not_let_its_blocker_pass(tmp_path: Path) -> None:
    class Failing(Reviewing):
        async def work(self, assignment: Assignment) -> Outcome:
            if assignment.step == "R1":
                return Outcome(failure="permanent", message="no")
            return await Reviewing.work(self, assignment)

    harness = build(tmp_path, Failing([BLOCKER]))
    stuck = harness.drive()
    harness.send(Message(kind="skip", subject="R1", comment="no time"))

    run = harness.drive()

    assert stuck.finished[StepId("R1")].state is not StepEnd.DONE
    assert run.finished[StepId("R1")].state is StepEnd.SKIPPED
    assert run.ended is not None
    assert run.ended.state is not RunEnd.DONE


@pytest.mark.parametrize(("autonomy", "settled"), [("autopilot", Settlement.DEFERRED), ("critical", None)])
def test_concerns_about_the_whole_are_deferred_or_asked_about(
    tmp_path: Path, autonomy: str, settled: Settlement | None
) -> None:
    harness = build(tmp_path, Reviewing([CONCERN, {**CONCERN, "title": "Is big"}]), autonomy=autonomy)

    run = harness.drive()

    if settled is not None:
        assert set(tell_findings(run).values()) == {settled}
        return
    gate = run.open_gates[0].opened
    assert "[concern] Is slow" in gate.question
    harness.send(Message(kind="answer", subject=gate.gate, value="address"))
    after = harness.drive()
    assert [p.correction.id for p in list_planned(harness)][:2] == ["R1", "R2"]
    assert after.open_gates
    assert after.open_gates[0].opened.gate != gate.gate


@pytest.mark.parametrize("case", ["plain", "quick", "prose"])
def test_the_whole_is_not_reviewed_without_a_reason_or_if_only_documentation_changed(tmp_path: Path, case: str) -> None:
    agent = Reviewing([BLOCKER])
    agent.prose = case == "prose"
    harness = build(
        tmp_path, agent, rigor="quick" if case == "quick" else "standard", flag="" if case == "plain" else "yes"
    )

    run = harness.drive()

    assert agent.looks == 0
    assert run.ended is not None
    assert run.ended.state is RunEnd.DONE


def test_a_reviewer_of_the_whole_that_is_silent_the_second_time_is_named(tmp_path: Path) -> None:
    class Silent(Reviewing):
        async def work(self, assignment: Assignment) -> Outcome:
            if assignment.node == "look" and assignment.step == FINAL and self.looks:
                return Outcome(message="I have nothing to say.")
            return await Reviewing.work(self, assignment)

    harness = build(tmp_path, Silent([BLOCKER]))

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state is RunEnd.BLOCKED
    assert (
        "its reviewer, test (the same agent in a session of its own), gave no usable answer"
        in run.finished[FINAL].reason
    )
