"""What one step does next, case by case: budgets, checks, gates, and what a person decided."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.builders import (
    BASE,
    COMMIT,
    DRIVER,
    TREE,
    TREE_2,
    Scene,
    attempt,
    attempted,
    check_started,
    checked,
    finish,
    prepared,
    run_started,
    step_of,
)
from tests.unit.stepping import advance

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.checkfailure import explain
from drumline.core.commands import Attempt, Command, Finish, Land, Park, Prepare, Recheck, Restart, RunCheck
from drumline.core.ids import GateId, StepId, Tree
from drumline.core.life import OPEN, Phase
from drumline.core.orders import orders_for
from drumline.core.plan import Check, Step
from drumline.core.proof import Against, Colour, Compared
from drumline.core.rounds import reject
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.steprules import recover
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import RULES, WAITS, Failure, Reaction
from drumline.core.vocabulary import StepEnd
from drumline.record import replace

ONE = step_of("a")
TWO = step_of("a", checks=2)
NONE = step_of("a", checks=0)
ASSIGNED = ev.WorkspaceAssigned(path="w", base=BASE)
LANDING = ev.LandingStarted(commit=COMMIT, tree=TREE_2, head=BASE)
LANDED = ev.StepLanded(commit=COMMIT, tree=TREE_2)
COMPARED = [
    ev.ComparisonStarted(against=Against.BASE),
    ev.ComparisonEnded(
        against=Against.BASE, tree=TREE, found=(Compared(check=0, command="check 1", colour=Colour.RED),)
    ),
]
"""The check fails on the tree before the work."""


def run_of(step: Step, *events: ev.Event, autonomy: str = "autopilot") -> RunState:
    """A run of this one step."""
    return Scene(steps=[step], started=run_started(autonomy=autonomy), events=events).run()


def next_command(step: Step, events: Sequence[ev.Event], run: RunState | None = None) -> Command:
    """What follows these events of the step."""
    run = run or run_of(step)
    return advance(orders_for(run, step), fold_step(StepState(), events), run)


def verdict(check: int, before: str, after: str, *, exit_code: int | None = 0, failure: str = "") -> list[ev.Event]:
    """A check that ran on one tree and left another."""
    command = f"check {check + 1}"
    ended = ev.CheckEnded(
        check=check, command=command, tree=Tree(before), tree_after=Tree(after), exit_code=exit_code, failure=failure
    )
    return [ev.CheckStarted(check=check, command=command, tree=Tree(before)), ended]


def answered(gate: ev.GateOpened, choice: str, comment: str = "") -> list[ev.Event]:
    """A gate and its answer."""
    return [gate, ev.GateAnswered(gate=gate.gate, choice=choice, comment=comment)]


def reason_of(command: Command) -> str:
    """Why the step is finished."""
    assert isinstance(command, Finish)
    return command.reason


# --- the straight way -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], Prepare()),
        ([ASSIGNED, ev.WorkspaceFailed(reason="no space")], Finish(state=StepEnd.BLOCKED, reason="no space")),
        ([ASSIGNED, ev.WorkLost(what="preparing")], Prepare()),
        (prepared(), Attempt(node="implement", attempt=1, tier="standard")),
        ([*prepared(), *attempted(1)], RunCheck(number=0, check=Check(command="check 1"))),
        ([*prepared(), *attempted(1), *checked(), *COMPARED], Land()),
        ([*prepared(), *attempted(1), *checked(), *COMPARED, LANDING, ev.WorkLost(what="landing")], Land()),
        ([*prepared(), *attempted(1), *checked(), *COMPARED, LANDING, LANDED], Finish(state=StepEnd.DONE)),
    ],
    ids=["waiting", "no-workspace", "lost", "prepared", "worked", "proved", "landing-lost", "landed"],
)
def test_a_step_goes_from_its_workspace_to_its_landing(events: list[ev.Event], expected: Command) -> None:
    assert next_command(ONE, events) == expected


def test_a_step_without_checks_lands_after_its_attempt() -> None:
    assert next_command(NONE, [*prepared(), *attempted(1)]) == Land()


def test_configured_checks_come_after_the_step_s_own() -> None:
    run = run_of(ONE)
    run = fold_run(RunState(id=run.id), [_with_checks("lint"), *Scene(steps=[ONE]).history()[1:]])

    orders = orders_for(run, ONE)

    assert orders.checks == (Check(command="check 1"), Check(command="lint", source="config"))


def _with_checks(*commands: str) -> ev.RunStarted:
    started = run_started()
    values = {name: getattr(started, name) for name in ev.RunStarted.__struct_fields__}
    return ev.RunStarted(**{**values, "checks": commands})


def test_the_tier_of_the_step_is_asked_for() -> None:
    strong = Step(id=StepId("a"), title="A", tier="strong")

    command = next_command(strong, prepared())

    assert command == Attempt(node="implement", attempt=1, tier="strong")


@pytest.mark.parametrize(
    "events",
    [
        [ASSIGNED],
        [*prepared(), attempt(1)],
        [*prepared(), *attempted(1), check_started()],
        [*prepared(), *attempted(1), LANDING],
    ],
    ids=["preparing", "working", "checking", "landing"],
)
def test_an_open_intent_is_a_bug_for_advance_and_is_closed_by_recover(events: list[ev.Event]) -> None:
    state = fold_step(StepState(), events)
    assert state.phase in OPEN
    with pytest.raises(AssertionError, match=state.phase.value):
        next_command(ONE, events)

    lost = recover(state, DRIVER)

    assert lost == [ev.WorkLost(what=state.phase.value, driver=DRIVER)]
    assert fold_step(state, lost).phase not in OPEN


@pytest.mark.parametrize("events", [[], prepared(), [*prepared(), *attempted(1)]])
def test_there_is_nothing_to_recover_without_an_open_intent(events: list[ev.Event]) -> None:
    assert recover(fold_step(StepState(), events), DRIVER) == []


# --- failures of the agent --------------------------------------------------------------------------------------


def test_every_class_of_failure_has_a_rule() -> None:
    assert set(RULES) == set(Failure)


@pytest.mark.parametrize("failure", [f for f in Failure if RULES[f].reaction is Reaction.WAIT])
def test_a_failure_that_passes_waits_two_and_four_seconds_and_then_blocks(failure: Failure) -> None:
    events = prepared()
    delays = []
    for number in range(1, 4):
        events += attempted(number, failure=failure.value, message="busy")
        command = next_command(ONE, events)
        delays.append(command.delay if isinstance(command, Attempt) else None)

    assert delays == [*WAITS, None] == [2.0, 4.0, None]
    assert command == Finish(state=StepEnd.BLOCKED, reason=f"{RULES[failure].means}, 3 times in a row: busy")


def test_waiting_uses_up_no_fixes() -> None:
    events = [*prepared(), *attempted(1, failure="transient"), *attempted(2, failure="transient"), *attempted(3)]

    command = next_command(ONE, [*events, *checked(exit_code=1)])

    assert command == Attempt(node="implement", attempt=4, tier="standard")


def test_the_agent_may_fail_by_its_own_words_as_often_as_there_are_fixes() -> None:
    events = prepared()
    commands = []
    for number in range(1, 4):
        events += attempted(number, failure="validation", message="not yet")
        commands.append(next_command(ONE, events))

    assert commands == [
        Attempt(node="implement", attempt=2, tier="standard"),
        Attempt(node="implement", attempt=3, tier="strong"),
        Finish(state=StepEnd.BLOCKED, reason="the agent failed 3 times: not yet"),
    ]


@pytest.mark.parametrize("failure", [Failure.QUOTA, Failure.AUTH, Failure.BILLING])
def test_a_failure_that_a_person_has_to_mend_blocks_at_once(failure: Failure) -> None:
    command = next_command(ONE, [*prepared(), *attempted(1, failure=failure.value, message="401")])

    assert command == Finish(state=StepEnd.BLOCKED, reason=f"{RULES[failure].means}: 401")


@pytest.mark.parametrize(("message", "reason"), [("no such thing", "no such thing"), ("", "trying again cannot help")])
def test_a_permanent_failure_fails_the_step(message: str, reason: str) -> None:
    command = next_command(ONE, [*prepared(), *attempted(1, failure="permanent", message=message)])

    assert command == Finish(state=StepEnd.FAILED, reason=reason)


def test_a_lost_fix_is_tried_again_under_the_same_number() -> None:
    events = [*prepared(), *attempted(1), *checked(exit_code=1), attempt(2), ev.WorkLost(what="working")]

    assert next_command(ONE, events) == Attempt(node="implement", attempt=2, tier="standard")


@pytest.mark.parametrize(("tier", "next_tier"), [("fast", "standard"), ("standard", "strong"), ("strong", "strong")])
def test_the_second_fix_goes_one_tier_up_also_after_it_was_lost(tier: str, next_tier: str) -> None:
    step = replace(ONE, tier=tier)
    events = [*prepared(), *attempted(1), *checked(exit_code=1), *attempted(2), *checked(exit_code=1)]

    command = next_command(step, events)
    again = next_command(step, [*events, attempt(3), ev.WorkLost(what="working")])

    assert command == again == Attempt(node="implement", attempt=3, tier=next_tier)


def test_one_failure_and_one_fix_are_counted_in_the_singular() -> None:
    failed = [*prepared(), *attempted(1, failure="validation", message="not yet")]
    fixed = [*prepared(), *attempted(1), *checked(exit_code=1), *attempted(2), *checked(exit_code=1)]

    run = run_of(ONE)

    once, after = (
        advance(replace(orders_for(run, ONE), retries=retries), fold_step(StepState(), events), run)
        for retries, events in enumerate((failed, fixed))
    )

    assert once == Finish(state=StepEnd.BLOCKED, reason="the agent failed 1 time: not yet")
    assert after == Finish(state=StepEnd.BLOCKED, reason="still failing after 1 fix: check 1")


# --- checks -----------------------------------------------------------------------------------------------------


def test_all_checks_run_although_the_first_one_fails() -> None:
    events = [*prepared(), *attempted(1), *checked(0, exit_code=1)]

    assert next_command(TWO, events) == RunCheck(number=1, check=Check(command="check 2"))


def test_failing_checks_go_back_to_the_agent_twice_and_then_block() -> None:
    events = prepared()
    commands = []
    for number in range(1, 4):
        events += [*attempted(number), *checked(0, exit_code=1), *checked(1, exit_code=2)]
        commands.append(next_command(TWO, events))

    assert commands == [
        Attempt(node="implement", attempt=2, tier="standard"),
        Attempt(node="implement", attempt=3, tier="strong"),
        Finish(state=StepEnd.BLOCKED, reason="still failing after 2 fixes: check 1, check 2"),
    ]


def hindered(check: int = 0, failure: str = "tool") -> list[ev.Event]:
    """A check that this machine cannot run."""
    return verdict(check, TREE_2, TREE_2, exit_code=127, failure=failure)


@pytest.mark.parametrize(("failure", "delay"), [("tool", 0.0), ("network", 2.0)])
def test_a_check_that_this_machine_cannot_run_is_repeated_once_and_then_blocks(failure: str, delay: float) -> None:
    events = [*prepared(), *attempted(1), *hindered(failure=failure)]
    first = next_command(ONE, events)
    second = next_command(ONE, [*events, *hindered(failure=failure)])

    assert first == RunCheck(number=0, check=Check(command="check 1"), delay=delay)
    assert second == Finish(
        state=StepEnd.BLOCKED, reason=explain(failure, command="check 1", evidence=""), failure=failure
    )


def test_a_check_that_runs_when_it_is_repeated_counts() -> None:
    events = [*prepared(), *attempted(1), *hindered(), *verdict(0, TREE_2, TREE_2)]

    assert next_command(ONE, [*events, *COMPARED]) == Land()


def test_a_failure_of_the_work_goes_back_to_the_agent_before_a_check_that_cannot_run_counts() -> None:
    events = [*prepared(), *attempted(1), *hindered(0), *checked(1, exit_code=1)]

    command = next_command(TWO, events)
    state = fold_step(StepState(), [*events, attempt(2)])

    assert command == Attempt(node="implement", attempt=2, tier="standard")
    assert [told.check for told in state.feedback] == [1]


def test_checks_that_cannot_run_use_up_no_fix() -> None:
    events = [*prepared(), *attempted(1), *checked(exit_code=1), *attempted(2), *hindered(), *hindered()]

    state = fold_step(StepState(), events)

    assert state.fixes == 1
    assert isinstance(next_command(ONE, events), Finish)


REOPENED = ev.StepReopened(step=StepId("a"))


def test_a_retry_of_a_step_whose_check_could_not_run_keeps_its_work() -> None:
    events = [*prepared(), *attempted(1), *hindered(), *hindered()]
    run = run_of(ONE, REOPENED)
    first = next_command(ONE, events, run)
    events.append(ev.StepRechecked(round=1))

    assert first == Recheck(round=1)
    assert next_command(ONE, events, run) == RunCheck(number=0, check=Check(command="check 1"))
    assert next_command(ONE, [*events, *checked(), *COMPARED], run) == Land()


def test_a_retry_of_a_step_whose_text_was_edited_since_begins_from_nothing() -> None:
    events = [*prepared(), *attempted(1), *hindered(), *hindered()]
    blocked = ev.StepFinished(step=StepId("a"), state=StepEnd.BLOCKED, failure="tool")
    edited = ev.PlanChanged(changed=(replace(ONE, text_digest="new"),))

    assert next_command(ONE, events, run_of(ONE, blocked, edited, REOPENED)) == Restart(round=1)


def test_a_retry_of_a_step_whose_work_failed_begins_from_nothing() -> None:
    events = [*prepared(), *attempted(1), *hindered(0), *checked(1, exit_code=1)]

    assert next_command(TWO, events, run_of(TWO, REOPENED)) == Restart(round=1)


def void(check: int = 0, exit_code: int = 0) -> list[ev.Event]:
    """A check that changed files of the tree, which were restored."""
    command = f"check {check + 1}"
    ended = ev.CheckEnded(
        check=check, command=command, tree=TREE_2, tree_after=TREE_2, exit_code=exit_code, altered=("a.py",)
    )
    return [check_started(check), ended]


def test_a_check_that_changes_the_tree_counts_as_tried_and_does_not_block() -> None:
    events = [*prepared(), *attempted(1), *checked(0), *void(1)]

    state = fold_step(StepState(), events)

    assert next_command(TWO, events) == Land()
    assert (state.proves(0), state.proves(1)) == (True, False)
    assert [ended.command for ended in state.void()] == ["check 2"]


def test_a_check_that_fails_and_changes_the_tree_has_failed() -> None:
    events = [*prepared(), *attempted(1), *void(exit_code=1)]

    assert next_command(ONE, events) == Attempt(node="implement", attempt=2, tier="standard")
    assert fold_step(StepState(), events).void() == ()


def test_what_checks_leave_is_noticed_once_per_check() -> None:
    ran = checked()[1]
    assert isinstance(ran, ev.CheckEnded)
    left = replace(ran, created=("src/__pycache__/",))

    state = fold_step(
        StepState(), [*prepared(), *attempted(1), check_started(), left, *attempted(2), check_started(), left]
    )

    assert len(state.notices) == 1
    assert "src/__pycache__/; add what belongs to no commit to .gitignore" in state.notices[0]


def test_no_landing_without_a_proof_on_the_tree_as_it_is() -> None:
    events = [*prepared(), *attempted(1), *checked(), *COMPARED, *attempted(2)]

    assert next_command(ONE, events) == RunCheck(number=0, check=Check(command="check 1"))


def test_a_refused_landing_blocks_with_its_reason() -> None:
    events = [*prepared(), *attempted(1), *checked(), *COMPARED, LANDING, ev.LandingRefused(reason="conflict in a.py")]

    assert next_command(ONE, events) == Finish(state=StepEnd.BLOCKED, reason="conflict in a.py")


# --- gates ------------------------------------------------------------------------------------------------------


PROVED = [*prepared(), *attempted(1), *checked(), *COMPARED]


def test_verbose_autonomy_asks_before_landing() -> None:
    command = next_command(ONE, PROVED, run_of(ONE, autonomy="verbose"))

    assert command == Park(gate=GateId("approve-a"), opens=gates.approval(ONE, 1))


def test_an_approval_does_not_call_work_checked_that_nothing_proves() -> None:
    bare = replace(ONE, checks=())
    asked = [
        next_command(ONE, [*prepared(), *attempted(1), *void()], run_of(ONE, autonomy="verbose")),
        next_command(bare, [*prepared(), *attempted(1)], run_of(bare, autonomy="verbose")),
    ]

    questions = [command.opens.question for command in asked if isinstance(command, Park) and command.opens]
    assert "is not proved: its check changes the tree (check 1). Land it?" in questions[0]
    assert "has no checks: nothing proves it. Land it?" in questions[1]


def test_an_unanswered_approval_is_not_asked_twice() -> None:
    run = run_of(ONE, gates.approval(ONE, 1), autonomy="verbose")

    assert next_command(ONE, PROVED, run) == Park(gate=GateId("approve-a"))


@pytest.mark.parametrize(
    ("choice", "comment", "expected"),
    [
        ("approve", "", Land()),
        ("revise", "shorter", Attempt(node="implement", attempt=2, tier="standard", comment="shorter", revises=True)),
        (
            "reject",
            "wrong way",
            Finish(state=StepEnd.FAILED, reason="rejected: wrong way", rejected=True, said="wrong way"),
        ),
        (
            "reject",
            "",
            Finish(state=StepEnd.FAILED, reason="rejected by a person", rejected=True, said="by a person"),
        ),
    ],
)
def test_an_approval_lands_revises_or_rejects(choice: str, comment: str, expected: Command) -> None:
    run = run_of(ONE, *answered(gates.approval(ONE, 1), choice, comment), autonomy="verbose")

    assert next_command(ONE, PROVED, run) == expected


def test_a_rejection_without_a_comment_is_told_in_the_words_of_the_flow_s_end() -> None:
    told = reject("", otherwise="too late for this release")

    assert (told.reason, told.said) == ("too late for this release", "too late for this release")


REVISED = answered(gates.approval(ONE, 1), "revise", "shorter")


@pytest.mark.parametrize(
    "after",
    [
        [attempt(2), ev.WorkLost(what="working")],
        attempted(2, failure="transient"),
        [*attempted(2), *checked(exit_code=1)],
    ],
    ids=["lost", "transient", "check-failed"],
)
def test_what_a_person_asked_for_is_told_until_it_is_done(after: list[ev.Event]) -> None:
    run = run_of(ONE, *REVISED, autonomy="verbose")

    command = next_command(ONE, [*PROVED, *after], run)

    assert isinstance(command, Attempt)
    assert command.comment == "shorter"


def test_a_revised_step_is_asked_about_again_and_revising_uses_up_no_fix() -> None:
    run = run_of(ONE, *REVISED, autonomy="verbose")
    events = [*PROVED, *attempted(2), *checked(), *COMPARED]

    command = next_command(ONE, events, run)

    assert command == Park(gate=GateId("approve-a.2"), opens=gates.approval(ONE, 2, asked=1))
    assert fold_step(StepState(), events).fixes == 0


def test_the_latest_wish_is_the_one_that_counts() -> None:
    again = answered(gates.approval(ONE, 2, asked=1), "revise", "longer")
    run = run_of(ONE, *REVISED, *again, autonomy="verbose")

    command = next_command(ONE, [*PROVED, *attempted(2), *checked(), *COMPARED], run)

    assert command == Attempt(node="implement", attempt=3, tier="standard", comment="longer", revises=True)


@pytest.mark.parametrize("events", [[], prepared(), [*prepared(), *attempted(1)], PROVED])
def test_an_edited_step_parks_until_its_gate_is_answered(events: list[ev.Event]) -> None:
    gate = gates.edit(ONE)

    asked = next_command(ONE, events, run_of(ONE, gate))
    answer = next_command(ONE, events, run_of(ONE, *answered(gate, "continue")))

    assert asked == Park(gate=gate.gate)
    assert answer == next_command(ONE, events)


def test_a_gate_about_another_step_does_not_park_this_one() -> None:
    other = step_of("b")
    run = Scene(steps=[ONE, other], events=[gates.edit(other)]).run()

    assert next_command(ONE, prepared(), run) == Attempt(node="implement", attempt=1, tier="standard")


def test_the_first_approval_after_a_fix_has_the_plain_name() -> None:
    events = [*prepared(), *attempted(1), *checked(exit_code=1), *attempted(2), *checked(), *COMPARED]

    command = next_command(ONE, events, run_of(ONE, autonomy="verbose"))

    assert command == Park(gate=GateId("approve-a"), opens=gates.approval(ONE, 2))


# --- rounds -----------------------------------------------------------------------------------------------------


REOPENED = ev.StepReopened(step=StepId("a"))


@pytest.mark.parametrize("events", [[], prepared(), [*prepared(), *attempted(1)], [*PROVED]])
def test_a_reopened_step_begins_a_new_round_first(events: list[ev.Event]) -> None:
    assert next_command(ONE, events, run_of(ONE, REOPENED)) == Restart(round=1)


def test_what_has_landed_is_finished_whatever_a_person_wants_unless_it_had_been_finished_by_then() -> None:
    redo = ev.StepReopened(step=StepId("a"), redo=True)

    assert next_command(ONE, [*PROVED, LANDING, LANDED], run_of(ONE, REOPENED)) == Finish(state=StepEnd.DONE)
    assert next_command(ONE, [*PROVED, LANDING, LANDED], run_of(ONE, finish("a"), redo)) == Restart(round=1)


def test_a_step_that_is_done_again_looks_for_no_earlier_landing() -> None:
    state = fold_step(StepState(), [*PROVED, LANDING, LANDED, ev.StepRestarted(round=1)])

    assert (state.landed, state.landing_head, state.candidate) == (None, None, None)


def test_a_restarted_step_prepares_a_fresh_workspace_and_counts_on() -> None:
    run = run_of(ONE, REOPENED)
    events = [*prepared(), *attempted(1), *checked(exit_code=1), ev.StepRestarted(round=1)]

    first = next_command(ONE, events, run)
    second = next_command(ONE, [*events, *prepared()], run)

    assert first == Prepare()
    assert second == Attempt(node="implement", attempt=2, tier="standard")


def test_a_restarted_step_has_all_its_fixes_again() -> None:
    run = run_of(ONE, REOPENED)
    events = prepared()
    for number in range(1, 4):
        events += [*attempted(number), *checked(exit_code=1)]
    events += [ev.StepRestarted(round=1), *prepared(), *attempted(4), *checked(exit_code=1)]

    assert next_command(ONE, events, run) == Attempt(node="implement", attempt=5, tier="standard")


@pytest.mark.parametrize("late", [[gates.edit(ONE)], [*answered(gates.edit(ONE), "restart"), REOPENED]])
def test_what_has_landed_is_finished_whatever_was_asked_meanwhile(late: list[ev.Event]) -> None:
    events = [*PROVED, LANDING, LANDED]

    command = next_command(ONE, events, run_of(ONE, *late))

    assert command == Finish(state=StepEnd.DONE)


def test_the_phases_of_the_table_are_all_answered() -> None:
    ends = {
        Phase.WAITING: [],
        Phase.PREPARED: prepared(),
        Phase.WORKED: PROVED,
        Phase.LANDED: [*PROVED, LANDING, LANDED],
    }

    assert set(Phase) - OPEN == set(ends)
    assert all(next_command(ONE, events) for events in ends.values())
