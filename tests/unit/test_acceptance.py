"""A run whose steps are below the level that they must reach is done only with a person's yes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.builders import COMMIT, DRIVER, RUN, Scene, finish, run_started, step_of

from drumline.core import events as ev
from drumline.core.acceptance import foresee, is_accepted, list_doubts
from drumline.core.commands import Ask, Command, EndRun, ParkRun
from drumline.core.decide import decide
from drumline.core.gates import accept
from drumline.core.ids import Commit, GateId, StepId
from drumline.core.plan import Step
from drumline.core.proof import Level, Proof, Reason
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd
from drumline.record import replace

UNPROVED = finish("a", level=Level.UNPROVED, why=(Reason.NO_CHECKS,))
AROUND = Surroundings(claimed=frozenset(), marks={}, now=0.0, stale_after=1.0, claim_times={})
CHANGED = finish("a", level=Level.KEPT, why=(Reason.TESTS_CHANGED,))


def answered(choice: str, gate: str = "accept", *, comment: str = "") -> ev.GateAnswered:
    return ev.GateAnswered(gate=GateId(gate), choice=choice, comment=comment)


def begin(*events: ev.Event, steps: Sequence[Step] = (step_of("a"),), require: str = "kept") -> RunState:
    return Scene(steps=steps, started=replace(run_started(), require=require), events=events).run()


def next_of(run: RunState) -> Command:
    """The only command; a question is asked and what follows is next."""
    [command] = decide(run, AROUND, slots=1)
    if isinstance(command, Ask):
        fold_run(run, [command.opens])
        return next_of(run)
    return command


@pytest.mark.parametrize(
    ("proof", "require", "waits"),
    [
        (Proof(level=Level.PROVED), "proved", False),
        (Proof(level=Level.KEPT, why=(Reason.GREEN_BEFORE,)), "kept", False),
        (Proof(level=Level.KEPT, why=(Reason.GREEN_BEFORE,)), "proved", True),
        (Proof(level=Level.UNPROVED, why=(Reason.NO_CHECKS,)), "kept", True),
        (Proof(level=Level.UNPROVED, why=(Reason.NO_CHECKS,)), "none", False),
        (Proof(level=Level.READ_ONLY), "proved", False),
    ],
)
def test_a_run_waits_for_a_yes_to_steps_below_the_level_it_requires(proof: Proof, require: str, waits: bool) -> None:
    run = begin(finish("a", level=proof.level, why=proof.why), require=require)

    assert next_of(run) == (ParkRun(gates=(GateId("accept"),)) if waits else EndRun(state=RunEnd.DONE))


@pytest.mark.parametrize(("own", "waits"), [("none", False), ("", True)])
def test_the_level_that_a_step_names_counts_before_that_of_the_run(own: str, waits: bool) -> None:
    run = begin(UNPROVED, steps=[replace(step_of("a"), require=own)], require="proved")

    assert bool(list_doubts(run)) is waits


def test_one_question_names_every_step_with_its_level_and_reasons() -> None:
    run = begin(UNPROVED, finish("b"), finish("c", level=Level.UNPROVED, why=(Reason.NOT_RUN,)), steps=ABC)

    [ask] = decide(run, AROUND, slots=1)

    assert isinstance(ask, Ask)
    assert [(doubt.step, doubt.level, doubt.why) for doubt in ask.opens.doubts] == [
        ("a", Level.UNPROVED, (Reason.NO_CHECKS,)),
        ("c", Level.UNPROVED, (Reason.NOT_RUN,)),
    ]
    assert "a: unproved (no checks)" in ask.opens.question
    assert ask.opens.person_only


ABC = [step_of("a"), step_of("b"), step_of("c")]


def test_a_yes_ends_the_run_as_done_and_a_no_as_failed() -> None:
    good, bad = begin(UNPROVED), begin(UNPROVED)
    next_of(good), next_of(bad)

    fold_run(good, [answered("yes")])
    fold_run(bad, [answered("no", comment="write tests")])

    assert next_of(good) == EndRun(state=RunEnd.DONE)
    assert next_of(bad) == EndRun(state=RunEnd.FAILED, reason="not accepted by a person at gate accept: write tests")


def test_who_resumes_a_run_that_was_not_accepted_is_asked_again() -> None:
    run = begin(UNPROVED)
    next_of(run)

    fold_run(run, [answered("no"), ev.RunEnded(state=RunEnd.FAILED), ev.RunResumed(driver=DRIVER)])

    assert next_of(run) == ParkRun(gates=(GateId("accept.2"),))


def test_nothing_is_asked_while_a_step_is_blocked() -> None:
    run = begin(UNPROVED, finish("b", "blocked", reason="stuck"), finish("c"), steps=ABC)

    assert next_of(run) == EndRun(state=RunEnd.BLOCKED, reason="b: stuck", step=StepId("b"))


def test_a_yes_counts_for_what_landed_when_it_was_given() -> None:
    run = begin(UNPROVED)
    next_of(run)
    fold_run(run, [answered("yes")])

    fold_run(run, [ev.StepReopened(step=StepId("a"), redo=True), replace(UNPROVED, commit=Commit("c" * 40))])

    assert next_of(run) == ParkRun(gates=(GateId("accept.2"),))


def test_a_question_about_fewer_steps_than_there_are_now_is_withdrawn() -> None:
    run = begin(UNPROVED)
    next_of(run)

    fold_run(run, [ev.PlanChanged(changed=(step_of("b"),)), replace(UNPROVED, step=StepId("b"))])

    assert next_of(run) == ParkRun(gates=(GateId("accept.2"),))
    assert [*run.unanswered] == ["accept.2"]


def test_a_yes_makes_changed_tests_proved() -> None:
    run = begin(CHANGED, require="proved")
    next_of(run)

    fold_run(run, [answered("yes")])

    assert run.finished[StepId("a")].proof == Proof(level=Level.PROVED)
    assert next_of(run) == EndRun(state=RunEnd.DONE)


def test_a_yes_before_the_run_counts_for_what_was_known_then_and_for_nothing_else() -> None:
    asked = accept(foresee([step_of("a", checks=0)], (), require="kept"))
    known = begin(asked, answered("yes"), UNPROVED)
    unknown = begin(asked, answered("yes"), finish("a", level=Level.UNPROVED, why=(Reason.IGNORED,)))

    assert (next_of(known), is_accepted(known, StepId("a"))) == (EndRun(state=RunEnd.DONE), True)
    assert (next_of(unknown), is_accepted(unknown, StepId("a"))) == (ParkRun(gates=(GateId("accept.2"),)), False)


def test_steps_are_foreseen_that_nothing_can_prove() -> None:
    prose = replace(step_of("c"), not_run=("it is fast",))
    steps = [step_of("a"), step_of("b", checks=0), prose, replace(step_of("d", checks=0), require="none")]

    found = foresee(steps, (), require="kept")

    assert [(doubt.step, doubt.why, doubt.commit) for doubt in found] == [
        ("b", (Reason.NO_CHECKS,), None),
        ("c", (Reason.NOT_RUN,), None),
    ]
    assert [doubt.step for doubt in foresee(steps, ("make test",), require="kept")] == ["c"]
    assert foresee(steps, (), require="none") == ()


def test_a_flow_is_not_asked_about() -> None:
    pinned = ev.FlowPinned(flow="f", path="f.yaml", digest="", folder="")
    run = fold_run(RunState(id=RUN), [run_started(), pinned, replace(UNPROVED, step=StepId("flow"))])

    assert next_of(run) == EndRun(state=RunEnd.DONE)
    assert run.finished[StepId("flow")].commit == COMMIT
