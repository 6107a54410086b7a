"""When a run walks its own flows, and what makes a walk of its own idle."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.builders import COMMIT, Scene, finish, gate_for, run_started, step_of

from drumline.core import events as ev
from drumline.core.commands import ClaimStep, EndRun, ParkRun, Wait
from drumline.core.decide import decide, take_up
from drumline.core.ids import FINAL, PREFLIGHT, GateId, StepId
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings, obstacle
from drumline.core.state import RunState
from drumline.core.vocabulary import Resettled, RunEnd

A, B = StepId("a"), StepId("b")
BOTH = (PREFLIGHT, FINAL)


def run_of(*events: ev.Event, mode: str = "parallel") -> RunState:
    return Scene(steps=[step_of("a"), step_of("b")], started=run_started(mode=mode), events=events).run()


def around(*, pending: Sequence[StepId] = BOTH, claimed: Sequence[StepId] = ()) -> Surroundings:
    return Surroundings(
        claimed=frozenset(claimed), marks={}, now=0.0, stale_after=1.0, claim_times={}, pending=frozenset(pending)
    )


def begin(step: StepId, number: int = 0) -> ev.StepStarted:
    return ev.StepStarted(step=step, round=number)


def test_nothing_begins_before_the_first_walk() -> None:
    run = run_of()

    assert decide(run, around(), slots=2) == [ClaimStep(step=PREFLIGHT)]
    assert decide(run, around(claimed=[PREFLIGHT]), slots=2) == [Wait(reason="steps are in work")]


def test_steps_begin_once_it_is_done() -> None:
    run = run_of(begin(PREFLIGHT), finish(PREFLIGHT))

    assert decide(run, around(pending=[]), slots=2) == [ClaimStep(step=A), ClaimStep(step=B)]


def test_a_first_walk_that_is_blocked_blocks_the_run() -> None:
    run = run_of(begin(PREFLIGHT), finish(PREFLIGHT, "blocked", reason="no"))

    assert decide(run, around(pending=[]), slots=2) == [
        EndRun(state=RunEnd.BLOCKED, reason="@preflight: no", step=PREFLIGHT)
    ]


def test_the_first_walk_comes_too_late_once_a_step_has_begun() -> None:
    run = run_of(begin(A), finish(A))

    assert decide(run, around(pending=[]), slots=2) == [ClaimStep(step=B)]


def test_a_step_that_waits_for_it_says_so() -> None:
    found = obstacle(run_of(begin(PREFLIGHT)), step_of("a"), around(pending=[]))

    assert found is not None
    assert (found.kind, found.steps) == ("turn", (PREFLIGHT,))


@pytest.mark.parametrize("last", [finish(B), finish(B, "skipped"), ev.StepsDeclared(steps=(B,))])
def test_the_last_walk_begins_when_every_step_is_over(last: ev.Event) -> None:
    run = run_of(begin(A), finish(A), last)

    assert decide(run, around(pending=[FINAL]), slots=2) == [ClaimStep(step=FINAL)]


def test_it_does_not_begin_if_a_step_is_blocked() -> None:
    run = run_of(begin(A), finish(A), begin(B), finish(B, "blocked", reason="no"))

    assert decide(run, around(pending=[FINAL]), slots=2) == [
        EndRun(state=RunEnd.BLOCKED, reason="b: no", step=StepId("b"))
    ]


def test_a_last_walk_with_nothing_to_do_is_not_begun() -> None:
    run = run_of(begin(A), finish(A), begin(B), finish(B))

    assert decide(run, around(pending=[]), slots=2) == [EndRun(state=RunEnd.DONE)]


def test_a_question_of_the_last_walk_parks_the_run() -> None:
    asks = gate_for("@final:ask", FINAL)
    given_back = ev.StepDeferred(step=FINAL, gates=(GateId("@final:ask"),))
    run = run_of(begin(A), finish(A), begin(B), finish(B), begin(FINAL), asks, given_back)

    assert decide(run, around(pending=[]), slots=2) == [ParkRun(gates=(GateId("@final:ask"),))]


def done_but(*more: ev.Event) -> RunState:
    return run_of(begin(A), finish(A), begin(B), finish(B), begin(FINAL), finish(FINAL), *more)


@pytest.mark.parametrize("change", [begin(A, 1), ev.BranchSettled(how=Resettled.KEPT, new=COMMIT)])
def test_what_changes_the_branch_makes_the_last_walk_idle(change: ev.Event) -> None:
    run = done_but(change)

    assert FINAL not in run.finished
    assert run.rounds[FINAL] == 1


def test_the_end_of_an_idle_round_does_not_count() -> None:
    run = run_of(begin(A), finish(A), begin(B), finish(B), begin(FINAL), begin(A, 1), finish(FINAL))

    assert FINAL not in run.finished
    assert FINAL not in run.working


def test_nothing_is_claimed_beside_a_walk_of_the_run() -> None:
    run = run_of(begin(PREFLIGHT), finish(PREFLIGHT), begin(FINAL))

    assert decide(run, around(pending=[], claimed=[FINAL]), slots=2) == [Wait(reason="steps are in work")]


@pytest.mark.parametrize("state", ["blocked", "failed"])
def test_a_resume_walks_it_again_whatever_stopped_it(state: str) -> None:
    run = run_of(begin(A), finish(A), begin(B), finish(B), begin(FINAL), finish(FINAL, state))

    again = take_up(run)
    fold_run(run, again)

    assert [event.step for event in again] == [FINAL]
    assert decide(run, around(pending=[]), slots=2) == [ClaimStep(step=FINAL)]


def test_a_walk_of_the_run_is_shown_once_it_has_begun() -> None:
    assert run_of().list_own_walks() == []
    assert [step.id for step in done_but().list_own_walks()] == [FINAL]
    assert done_but().finished[FINAL].proof is None
