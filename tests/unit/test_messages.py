"""What a message from a person leads to, in every state of the step it is about."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, finish, gate_for, run_started, step_of

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import DriverId, GateId, StepId
from drumline.core.retryrequest import RetryRequest, write_round
from drumline.core.state import RunState
from drumline.core.vocabulary import GateKind, Mode, RunEnd, StepEnd
from drumline.engine.messages import outcome_of
from drumline.ports.journal import Message
from drumline.record import replace

A = StepId("a")
WORKING = [ev.StepStarted(step=A)]
RESTING = [*WORKING, ev.StepDeferred(step=A, until=50.0)]
SKIPPED = [ev.StepFinished(step=A, state=StepEnd.SKIPPED, reason="why")]
REOPENED = [ev.StepReopened(step=A, reason="why", by="me")]


def run_of(*events: ev.Event) -> RunState:
    """A run of one step."""
    return Scene(steps=[step_of("a")], started=run_started(), events=events).run()


def outcome(kind: str, *events: ev.Event, subject: str = "a", value: str = "", claimed: bool = False) -> object:
    """What the message leads to."""
    message = Message(kind=kind, subject=subject, value=value, comment="why", by="me", channel="cli")
    return outcome_of(run_of(*events), message, [A] if claimed else [])


def test_the_first_answer_to_an_open_gate_counts() -> None:
    expected = ev.GateAnswered(gate=GateId("g"), choice="yes", comment="why", by="me", channel="cli")

    assert outcome("answer", gate_for("g", "a"), subject="g", value="yes") == [expected]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [gate_for("g", "a"), ev.GateAnswered(gate=GateId("g"), choice="no")],
        [gate_for("g", "a"), finish("a", "skipped")],
    ],
    ids=["unknown", "answered", "fallen-away"],
)
def test_an_answer_to_no_open_gate_comes_too_late(events: list[ev.Event]) -> None:
    assert outcome("answer", *events, subject="g", value="yes") == []


def test_the_answer_to_the_question_that_blocks_a_step_reopens_it() -> None:
    asked = gates.judge(step_of("a"), 1, foul="It is so.")
    answered = ev.GateAnswered(gate=asked.gate, choice="allow", comment="why", by="me", channel="cli")
    reopened = ev.StepReopened(step=StepId("a"), reason="gate judge-a is answered", by="me")

    assert outcome("answer", finish("a", "blocked"), asked, subject="judge-a", value="allow") == [answered, reopened]
    assert outcome("answer", asked, subject="judge-a", value="allow") == [answered]


@pytest.mark.parametrize(
    ("kind", "choice", "expected"),
    [
        ("failure", "adapt", {"context": "why"}),
        ("failure", "retry", {"context": "why"}),
        ("plan", "adapt", {"context": "why"}),
        (
            "plan",
            "proceed",
            {
                "context": "It was said: it is there\n\n"
                "A person wants the step done as it is planned all the same.\n\nwhy"
            },
        ),
        ("plan", "skip", None),
        ("failure", "stop", None),
    ],
)
def test_the_answer_about_a_blocked_step_tries_it_again_skips_it_or_stops(
    kind: str, choice: str, expected: dict[str, str] | None
) -> None:
    asked = gates.stuck(GateKind(kind), step_of("a"), 0, asked=0, reason="it is there")
    events = [finish("a", "blocked"), asked, ev.RunEnded(state=RunEnd.BLOCKED)]

    said = outcome("answer", *events, subject=f"{kind}-a", value=choice)

    assert isinstance(said, list)
    assert said[0].choice == choice
    reopened = ev.StepReopened(step=A, reason=f"gate {kind}-a is answered", by="me")
    follows = {"skip": SKIPPED, "stop": []}.get(choice, [replace(reopened, **(expected or {}))])
    assert said[1:] == follows


def test_cancel_counts_once_and_not_once_the_run_is_over() -> None:
    cancel = ev.CancelRequested(by="me", reason="why")

    assert outcome("cancel") == [cancel]
    assert outcome("cancel", cancel) == []
    assert outcome("cancel", ev.RunEnded(state=RunEnd.DONE)) == []
    assert outcome("cancel", ev.RunEnded(state=RunEnd.BLOCKED)) == [cancel]
    assert outcome("cancel", ev.RunEnded(state=RunEnd.FAILED)) == [cancel]


def test_pause_counts_once_and_only_while_the_run_goes_on() -> None:
    pause = ev.PauseRequested(by="me", reason="why")

    assert outcome("pause") == [pause]
    assert outcome("pause", pause) == []
    assert outcome("pause", ev.CancelRequested()) == []
    assert outcome("pause", ev.RunParked(gates=())) == []
    assert outcome("pause", ev.RunEnded(state=RunEnd.BLOCKED)) == []
    assert outcome("pause", pause, ev.RunParked(gates=()), ev.RunResumed(driver=DriverId("d"))) == [pause]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("sequential", [ev.ModeChanged(mode=Mode.SEQUENTIAL)]), ("parallel", []), ("ask", []), ("", [])],
)
def test_a_mode_counts_if_it_is_another_one(value: str, expected: list[ev.Event]) -> None:
    assert outcome("mode", value=value) == expected


def test_an_express_plan_stays_sequential() -> None:
    run = run_of()
    run.plan = replace(run.plan, express=True)
    run.mode = Mode.SEQUENTIAL

    assert outcome_of(run, Message(kind="mode", value="parallel"), []) == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], REOPENED),
        (WORKING, []),
        (RESTING, REOPENED),
        ([finish("a", "blocked")], REOPENED),
        ([finish("a", "failed")], REOPENED),
        ([finish("a", "skipped")], REOPENED),
        ([finish("a")], []),
    ],
    ids=["waiting", "working", "resting", "blocked", "failed", "skipped", "landed"],
)
def test_a_retry_reopens_what_is_neither_in_work_nor_landed(events: list[ev.Event], expected: list[ev.Event]) -> None:
    assert outcome("retry", *events) == expected


def test_a_retry_says_who_works_in_the_round_and_what_about() -> None:
    request = RetryRequest(heal=True, agent="codex", tier="strong", context="Look at b.")

    said = outcome("retry", finish("a", "blocked"), value=write_round(request))

    assert said == [replace(REOPENED[0], heal=True, agent="codex", tier="strong", context="Look at b.")]
    assert write_round(RetryRequest()) == ""


def test_a_retry_of_a_step_that_was_just_taken_up_again_comes_too_late() -> None:
    assert outcome("retry", *RESTING, claimed=True) == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], SKIPPED),
        (WORKING, SKIPPED),
        ([*WORKING, gate_for("g", "a")], SKIPPED),
        ([finish("a", "blocked")], SKIPPED),
        ([finish("a", "failed")], SKIPPED),
        ([finish("a")], []),
        ([ev.StepsDeclared(steps=(A,))], []),
    ],
    ids=["waiting", "released", "parked", "blocked", "failed", "landed", "declared"],
)
def test_a_skip_finishes_what_has_not_landed(events: list[ev.Event], expected: list[ev.Event]) -> None:
    assert outcome("skip", *events) == expected


def test_a_skip_of_a_step_in_somebody_s_hands_waits_until_they_let_go() -> None:
    assert outcome("skip", *WORKING, claimed=True) is None


@pytest.mark.parametrize("kind", ["retry", "skip", "dance"])
def test_what_names_no_step_of_the_plan_or_no_wish_leads_to_nothing(kind: str) -> None:
    assert outcome(kind, subject="nowhere") == []


def test_an_answer_outside_the_options_counts_as_none() -> None:
    assert outcome("answer", gate_for("g", "a"), subject="g", value="perhaps") == []
