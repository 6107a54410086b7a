"""A look for edge cases: later steps are told once, and their scope changes only as a person saw it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core.events import PlanChanged, RevisionRefused, StepLanded
from drumline.core.ids import StepId
from drumline.core.plan import Revision, Step
from drumline.core.sweeping import tell_cases, tell_updates
from drumline.core.vocabulary import PlanCause, RunEnd
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

A, B = StepId("a"), StepId("b")
CASES = [
    {"kind": "input", "title": "No line at all", "status": "handled", "reason": ""},
    {"kind": "concurrency", "title": "Two writers", "status": "deferred", "reason": "nobody shares it yet"},
]
NOTE = {"step": "b", "text": "The file may be `empty`."}
CHANGE = {
    "step": "b",
    "title": "Also read old files",
    "why": "they exist",
    "replace": "Do b",
    "with": "Do b, and old ones",
}


class Sweeping(WritingAgent):
    """Says of step a what it is given, each time that it is asked for edge cases."""

    def __init__(self, *, notes: tuple[object, ...] = (NOTE,), proposals: tuple[object, ...] = ()) -> None:
        super().__init__()
        self.answer = {"edge_cases": CASES, "annotations": notes, "proposals": proposals}
        self.prompts: list[str] = []
        self.writes = self.mute = False

    async def work(self, assignment: Assignment) -> Outcome:
        if assignment.node == "look_around":
            self.prompts.append(assignment.prompt)
            if self.writes:
                (assignment.workspace / "mine.py").write_text("mine\n")
            nothing: dict[str, list[object]] = {"edge_cases": [], "annotations": [], "proposals": []}
            said = json.dumps(self.answer if assignment.step == "a" else nothing)
            return Outcome(message="I would rather not say." if self.mute else said)
        if assignment.node in ("look", "confirm"):
            return Outcome(message=json.dumps({"findings": [], "fixed": [], "confirmed": [], "refuted": []}))
        return await WritingAgent.work(self, assignment)


def flagged(**more: object) -> Step:
    """The first step, which its plan flags."""
    return replace(step("a"), review="yes", **more)


def build(folder: Path, agent: Sweeping, **more: object) -> Harness:
    """Two steps, of which the plan flags the first one."""
    plan = more.pop("plan", None) or small_plan(flagged(), step("b", "a"))
    options = {"mode": "sequential", "rigor": "standard", **more}
    return Harness(folder=folder, plan=plan, agent=agent, **options)  # type: ignore[arg-type]


def list_changes(harness: Harness) -> list[PlanChanged]:
    """How the plan changed."""
    return [one.event for one in harness.store.tail(RUN) if isinstance(one.event, PlanChanged)]


def test_cases_are_kept_and_a_later_step_is_told_once(tmp_path: Path) -> None:
    harness = build(tmp_path, agent := Sweeping())

    run = harness.drive()

    swept, text = run.finished[A].swept, harness.planfiles.text(run.plan.by_id[B])
    assert swept is not None
    assert tell_cases(swept) == [
        "handled: No line at all (input)",
        "deferred: Two writers (concurrency): nobody shares it yet",
    ]
    assert tell_updates(swept) == ["b: The file may be 'empty'."]
    assert text.count("From a: The file may be 'empty'.") == 1
    assert [(c.cause, c.origin, [s.id for s in c.changed]) for c in list_changes(harness)] == [
        (PlanCause.ANNOTATION, A, [B])
    ]
    assert "### b: Do b" in agent.prompts[0]
    assert run.finished[B].commit is not None
    assert run.rounds.get(B, 0) == 0
    assert run.ended is not None
    assert run.ended.state is RunEnd.DONE


def test_a_second_run_does_not_repeat_what_a_later_step_says(tmp_path: Path) -> None:
    agent = Sweeping(notes=({"step": "b", "text": "In other words: empty."},))
    harness = build(tmp_path, agent)
    line = Revision(origin=A, text="The file may be empty.")
    before = harness.planfiles.revise(harness.plan.by_id[B], line, write=True)

    run = harness.drive()

    assert before
    assert harness.planfiles.text(run.plan.by_id[B]).count("From a:") == 1
    assert "In other words" not in harness.planfiles.text(run.plan.by_id[B])


@pytest.mark.parametrize(("choice", "applied"), [("apply", True), ("decline", False)])
def test_a_proposal_is_shown_as_a_diff_and_applied_exactly_or_not_at_all(
    tmp_path: Path, choice: str, applied: bool
) -> None:
    harness = build(tmp_path, Sweeping(notes=(), proposals=(CHANGE,)), autonomy="critical")

    parked = harness.drive()
    gate = parked.open_gates[0].opened
    harness.send(Message(kind="answer", subject=gate.gate, value=choice, by="kim"))
    run = harness.drive()

    changes, swept = list_changes(harness), run.finished[A].swept
    assert "a-P1 for b: Also read old files: they exist" in gate.question
    assert "-Do b\n+Do b, and old ones" in gate.question
    assert ("Do b, and old ones" in harness.planfiles.text(run.plan.by_id[B])) is applied
    assert swept is not None
    assert [one.applied for one in swept.proposals] == [applied]
    found = [(c.cause, c.origin, c.gate, c.by) for c in changes]
    assert found == ([(PlanCause.PROPOSAL, A, gate.gate, "kim")] if applied else [])


def test_autopilot_lists_proposals_and_applies_none(tmp_path: Path) -> None:
    harness = build(tmp_path, Sweeping(notes=(), proposals=(CHANGE,)))

    run = harness.drive()

    swept = run.finished[A].swept
    assert swept is not None
    assert tell_updates(swept) == ["a-P1 for b: Also read old files (proposed, not applied)"]
    assert list_changes(harness) == []
    assert "old ones" not in harness.planfiles.text(run.plan.by_id[B])


def test_a_proposal_is_refused_if_what_was_shown_is_not_there_any_more(tmp_path: Path) -> None:
    harness = build(tmp_path, Sweeping(notes=(), proposals=(CHANGE,)), autonomy="critical")
    gate = harness.drive().open_gates[0].opened
    edited = Revision(origin=A, old="Do b", new="Do b twice")
    harness.planfiles.revise(harness.planfiles.read().plan.by_id[B], edited, write=True)
    harness.send(Message(kind="answer", subject=gate.gate, value="apply"))

    run = harness.drive()

    refused = [one.event for one in harness.store.tail(RUN) if isinstance(one.event, RevisionRefused)]
    assert [one.step for one in refused] == [B]
    assert "Do b twice" in harness.planfiles.text(run.plan.by_id[B])
    assert run.finished[A].commit is not None
    swept = run.finished[A].swept
    assert swept is not None
    assert "cannot be applied" in tell_updates(swept)[0]


def test_a_proposal_for_words_that_are_not_there_is_told_and_not_asked_about(tmp_path: Path) -> None:
    wrong = {**CHANGE, "replace": "Do everything"}
    harness = build(tmp_path, Sweeping(notes=({**NOTE, "step": "z"},), proposals=(wrong,)), autonomy="critical")

    run = harness.drive()

    assert run.ended is not None
    swept = run.finished[A].swept
    assert swept is not None
    assert "cannot be applied" in tell_updates(swept)[0]


@pytest.mark.parametrize("how", ["mute", "writes"])
def test_a_sweep_that_fails_is_not_run_and_the_step_lands(tmp_path: Path, how: str) -> None:
    agent = Sweeping()
    setattr(agent, how, True)
    harness = build(tmp_path, agent)

    run = harness.drive()

    swept = run.finished[A].swept
    assert swept is not None
    assert tell_cases(swept)[0].startswith("not run: ")
    assert run.finished[A].commit is not None
    assert list_changes(harness) == []


@pytest.mark.parametrize(
    ("rigor", "flag", "sweeps"), [("full", "", 2), ("standard", "yes", 1), ("standard", "", 0), ("quick", "yes", 0)]
)
def test_it_runs_with_full_and_for_flagged_steps_with_standard(
    tmp_path: Path, rigor: str, flag: str, sweeps: int
) -> None:
    plan = small_plan(replace(step("a"), review=flag), step("b", "a"))
    harness = build(tmp_path, agent := Sweeping(), plan=plan, rigor=rigor)

    run = harness.drive()

    assert len(agent.prompts) == sweeps
    assert sum(isinstance(one.event, StepLanded) for one in harness.store.tail(RUN)) == 2
    assert run.ended is not None
