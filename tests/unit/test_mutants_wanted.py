"""When mutants of a step's work are tried: before it lands, once it is done, or not at all."""

from __future__ import annotations

import pytest
from tests.unit.builders import COMMIT, TREE, TREE_2, Scene, attempt, checked, finish, prepared, run_started, step_of
from tests.unit.stepping import advance

from drumline.core import events as ev
from drumline.core.commands import Command, Land, Mutate
from drumline.core.ids import StepId
from drumline.core.mutants import Mutation, Survivor
from drumline.core.orders import orders_for
from drumline.core.plan import RUN_WALKS, Step
from drumline.core.proof import Against, Colour, Compared, Facts, Level, Proof, Reason, settle
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import Mutants
from drumline.record import replace

SURVIVOR = Survivor(path="a.py", line=2, before="==", after=">=")
FOUND = Mutation(tried=3, survivors=(SURVIVOR,))
RED = Compared(check=0, command="check 1", colour=Colour.RED)
JUDGED = [
    *prepared(),
    attempt(1),
    ev.AttemptEnded(node="implement", attempt=1, tree=TREE_2),
    *checked(),
    ev.ComparisonStarted(against=Against.BASE),
    ev.ComparisonEnded(against=Against.BASE, tree=TREE, found=(RED,)),
]
TRIED = [ev.MutantsStarted(tree=TREE_2), ev.MutantsEnded(found=FOUND, seconds=2.0)]


def run_of(mutants: Mutants, step: Step) -> RunState:
    return Scene(steps=[step], started=replace(run_started(), mutants=mutants)).run()


def next_of(events: list[ev.Event], mutants: Mutants, *, review: str = "") -> Command:
    step = replace(step_of("a"), review=review)
    run = run_of(mutants, step)
    return advance(orders_for(run, step), fold_step(StepState(), events), run)


@pytest.mark.parametrize(
    ("mutants", "review", "command"),
    [
        (Mutants.OFF, "", Land()),
        (Mutants.OFF, "strong", Land()),
        (Mutants.SHOW, "", Land()),
        (Mutants.SHOW, "strong", Mutate()),
        (Mutants.GATE, "", Mutate()),
    ],
)
def test_a_landing_waits_for_mutants_where_that_is_asked_for(mutants: Mutants, review: str, command: Command) -> None:
    assert next_of(JUDGED, mutants, review=review) == command


def test_they_are_tried_once_and_again_after_another_attempt() -> None:
    again = [attempt(2), ev.AttemptEnded(node="implement", attempt=2, tree=TREE_2), *checked()]

    assert next_of([*JUDGED, *TRIED], Mutants.GATE) == Land()
    assert next_of([*JUDGED, *TRIED, *again], Mutants.GATE) == Mutate()


def test_what_was_cut_short_is_tried_again() -> None:
    assert next_of([*JUDGED, TRIED[0], ev.WorkLost(what="mutating")], Mutants.GATE) == Mutate()


def test_a_survivor_lowers_the_level() -> None:
    facts = Facts(total=1, passed=1, same_tree=True, before=(Colour.RED,), survivors=True)

    assert settle(facts) == Proof(level=Level.KEPT, why=(Reason.SURVIVORS,))
    assert fold_step(StepState(), [*JUDGED, *TRIED]).mutants == FOUND


def test_what_is_tried_once_a_step_is_done_is_kept_with_it_and_changes_no_level() -> None:
    run = run_of(Mutants.SHOW, step_of("a"))

    fold_run(run, [finish("a"), ev.MutantsTried(step=StepId("a"), commit=COMMIT, found=FOUND)])

    assert run.finished[StepId("a")].mutants == FOUND
    assert run.finished[StepId("a")].is_proved


def test_mutants_of_an_earlier_landing_do_not_count() -> None:
    run = run_of(Mutants.SHOW, step_of("a"))

    fold_run(run, [finish("a", commit="d" * 40), ev.MutantsTried(step=StepId("a"), commit=COMMIT, found=FOUND)])

    assert run.finished[StepId("a")].mutants == Mutation()


def test_walks_of_the_run_have_none() -> None:
    run = run_of(Mutants.GATE, step_of("a"))

    assert {orders_for(run, walk).mutants for walk in RUN_WALKS.values()} == {Mutants.OFF}
