"""What every test of the command line as a process relies on."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl-C reaches what the tests start: in the background of a script a suite inherits that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
