"""Nodes `plan` and `document`: what a flow adds to the plan and what it writes, wherever the process dies."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Died, Harness, WritingAgent, small_plan, step

from drumline.core.events import CorrectionPlanned, CorrectionRefused, DocumentWritten, FileWritten, PlanChanged
from drumline.core.ids import StepId, Stream
from drumline.core.plan import Plan, Status
from drumline.core.state import RunState
from drumline.core.vocabulary import DocumentKind, PlanCause
from drumline.errors import InvalidInput
from drumline.ports.journal import Message
from drumline.ports.planfiles import Correction
from drumline.testing.planfiles import FakePlanFiles

A, AH, B = StepId("a"), StepId("ah"), StepId("b")

HEALING = """
name: healing
start: workspace
nodes:
  workspace: {type: workspace, next: work}
  work: {type: agent, agent: default, prompt: "{{initial_prompt}}", next: checks}
  checks: {type: check, on_pass: land, on_fail: again}
  again:
    type: route
    cases: [{when: "step.heals < 1", to: heal}]
    otherwise: stuck
  heal:
    type: plan
    cause: heal
    title: "Fix {{step.title}} another way"
    what: "Make `{{check.failed}}` pass."
    why: "{{check.failed}} fails"
    files: ["{{step.files}}"]
    test: "check ah"
    next: healing
    fallback: refused
  healing: {type: end, status: blocked, output: "waits for {{plan.step}}"}
  land: {type: land, next: handoff}
  handoff:
    type: document
    kind: handoff
    sections: [What changed]
    template: |
      # {{step.id}}

      ## What changed

      {{step.title}}
    next: done
  done: {type: end, status: done}
  stuck: {type: end, status: blocked, output: "{{check.failed}} fails"}
  refused: {type: end, status: blocked, output: "the plan cannot be healed"}
"""


def build(folder: Path, text: str = HEALING, *, plan: Plan | None = None) -> Harness:
    """Two steps, of which the first fails its check in its first attempt; each walks the flow."""
    place = folder / ".drumline" / "flows" / "healing.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")
    steps = plan or small_plan(step("a"), step("b", "a"))
    return Harness(folder=folder, plan=steps, agent=WritingAgent({"a": 1}), flow="healing", mode="sequential")


def told(harness: Harness, kind: type) -> list[object]:
    return [one.event for one in harness.store.read(Stream(RUN)) if isinstance(one.event, kind)]


def assert_healed(harness: Harness, run: RunState, context: object = "") -> None:
    assert run.ended is not None, context
    assert run.ended.state == "done", (context, run.ended)
    assert [name for _, name in harness.workspaces.log()] == ["ah", "a", "b"], context
    assert run.plan.by_id[A].needs == (AH,), context
    assert run.plan.by_id[AH].needs == (), context
    assert [one.id for one in run.plan.steps] == ["a", "ah", "b"], context
    assert {harness.planfiles.marks(one).status for one in run.plan.steps} == {Status.DONE}, context
    assert set(harness.planfiles.documents) == {f"plan/{name}-handoff.md" for name in ("a", "ah", "b")}, context
    assert not run.unfiled, context
    assert not run.unwritten, context
    assert not run.gates, context
    assert not harness.store.list_claims(RUN), context


def test_a_corrective_step_is_written_into_the_plan_and_then_the_step_is_tried_again(tmp_path: Path) -> None:
    harness = build(tmp_path)

    run = harness.drive()

    assert_healed(harness, run)
    [planned] = told(harness, CorrectionPlanned)
    [changed] = told(harness, PlanChanged)
    assert isinstance(planned, CorrectionPlanned)
    assert isinstance(changed, PlanChanged)
    assert (planned.correction.id, planned.helps, planned.correction.test) == ("ah", "a", "check ah")
    assert (changed.cause, changed.origin, [one.id for one in changed.changed]) == (PlanCause.HEAL, "a", ["ah", "a"])
    assert run.finished[A].attempts == 2


def test_a_document_is_kept_in_the_journal_and_put_in_its_place(tmp_path: Path) -> None:
    harness = build(tmp_path)

    harness.drive()

    documents = [event for event in told(harness, DocumentWritten) if isinstance(event, DocumentWritten)]
    assert [(one.step, one.kind, one.path) for one in documents] == [
        (name, DocumentKind.HANDOFF, f"plan/{name}-handoff.md") for name in ("ah", "a", "b")
    ]
    assert harness.planfiles.documents["plan/b-handoff.md"] == "# b\n\n## What changed\n\nDo b\n"
    assert len(told(harness, FileWritten)) == 3


def test_somebody_elses_file_in_the_place_of_a_document_stays(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.planfiles.documents["plan/b-handoff.md"] = "mine\n"

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert harness.planfiles.documents["plan/b-handoff.md"] == "mine\n"
    assert list(run.unwritten) == ["plan/b-handoff.md"]


class FullPlan(FakePlanFiles):
    """A plan that takes no further step."""

    def insert(self, correction: Correction, *, helps: object) -> str:
        raise InvalidInput(f"{correction.id} does not fit in", hint="drumline validate plan")


def test_a_plan_that_takes_no_step_leads_to_the_fallback(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.planfiles = FullPlan(harness.plan)

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.reason == "a: the plan cannot be healed"
    [refused] = told(harness, CorrectionRefused)
    assert isinstance(refused, CorrectionRefused)
    assert refused.reason == "ah does not fit in"
    assert not run.corrections


def test_a_document_with_faults_fails_its_node(tmp_path: Path) -> None:
    harness = build(tmp_path, HEALING.replace("[What changed]", "[What changed, Evidence]"))
    harness.agent = WritingAgent()

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "blocked"
    assert "it has no section 'Evidence'" in run.ended.reason
    assert told(harness, DocumentWritten) == []


def test_the_edit_of_the_engine_is_nobodys_question(tmp_path: Path) -> None:
    harness = build(tmp_path)

    run = harness.drive()

    assert run.gates == {}
    assert [event.cause for event in told(harness, PlanChanged) if isinstance(event, PlanChanged)] == [PlanCause.HEAL]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_plan_is_healed_once_wherever_the_process_dies(tmp_path: Path, when: str) -> None:
    whole = build(tmp_path / "whole")
    whole.drive()

    for nth in range(1, whole.store.appends + 1):
        harness = build(tmp_path / str(nth))
        harness.die_at(nth, when=when)
        run = harness.drive_through()

        assert_healed(harness, run, nth)
        assert len(told(harness, CorrectionPlanned)) == 1, nth
        assert len({str(event) for event in told(harness, DocumentWritten)}) == 3, nth


def test_a_correction_whose_walk_is_gone_is_written_by_who_drives_on(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.store.after = lambda number: harness.life.end() if told(harness, CorrectionPlanned) else None
    with suppress(Died, BaseExceptionGroup):
        harness.drive()
    harness.store.after = None
    harness.send(Message(kind="skip", subject="a", comment="never mind"))

    run = harness.drive()

    assert run.finished[A].state == "skipped"
    assert AH in run.plan.by_id
    assert not run.unfiled
