"""The fold of a step's stream: counts, proofs, budgets, and what a new round forgets."""

from __future__ import annotations

import pytest
from tests.unit.builders import BASE, COMMIT, DRIVER, TREE, TREE_2, attempt, attempted, check_started, checked, prepared

from drumline.core import events as ev
from drumline.core.ids import NO_DRIVER, Tree
from drumline.core.life import Phase
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import Failure
from drumline.errors import NotAllowed
from drumline.record import replace

TREE_3 = Tree("v" * 40)
LOST = ev.WorkLost(what="working", driver=DRIVER)


def fold(*events: ev.Event) -> StepState:
    """The state after a workspace was prepared and the given events."""
    return fold_step(StepState(), [*prepared(), *events])


def verdict(check: int, before: Tree, after: Tree, *, exit_code: int | None = 0) -> list[ev.Event]:
    """A check that ran on one tree and left another."""
    command = f"check {check + 1}"
    return [
        ev.CheckStarted(check=check, command=command, tree=before),
        ev.CheckEnded(check=check, command=command, tree=before, tree_after=after, exit_code=exit_code),
    ]


def test_every_event_counts_as_one_version() -> None:
    assert fold(*attempted(1)).version == 5


def test_an_illegal_event_is_refused_and_changes_nothing_further() -> None:
    state = fold()

    with pytest.raises(NotAllowed):
        fold_step(state, [ev.StepLanded(commit=COMMIT, tree=TREE)])

    assert (state.phase, state.version, state.landed) == (Phase.PREPARED, 3, None)


@pytest.mark.parametrize(("before", "phase"), [([], Phase.PREPARED), (attempted(1), Phase.WORKED)])
@pytest.mark.parametrize("ends", [True, False])
def test_who_only_reads_leaves_the_step_as_far_as_it_was(before: list[ev.Event], phase: Phase, ends: bool) -> None:
    number = len(before) // 2 + 1
    reading = ev.AttemptStarted(node="orient", attempt=number, tree=TREE, by_visit=True, reads=True)
    read = ev.AttemptEnded(node="orient", attempt=number, tree=TREE)

    state = fold(*before, reading, read if ends else LOST)

    assert (state.phase, state.tried, state.fixes) == (phase, len(before) // 2, 0)


def test_a_claim_names_its_driver_until_it_is_given_back() -> None:
    state = fold()
    claimed_by = state.driver

    fold_step(state, [ev.StepReleased(reason="gate x")])

    assert (claimed_by, state.driver) == (DRIVER, NO_DRIVER)


def test_a_workspace_has_its_base_and_tree() -> None:
    state = fold()

    assert (state.base, state.tree, state.workspace, state.phase) == (BASE, TREE, "w", Phase.PREPARED)


def test_a_failed_workspace_leaves_its_reason_until_the_next_one_is_assigned() -> None:
    assigned = ev.WorkspaceAssigned(path="w", base=BASE)
    state = fold_step(StepState(), [assigned, ev.WorkspaceFailed(reason="no space")])
    trouble = state.trouble

    fold_step(state, [assigned])

    assert (trouble, state.trouble) == ("no space", "")


@pytest.mark.parametrize("failure", [None, *Failure])
def test_the_last_attempt_says_how_it_failed(failure: Failure | None) -> None:
    state = fold(*attempted(1, failure=failure.value if failure else ""))

    assert (state.failure, state.attempts, state.tree) == (failure, 1, TREE_2)


def test_seconds_and_usage_add_up() -> None:
    first = ev.AttemptEnded(node="implement", attempt=1, tree=TREE, seconds=2.0, usage={"input": 10.0, "output": 1.0})
    second = ev.AttemptEnded(node="implement", attempt=2, tree=TREE, seconds=3.0, usage={"input": 5.0})

    state = fold(attempt(1), first, attempt(2), second)

    assert (state.seconds, state.usage) == (5.0, {"input": 15.0, "output": 1.0})


def test_a_lost_attempt_counts_as_none_and_uses_no_budget_twice() -> None:
    failing = [*attempted(1), *checked(exit_code=1)]

    state = fold(*failing, attempt(2), LOST, attempt(2), LOST)

    assert (state.attempts, state.fixes, state.phase) == (1, 1, Phase.PREPARED)
    assert [f.command for f in state.feedback] == ["check 1"]


def test_a_lost_wait_is_counted_once() -> None:
    state = fold(*attempted(1, failure="transient"), attempt(2, delay=2.0), LOST, attempt(2))

    assert (state.waits, state.fixes) == (1, 0)


@pytest.mark.parametrize(
    ("failure", "fixes", "waits"),
    [("validation", 1, 0), ("transient", 0, 1), ("crash", 0, 1), ("", 0, 0)],
)
def test_only_failures_of_the_work_itself_use_up_fixes(failure: str, fixes: int, waits: int) -> None:
    state = fold(*attempted(1, failure=failure), attempt(2))

    assert (state.fixes, state.waits) == (fixes, waits)


def test_a_failing_check_uses_up_a_fix_and_is_told_to_the_agent() -> None:
    state = fold(*attempted(1), *checked(exit_code=1), attempt(2))

    assert state.fixes == 1
    assert [f.exit_code for f in state.feedback] == [1]
    assert state.verdicts == {}


def test_an_agent_s_own_words_about_its_failure_are_kept_for_the_next_attempt() -> None:
    state = fold(*attempted(1, failure="validation", message="cannot find it"), attempt(2))

    assert state.complaint == "cannot find it"


def test_what_a_review_sends_back_is_introduced_to_the_agent_and_recorded_without_the_introduction() -> None:
    back = replace(attempt(2), complaint="- step-1-F1 [blocker] It is lost", reviewed=True)

    state = fold(*attempted(1), *checked(), back)

    assert state.complaint.startswith("A reviewer looked at your work")
    assert state.complaint.endswith(back.complaint)


@pytest.mark.parametrize("passing", ["transient", "crash"])
def test_a_failure_that_passes_does_not_make_the_agent_forget_what_to_fix(passing: str) -> None:
    failing = [*attempted(1), *checked(exit_code=1)]

    state = fold(*failing, *attempted(2, failure=passing, message="429"), attempt(3))

    assert [f.command for f in state.feedback] == ["check 1"]
    assert state.complaint == ""
    assert (state.fixes, state.waits) == (1, 1)


def test_waits_count_only_in_a_row() -> None:
    busy = attempted(1, failure="transient")

    state = fold(*busy, *attempted(2), *checked(exit_code=1), attempt(3))

    assert (state.waits, state.fixes) == (0, 1)


def test_a_check_proves_only_the_tree_it_ran_on_and_left() -> None:
    state = fold(*attempted(1), *verdict(0, TREE_2, TREE_2))

    assert state.proves(0)
    assert not state.proves(1)


@pytest.mark.parametrize("exit_code", [1, 127, None])
def test_a_check_that_did_not_pass_proves_nothing(exit_code: int | None) -> None:
    state = fold(*attempted(1), *verdict(0, TREE_2, TREE_2, exit_code=exit_code))

    assert not state.proves(0)
    assert [f.check for f in state.failing()] == [0]


def test_a_lost_check_leaves_no_verdict() -> None:
    state = fold(*attempted(1), check_started(), ev.WorkLost(what="checking"))

    assert (state.phase, state.verdicts) == (Phase.WORKED, {})


def test_a_landing_keeps_the_head_of_its_first_intent() -> None:
    first, second = (ev.LandingStarted(commit=COMMIT, tree=TREE_2, head=h) for h in (BASE, COMMIT))

    state = fold(*attempted(1), first, ev.WorkLost(what="landing"), second)

    assert (state.landing_head, state.candidate) == (BASE, COMMIT)


def test_a_refused_landing_is_forgotten_by_the_next_attempt() -> None:
    landing = ev.LandingStarted(commit=COMMIT, tree=TREE_2, head=BASE)
    refused = ev.LandingRefused(reason="conflict", conflicts=("a",))
    state = fold(*attempted(1), landing, refused)
    before = state.refused

    fold_step(state, [attempt(2)])

    assert (before, state.refused) == (refused, None)


def test_a_landed_step_knows_its_commit() -> None:
    landed = ev.StepLanded(commit=COMMIT, tree=TREE_2)

    state = fold(*attempted(1), ev.LandingStarted(commit=COMMIT, tree=TREE_2, head=BASE), landed)

    assert (state.landed, state.phase) == (landed, Phase.LANDED)


def test_a_new_round_has_fresh_budgets_but_keeps_counting_attempts() -> None:
    failing = [*attempted(1), *checked(exit_code=1), *attempted(2, failure="transient")]

    state = fold(*failing, attempt(3), LOST, ev.StepRestarted(round=1))

    assert (state.round, state.phase) == (1, Phase.WAITING)
    assert (state.fixes, state.waits, state.base, state.tree, state.landing_head) == (0, 0, None, None, None)
    assert state.attempts == 2


def test_a_work_tree_is_fresh_until_an_attempt_has_ended_in_it() -> None:
    failing = [*attempted(1), *checked(exit_code=1)]
    again = [ev.StepRestarted(round=1), *prepared()]

    assert [fold(*e).fresh for e in ([], failing, [*failing, attempt(2), LOST], [*failing, *again])] == [
        True,
        False,
        False,
        True,
    ]


def test_a_new_round_still_knows_which_checks_failed_before() -> None:
    state = fold(*attempted(1), *checked(exit_code=1), ev.StepRestarted(round=1))

    assert [f.command for f in state.feedback] == ["check 1"]
    assert state.verdicts == {}


def test_the_same_events_give_the_same_state() -> None:
    events = [*prepared(), *attempted(1), *checked(exit_code=1), *attempted(2), *checked()]

    assert fold_step(StepState(), events) == fold_step(fold_step(StepState(), events[:6]), events[6:])
