"""What the run does next, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.unit.builders import COMMIT, DRIVER, Scene, by_hand, finish, gate_for, run_started, step_of

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.commands import Ask, ClaimStep, Close, Command, Declare, EndRun, ParkRun, Reopen, Wait
from drumline.core.decide import decide, take_up
from drumline.core.ids import DriverId, GateId, StepId
from drumline.core.plan import Marks, Status, Step
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode, RunEnd, StepEnd
from drumline.record import replace

NOW = 10_000.0
A, B, C = StepId("a"), StepId("b"), StepId("c")
DIAMOND = [step_of("a"), step_of("b", "a"), step_of("c", "a"), step_of("d", "b", "c")]
PAIR = [step_of("a"), step_of("b")]
DONE, READY = Marks(status=Status.DONE), Marks()
FRESH = Marks(status=Status.CLAIMED, assignee="somebody", claimed_at="now")
UNOWNED = Marks(status=Status.CLAIMED)


def run_of(steps: Sequence[Step], *events: ev.Event, started: ev.RunStarted | None = None) -> RunState:
    """A run told by its events."""
    return Scene(steps=steps, started=started or run_started(), events=events).run()


def around(marks: Mapping[str, Marks] | None = None, *, claimed: Sequence[str] = ()) -> Surroundings:
    """The world; foreign claims are from this moment."""
    return Surroundings(
        claimed=frozenset(StepId(c) for c in claimed),
        marks={StepId(s): m for s, m in (marks or {}).items()},
        now=NOW,
        stale_after=3_600.0,
        claim_times={StepId(s): NOW for s, m in (marks or {}).items() if m.claimed_at},
    )


def commands(run: RunState, harness: Surroundings | None = None, *, slots: int = 2) -> list[Command]:
    """What the run does next."""
    return decide(run, harness or around(), slots=slots)


def claims(*steps: str) -> list[Command]:
    """Claim these steps."""
    return [ClaimStep(step=StepId(step)) for step in steps]


def answer(gate: str, choice: str, comment: str = "") -> ev.GateAnswered:
    """What a person said."""
    return ev.GateAnswered(gate=GateId(gate), choice=choice, comment=comment)


# --- claiming ---------------------------------------------------------------------------------------------------


SEQUENTIAL = run_started(mode="sequential")
PENDING = [Wait(reason="steps are in work")]


def test_parallel_mode_claims_as_many_as_there_are_slots() -> None:
    run = run_of([step_of(name) for name in "abc"])

    assert commands(run, slots=2) == claims("a", "b")
    assert commands(run, slots=9) == claims("a", "b", "c")
    assert commands(run, slots=0) == PENDING


def test_sequential_mode_claims_one_at_a_time_in_plan_order() -> None:
    run = run_of(PAIR, started=SEQUENTIAL)

    assert commands(run, slots=4) == claims("a")
    assert commands(run, around(claimed=["a"]), slots=4) == PENDING


def test_a_step_in_work_elsewhere_is_waited_for() -> None:
    run = run_of(DIAMOND, ev.StepStarted(step=A))

    assert commands(run, around(claimed=["a"])) == PENDING


def test_steps_that_clash_are_claimed_one_after_the_other() -> None:
    steps = [replace(step_of(name), files=("same.py",)) for name in "ab"]

    assert commands(run_of(steps)) == claims("a")
    assert commands(run_of(steps), around(claimed=["a"])) == PENDING


def test_a_change_of_mode_counts_for_what_is_not_yet_claimed() -> None:
    run = run_of(PAIR, ev.ModeChanged(mode=Mode.SEQUENTIAL))

    assert commands(run) == claims("a")


def test_the_same_state_gives_the_same_commands() -> None:
    def once() -> list[Command]:
        return commands(run_of(DIAMOND, finish("a")), around({"d": FRESH}))

    assert once() == once() == claims("b", "c")


# --- the run's end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([finish("a"), finish("b")], EndRun(state=RunEnd.DONE)),
        ([finish("a"), finish("b", "skipped")], EndRun(state=RunEnd.DONE)),
        ([finish("a"), ev.StepsDeclared(steps=(B,))], EndRun(state=RunEnd.DONE)),
        (
            [finish("a", "blocked", reason="x"), finish("b")],
            EndRun(state=RunEnd.BLOCKED, reason="a: x", step=StepId("a")),
        ),
        (
            [finish("a", "blocked", reason="x"), finish("b", "failed", reason="y")],
            EndRun(state=RunEnd.FAILED, reason="b: y", step=StepId("b")),
        ),
    ],
    ids=["done", "skipped", "declared", "blocked", "failed"],
)
def test_a_run_ends_as_its_steps_did(events: list[ev.Event], expected: Command) -> None:
    assert commands(run_of(PAIR, *events)) == [expected]


def test_a_run_is_blocked_as_long_as_a_selected_step_is_not_done() -> None:
    chain = [step_of("a"), step_of("b", "a")]

    blocked = commands(run_of(chain, finish("a", "blocked", reason="x")))
    marked = commands(run_of(chain, finish("a")), around({"b": Marks(status=Status.BLOCKED)}))

    assert blocked == [EndRun(state=RunEnd.BLOCKED, reason="a: x", step=StepId("a"))]
    assert marked == [EndRun(state=RunEnd.BLOCKED, reason="b: plan/b.md marks it blocked", step=StepId("b"))]


def test_a_step_that_its_file_calls_skipped_is_skipped_unless_a_person_wants_it_retried() -> None:
    chain = [step_of("a"), step_of("b", "a")]
    marks = around({"a": Marks(status=Status.SKIPPED, reason="not wanted")})

    fresh = commands(run_of(chain), marks)
    retried = commands(run_of(chain, finish("a", "skipped"), ev.StepReopened(step=StepId("a"))), marks)

    assert fresh == [Close(step=StepId("a"), state=StepEnd.SKIPPED, reason="not wanted")]
    assert retried == [ClaimStep(step=StepId("a"))]


def test_a_blocked_step_that_a_person_took_out_of_the_plan_blocks_nothing() -> None:
    run = run_of(PAIR, finish("a", "blocked", reason="x"), finish("b"), ev.PlanChanged(removed=(A,), order=(B,)))

    assert commands(run) == [EndRun(state=RunEnd.DONE)]


def test_the_rest_of_the_plan_goes_on_beside_a_blocked_step() -> None:
    run = run_of(DIAMOND, finish("a"), finish("b", "blocked"))

    assert commands(run) == claims("c")


def test_only_the_selected_steps_count_for_the_end() -> None:
    run = run_of(PAIR, finish("a"), started=run_started(selection=["a"], named=True))

    assert commands(run) == [EndRun(state=RunEnd.DONE)]


@pytest.mark.parametrize("end", [ev.RunEnded(state=RunEnd.DONE), ev.RunParked(gates=())])
def test_an_ended_or_parked_run_does_nothing(end: ev.Event) -> None:
    assert commands(run_of(PAIR, end)) == []


def test_a_resumed_run_goes_on() -> None:
    run = run_of(PAIR, ev.RunEnded(state=RunEnd.BLOCKED), ev.RunResumed(driver=DriverId("d")))

    assert commands(run) == claims("a", "b")


def test_a_cancelled_run_waits_for_claims_to_be_given_back_and_ends() -> None:
    run = run_of(PAIR, ev.CancelRequested(reason="enough"))

    assert commands(run, around(claimed=["a"])) == [Wait(reason="stopping")]
    assert commands(run) == [EndRun(state=RunEnd.CANCELLED, reason="enough")]


def test_a_paused_run_waits_for_what_is_at_work_and_is_parked_until_it_is_resumed() -> None:
    pause = ev.PauseRequested(by="ann", reason="lunch")
    run = run_of(PAIR, pause, gate_for("g", "a"))
    resumed = run_of(PAIR, pause, ev.RunParked(gates=()), ev.RunResumed(driver=DriverId("d")))

    assert commands(run, around(claimed=["a"])) == [Wait(reason="pausing")]
    assert commands(run) == [ParkRun(gates=(GateId("g"),), reason="paused by ann: lunch")]
    assert commands(run_of(PAIR, pause, ev.CancelRequested())) == [EndRun(state=RunEnd.CANCELLED)]
    assert commands(resumed) == claims("a", "b")


# --- gates ------------------------------------------------------------------------------------------------------


def test_a_run_parks_only_when_nothing_else_can_go_on() -> None:
    asked = [gate_for("g", "a")]

    assert commands(run_of(PAIR, *asked)) == claims("b")
    assert commands(run_of(PAIR, *asked), around(claimed=["b"])) == PENDING
    assert commands(run_of(PAIR, *asked, finish("b"))) == [ParkRun(gates=(GateId("g"),))]


def test_a_skipped_step_leaves_no_question_to_park_for() -> None:
    run = run_of(PAIR, gate_for("g", "a"), finish("b"), finish("a", "skipped"))

    assert commands(run) == [EndRun(state=RunEnd.DONE)]


def test_a_timer_is_waited_for_before_anything_is_parked_or_ended() -> None:
    harness = around({"a": FRESH})

    assert commands(run_of(PAIR, finish("b")), harness) == [Wait(reason="claimed by somebody since now")]
    assert commands(run_of(PAIR, gate_for("g", "b")), harness) == [Wait(reason="claimed by somebody since now")]


WAVES = [step_of("a", manual=["look at a"]), step_of("b", "a"), step_of("c", "b")]
WAVE = gates.wave(0, [by_hand(A, "look at a")])


def test_a_wave_with_manual_items_is_asked_about_and_then_waited_for() -> None:
    assert commands(run_of(WAVES, finish("a"))) == [Ask(opens=WAVE)]
    assert commands(run_of(WAVES, finish("a"), WAVE)) == [ParkRun(gates=(GateId("wave-1"),))]
    assert commands(run_of(WAVES, finish("a"), WAVE, answer("wave-1", "continue"))) == claims("b")


def test_a_wave_gate_lists_items_of_deeper_steps_that_landed_already_once() -> None:
    steps = [
        step_of("a", manual=["one"]),
        step_of("x"),
        step_of("b", "a", manual=["two", "two more"]),
        step_of("c", "b"),
    ]
    early = run_of(steps, finish("a"), finish("b"), finish("x"))

    [first] = commands(early)
    assert isinstance(first, Ask)
    later = run_of(steps, finish("a"), finish("b"), finish("x"), first.opens, answer("wave-1", "continue"))

    assert first.opens == gates.wave(0, [by_hand(A, "one"), by_hand(B, "two"), by_hand(B, "two more")])
    assert commands(later) == claims("c")


def test_items_that_begin_alike_are_both_asked_about() -> None:
    steps = [step_of("a", manual=["check it twice"]), step_of("b", "a", manual=["x"]), step_of("c", "b")]
    run = run_of(
        steps, finish("a"), gates.wave(0, [by_hand(A, "check it twice")]), answer("wave-1", "continue"), finish("b")
    )
    edited = run_of(
        [replace(steps[0], manual=("check it",)), *steps[1:]],
        finish("a"),
        gates.wave(0, [by_hand(A, "check it twice")]),
        answer("wave-1", "continue"),
        finish("b"),
    )

    assert commands(run) == [Ask(opens=gates.wave(1, [by_hand(B, "x")]))]
    assert commands(edited) == [Ask(opens=gates.wave(1, [by_hand(A, "check it"), by_hand(B, "x")]))]


@pytest.mark.parametrize(("comment", "ending"), [("", ""), ("broken", ": broken")])
def test_a_person_may_stop_the_run_at_a_wave(comment: str, ending: str) -> None:
    run = run_of(WAVES, finish("a"), WAVE, answer("wave-1", "stop", comment))

    assert commands(run) == [EndRun(state=RunEnd.FAILED, reason=f"stopped by a person at gate wave-1{ending}")]


def test_who_resumes_a_stopped_run_goes_on_with_it() -> None:
    stopped = [finish("a"), WAVE, answer("wave-1", "stop"), ev.RunEnded(state=RunEnd.FAILED, reason="stopped")]

    run = run_of(WAVES, *stopped, ev.RunResumed(driver=DRIVER))

    assert commands(run)[0] == ClaimStep(step=B)


def test_a_stop_that_nobody_has_heard_yet_is_not_taken_back_by_driving_on() -> None:
    run = run_of(WAVES, finish("a"), WAVE, answer("wave-1", "stop"), ev.RunResumed(driver=DRIVER))

    assert isinstance(commands(run)[0], EndRun)


DONE_MARK = ev.PlanMirrored(step=A, marks=Marks(status=Status.DONE), path="plan/a.md", digest="d", ticked=())
SET_BACK = {"a": Marks()}


@pytest.mark.parametrize("state", ["blocked", "failed", "skipped"])
def test_a_step_that_did_not_land_and_is_set_back_in_its_file_gets_another_round(state: str) -> None:
    mirrored = replace(DONE_MARK, marks=Marks(status=Status(state)))

    run = run_of([step_of("a")], finish("a", state), mirrored)

    assert commands(run, around(SET_BACK)) == [Reopen(step=A, reason="its file says ready again")]


def test_a_landed_step_that_is_set_back_in_its_file_is_asked_about() -> None:
    step = step_of("a")
    run = run_of([step], finish("a"), DONE_MARK)
    asked = gates.redo(step, 0, asked=0, commit=COMMIT)

    kept = fold_run(run_of([step], finish("a"), DONE_MARK, asked), [answer("redo-a", "keep")])
    again = fold_run(run_of([step], finish("a"), DONE_MARK, asked), [answer("redo-a", "again")])

    assert commands(run, around(SET_BACK)) == [Ask(opens=asked)]
    assert commands(run_of([step], finish("a"), DONE_MARK, asked), around(SET_BACK)) == [ParkRun(gates=(asked.gate,))]
    assert commands(kept, around(SET_BACK)) == [EndRun(state=RunEnd.DONE)]
    assert kept.mirrored[A].marks == Marks()
    assert commands(again, around(SET_BACK)) == [Reopen(step=A, reason="its file says ready again", redo=True)]


def test_a_file_that_has_not_been_marked_yet_is_not_set_back() -> None:
    claimed = replace(DONE_MARK, marks=Marks(status=Status.CLAIMED))

    assert commands(run_of([step_of("a")], finish("a"), claimed), around(SET_BACK)) == [EndRun(state=RunEnd.DONE)]


def test_steps_in_work_are_finished_before_a_stopped_run_ends() -> None:
    run = run_of(WAVES, finish("a"), ev.StepStarted(step=B), WAVE, answer("wave-1", "stop"))

    assert commands(run, around(claimed=["b"])) == [Wait(reason="stopping")]


NAMED = run_started(selection=["b"], named=True)
CHAIN = [step_of("a"), step_of("b", "a"), step_of("c", "b")]
PROCEED = gates.proceed(CHAIN[1], [A])


def test_a_named_step_with_unmet_needs_is_asked_about_and_only_a_person_may_answer() -> None:
    [ask] = commands(run_of(CHAIN, started=NAMED))

    assert ask == Ask(opens=PROCEED)
    assert PROCEED.person_only


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([PROCEED], ParkRun(gates=(GateId("proceed-b"),))),
        ([PROCEED, answer("proceed-b", "yes")], ClaimStep(step=B)),
        (
            [PROCEED, answer("proceed-b", "no")],
            Close(step=B, state=StepEnd.BLOCKED, reason="its needs are not done; a person said not to proceed"),
        ),
        ([PROCEED, answer("proceed-b", "no"), ev.StepsDeclared(steps=(A,))], ClaimStep(step=B)),
        ([PROCEED, answer("proceed-b", "no"), finish("b", "skipped")], EndRun(state=RunEnd.DONE)),
    ],
    ids=["asked", "yes", "no", "no-but-met-since", "no-but-settled"],
)
def test_the_answer_about_unmet_needs_counts(events: list[ev.Event], expected: Command) -> None:
    assert commands(run_of(CHAIN, *events, started=NAMED)) == [expected]


def test_needs_that_the_run_will_meet_itself_are_not_asked_about() -> None:
    started = run_started(selection=["a", "b"], named=True)

    assert commands(run_of(CHAIN, started=started)) == claims("a")
    assert commands(run_of(CHAIN, started=run_started())) == claims("a")


def test_a_blocked_need_of_a_whole_run_is_not_asked_about() -> None:
    assert commands(run_of(CHAIN, finish("a", "blocked", reason="x"))) == [
        EndRun(state=RunEnd.BLOCKED, reason="a: x", step=StepId("a"))
    ]


def test_an_unowned_claim_in_a_file_is_asked_about_once_and_only_when_its_turn_has_come() -> None:
    harness = around({"b": UNOWNED})
    opens = gates.claim(CHAIN[1], UNOWNED)

    assert commands(run_of(CHAIN), harness) == claims("a")
    assert commands(run_of(CHAIN, finish("a")), harness) == [Ask(opens=opens)]
    assert commands(run_of(CHAIN, finish("a"), opens), harness) == [ParkRun(gates=(opens.gate,))]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("take", ClaimStep(step=B)),
        (
            "leave",
            EndRun(
                state=RunEnd.BLOCKED,
                reason="b: left to the person or tool that marked it in progress in plan/b.md",
                step=StepId("b"),
            ),
        ),
    ],
)
def test_the_answer_about_an_unowned_claim_counts(choice: str, expected: Command) -> None:
    run = run_of(CHAIN, finish("a"), gates.claim(CHAIN[1], UNOWNED), answer("claim-b", choice))

    assert commands(run, around({"b": UNOWNED})) == [expected]


def test_a_claimed_step_is_not_asked_about() -> None:
    run = run_of(CHAIN, finish("a"))

    assert commands(run, around({"b": UNOWNED}, claimed=["b"])) == PENDING


# --- declared and withdrawn -------------------------------------------------------------------------------------


def test_steps_that_their_files_call_done_are_declared_before_anything_else() -> None:
    run = run_of(DIAMOND, started=NAMED)

    assert commands(run, around({"a": DONE, "c": DONE})) == [Declare(steps=(A, C))]


def test_a_step_in_work_or_settled_is_not_declared() -> None:
    working = run_of(PAIR, ev.StepStarted(step=A), finish("b"))

    assert commands(working, around({"a": DONE, "b": DONE}, claimed=["a"])) == PENDING


def test_a_declared_step_whose_file_says_ready_again_is_reopened() -> None:
    run = run_of(PAIR, ev.StepsDeclared(steps=(B, A)))

    found = commands(run, around({"a": READY, "b": READY}))

    assert found == [Reopen(step=step, reason="its file says ready again") for step in (A, B)]


def test_a_declared_step_stays_so_while_its_file_says_done() -> None:
    run = run_of(PAIR, ev.StepsDeclared(steps=(A, B)))

    assert commands(run, around({"a": DONE, "b": DONE})) == [EndRun(state=RunEnd.DONE)]


def test_a_wave_with_manual_items_holds_back_the_next_one_until_it_is_verified() -> None:
    steps = [step_of("a", manual=["look"]), step_of("b", "a"), step_of("c")]

    early = commands(run_of(steps, finish("a")), slots=1)
    [asked] = commands(run_of(steps, finish("a"), finish("c")))
    assert isinstance(asked, Ask)
    passed = commands(run_of(steps, finish("a"), finish("c"), asked.opens, answer("wave-1", "continue")))

    assert early == claims("c")
    assert asked.opens == gates.wave(0, [by_hand(A, "look")])
    assert passed == claims("b")


def test_a_wave_is_asked_about_although_one_of_its_steps_is_blocked() -> None:
    steps = [step_of("a", manual=["look"]), step_of("b", "a"), step_of("c"), step_of("d", "c")]

    [asked] = commands(run_of(steps, finish("a"), finish("c", "blocked", reason="x")))
    assert isinstance(asked, Ask)
    events = [finish("a"), finish("c", "blocked", reason="x"), asked.opens, answer("wave-1", "continue")]

    assert commands(run_of(steps, *events)) == claims("b")


def test_a_wave_whose_manual_steps_can_no_longer_be_done_holds_nothing_back() -> None:
    steps = [step_of("a"), step_of("b", "a", manual=["look"]), step_of("x"), step_of("y", "x"), step_of("z", "y")]
    done = [finish("a", "blocked", reason="x"), finish("x"), finish("y")]

    assert commands(run_of(steps, *done)) == claims("z")


def test_a_resume_reopens_only_steps_whose_checks_this_machine_could_not_run() -> None:
    hindered = ev.StepFinished(step=A, state=StepEnd.BLOCKED, reason="no pnpm", failure="tool")
    run = run_of(PAIR, hindered, ev.StepFinished(step=B, state=StepEnd.BLOCKED, reason="still failing"))

    assert [reopened.step for reopened in take_up(run)] == [A]
