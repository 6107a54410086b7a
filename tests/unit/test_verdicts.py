"""What the last words of programs mean, and what a person is told to do about a missing login."""

from __future__ import annotations

import pytest

from drumline.agents.command import judge
from drumline.agents.outage import Outage
from drumline.agents.verdicts import classify, explain_end
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Happening
from drumline.ports.processes import Ended

GOOSE = "error: No provider configured. Run 'goose configure' first."
OFFLINE = Happening(kind="notice", text="Reconnecting... waiting for network (Connection failed)")


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        ("Not logged in · Please run /login", Failure.AUTH),
        ("Please set an Auth method in your .gemini/settings.json or specify one of these variables", Failure.AUTH),
        ("Invalid auth method selected.", Failure.AUTH),
        ("No auth type is selected. Please configure an auth type before running", Failure.AUTH),
        (GOOSE, Failure.AUTH),
        ("To increase your limits, request a quota increase, or switch to another /auth method", Failure.QUOTA),
        ("APIError: Cannot connect to API: Unable to connect. Is the computer able to access it?", Failure.TRANSIENT),
        ("getaddrinfo ENOTFOUND api.example.invalid", Failure.TRANSIENT),
        ("failed to lookup address information: Name does not resolve", Failure.TRANSIENT),
        ("the author of the method is unknown", Failure.CRASH),
    ],
)
def test_words_have_their_class(words: str, failure: Failure) -> None:
    assert classify(words) is failure


@pytest.mark.parametrize(
    ("output", "errors", "failure"),
    [
        (f"{GOOSE}\n", "", "auth"),
        (f'{{"type": "init"}}\n{GOOSE}\n', "a warning", "auth"),
        ("", "Invalid auth method selected.", "auth"),
        ('{"text": "not logged in"}\n', "", "crash"),
        ('of an event: not logged in"}\n', "", "crash"),
        ("Segmentation fault\n", "", "crash"),
    ],
)
def test_who_ends_without_a_result_is_judged_by_what_it_said_to_people(output: str, errors: str, failure: str) -> None:
    outcome = explain_end(Ended(exit_code=1, seconds=0.1, output=output + errors, errors=errors), "a result")

    assert outcome.failure == failure
    assert "ended with exit code 1 and without a result" in outcome.message


def test_what_is_on_stderr_is_told_once() -> None:
    outcome = explain_end(Ended(exit_code=1, seconds=0.1, output="oops\nfirst\n", errors="oops\n"), "a result")

    assert outcome.message.endswith(": first\noops")


@pytest.mark.parametrize(
    ("times", "too_long"),
    [
        ((0, 8, 21, 44), True),
        ((0, 8, 21), False),
        ((0, 100, 200, 300), False),
        ((0, 100, 120, 131), True),
        ((0,), False),
    ],
)
def test_a_program_may_wait_for_the_network_for_a_while(times: tuple[float, ...], too_long: bool) -> None:
    outage = Outage(("waiting for network",))

    for time in times:
        outage.note(OFFLINE, time)

    assert outage.is_too_long() is too_long
    assert outage.told == OFFLINE.text


def test_who_works_in_between_has_reached_its_service() -> None:
    outage = Outage(("waiting for network",))

    for time in range(0, 60, 10):
        outage.note(OFFLINE, time)
        outage.note(Happening(kind="text", text="hello"), time + 5)

    assert not outage.is_too_long()
    assert outage.told == ""


def test_other_notices_are_no_outage() -> None:
    outage = Outage(("waiting for network",))

    for time in range(0, 60, 10):
        outage.note(Happening(kind="notice", text="Reconnecting... 2/5"), time)

    assert not outage.is_too_long()


@pytest.mark.parametrize(
    ("ended", "failure"),
    [
        (Ended(exit_code=None, seconds=0.0, killed=True), "killed"),
        (Ended(exit_code=137, seconds=0.0, killed=True), "killed"),
        (Ended(exit_code=137, seconds=0.0), "validation"),
        (Ended(exit_code=137, seconds=0.0, timed_out=True), "timeout"),
        (Ended(exit_code=143, seconds=0.0, killed=True), "killed"),
        (Ended(exit_code=143, seconds=0.0), "validation"),
        (Ended(exit_code=143, seconds=0.0, timed_out=True), "timeout"),
        (Ended(exit_code=139, seconds=0.0), "validation"),
        (Ended(exit_code=None, seconds=0.0, message="no such folder"), "permanent"),
    ],
)
def test_a_command_that_was_killed_has_not_failed(ended: Ended, failure: str) -> None:
    assert judge(ended).failure == failure


@pytest.mark.parametrize(("code", "failure"), [(137, "killed"), (143, "killed"), (139, "validation")])
def test_a_sandbox_tells_by_its_exit_code_that_what_it_held_was_killed(code: int, failure: str) -> None:
    assert judge(Ended(exit_code=code, seconds=0.0), jailed=True).failure == failure
    assert judge(Ended(exit_code=code, seconds=0.0, timed_out=True), jailed=True).failure == "timeout"


@pytest.mark.parametrize("number", [9, 15])
def test_a_program_that_was_killed_before_its_last_event_has_not_broken_down(number: int) -> None:
    killed = explain_end(Ended(exit_code=128 + number, seconds=0.0, output="not logged in"), "a result")

    assert killed.failure == "killed"
    assert f"killed by signal {number}" in killed.message
