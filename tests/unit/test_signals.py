"""Signals that were sent to a process, and those of its own crash."""

from __future__ import annotations

from signal import SIGRTMIN, Signals

import pytest

from drumline.core.signals import is_sent, read_signal

SENT = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGXCPU", "SIGXFSZ", "SIGUSR1", "SIGUSR2")
OWN = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGPIPE", "SIGTRAP", "SIGSYS", "SIGALRM")


@pytest.mark.parametrize("name", SENT)
def test_a_signal_that_somebody_sends_comes_from_outside(name: str) -> None:
    assert is_sent(Signals[name])


@pytest.mark.parametrize("name", OWN)
def test_a_crash_is_the_programs_own(name: str) -> None:
    assert not is_sent(Signals[name])


def test_no_signal_was_sent_to_what_ended_by_itself_and_one_without_a_name_was() -> None:
    assert not is_sent(0)
    assert is_sent(SIGRTMIN + 3)


@pytest.mark.parametrize(
    ("code", "number"), [(None, 0), (0, 0), (1, 0), (127, 0), (128, 0), (129, 1), (137, 9), (143, 15), (255, 0)]
)
def test_the_exit_code_of_a_shell_stands_for_a_signal_above_128(code: int | None, number: int) -> None:
    assert read_signal(code) == number
