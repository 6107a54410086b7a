"""What a document must be before it is kept, and what corrective steps are called and lead to."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, finish, step_of

from drumline.core import events as ev
from drumline.core.checklist import list_checks
from drumline.core.commands import Heal, Reopen
from drumline.core.corrections import count_corrections, list_helped, name_correction
from drumline.core.decide import decide
from drumline.core.documents import find_faults
from drumline.core.ids import StepId
from drumline.core.orders import orders_for
from drumline.core.plan import Check, Correction
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.vocabulary import PlanCause
from drumline.record import replace

WHOLE = "# Handoff\n\n## What changed\n\nA file.\n\n## Evidence (by checks)\n\n```\n## not a heading\n```\n\n## Next\n"


@pytest.mark.parametrize(
    ("text", "sections", "faults"),
    [
        (WHOLE, ["What changed", "Evidence"], []),
        (WHOLE, ["Next"], ["its section 'Next' is empty"]),
        (WHOLE, ["Not a heading", "Risks"], ["it has no section 'Not a heading'", "it has no section 'Risks'"]),
        (" \n", [], ["it is empty"]),
        ("# A\n\n## B\n\ntext\n", ["A", "B"], []),
        ("x" * 101, [], ["it has 101 bytes; 100 are allowed"]),
    ],
    ids=["whole", "empty-section", "in-code", "empty", "nested", "long"],
)
def test_all_that_is_wrong_with_a_document_is_told(text: str, sections: list[str], faults: list[str]) -> None:
    assert find_faults(text, sections=sections, most_bytes=100 if "x" in text[:1] else 1_000) == faults


A, AH = StepId("a"), StepId("ah")


def planned(name: str = "ah", *, number: int = 0, test: str = "") -> ev.CorrectionPlanned:
    return ev.CorrectionPlanned(
        correction=Correction(id=StepId(name), title="t", what="w", why="y", test=test),
        helps=A,
        cause=PlanCause.HEAL,
        origin=A,
        node="heal",
        visit=1,
        round=number,
    )


def run_of(*events: ev.Event) -> RunState:
    return Scene(steps=[step_of("a"), step_of("b")], events=events).run()


OWN = replace(step_of("ah"), checks=(Check(command="test -f ground.txt"),))
FILED = ev.PlanChanged(
    changed=(OWN, replace(step_of("a"), needs=(AH,))), cause=PlanCause.HEAL, order=(A, AH, StepId("b"))
)
BLOCKED = finish("a", "blocked", reason="waits for ah")
NOTHING = Surroundings(claimed=frozenset(), marks={}, now=0.0, stale_after=1.0, claim_times={})


def test_corrective_steps_are_numbered_from_the_second_on() -> None:
    names = [name_correction(run_of(*events), A) for events in ([], [planned()], [planned(), planned("ah2")])]

    assert names == ["ah", "ah2", "ah3"]
    assert count_corrections(run_of(planned(), planned("ah2")), A) == 2


def test_a_name_that_a_plan_has_is_not_given_again() -> None:
    run = run_of(FILED, ev.PlanChanged(removed=(AH,)))

    assert name_correction(run, A) == "ah2"


def test_a_blocked_step_is_tried_again_once_when_its_corrective_step_is_done() -> None:
    events = [ev.StepStarted(step=A), planned(test="test -f ground.txt"), FILED, BLOCKED]
    waiting, done = run_of(*events), run_of(*events, ev.StepStarted(step=AH), finish("ah"))
    again = run_of(*events, finish("ah"), ev.StepReopened(step=A), ev.StepStarted(step=A, round=1), BLOCKED)

    assert list_helped(waiting) == []
    assert decide(done, NOTHING, slots=1) == [Reopen(step=A, reason="its corrective step ah is done")]
    assert list_helped(again) == []


def test_a_step_is_done_when_all_its_checks_passed_on_what_its_corrective_step_landed() -> None:
    filed = replace(FILED, changed=(replace(OWN, checks=()), FILED.changed[1]))
    run = run_of(ev.StepStarted(step=A), planned(), filed, BLOCKED, ev.StepStarted(step=AH), finish("ah"))

    assert decide(run, NOTHING, slots=1) == [Heal(step=A, by=AH)]
    assert [check.command for check in orders_for(run, run.plan.by_id[AH]).checks] == ["check 1"]


def test_a_corrective_step_without_a_test_of_its_own_is_judged_by_both() -> None:
    listed = Check(command="check 1", line=7)
    run = run_of(planned(), replace(FILED, changed=(replace(OWN, checks=(*OWN.checks, listed)), FILED.changed[1])))

    found = list_checks(run, run.plan.by_id[AH])

    assert [(check.command, check.line) for check in found] == [("check 1", 7), ("test -f ground.txt", 0)]


def test_a_corrective_step_that_is_blocked_helps_nobody() -> None:
    run = run_of(ev.StepStarted(step=A), planned(), FILED, BLOCKED, finish("ah", "blocked"))

    assert list_helped(run) == []


def test_a_selection_includes_what_helps_its_steps() -> None:
    scene = Scene(steps=[step_of("a"), step_of("b")], events=[planned(), FILED])
    scene.started = replace(scene.started, selection=(A,), named=True)

    assert [step.id for step in scene.run().selected()] == ["a", "ah"]
