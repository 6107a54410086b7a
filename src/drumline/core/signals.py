"""Which signals end a process from outside, and which are its own doing.

The rule: what a program brings upon itself (a fault, an abort, a broken pipe, its own timer) is its failure. Every
other signal was sent to it, by the kernel when memory or a limit ran out, by a shutdown or by a person: what it was
doing is lost, which says nothing about the work.
"""

from __future__ import annotations

from signal import Signals

SHELL = 128
"""What shells and sandboxes add to the number of the signal that ended what they ran, to make an exit code of it."""
_OWN = frozenset(
    {
        "SIGABRT",
        "SIGALRM",
        "SIGBUS",
        "SIGEMT",
        "SIGFPE",
        "SIGILL",
        "SIGPIPE",
        "SIGPROF",
        "SIGSEGV",
        "SIGSYS",
        "SIGTRAP",
        "SIGVTALRM",
    }
)


def is_sent(number: int) -> bool:
    """Whether a signal that ended a process came from outside; 0 stands for none."""
    try:
        return number > 0 and Signals(number).name not in _OWN
    except ValueError:
        return True  # realtime signals have no names, and no program ends itself by one


def read_signal(exit_code: int | None) -> int:
    """The signal that an exit code stands for in the words of a shell; 0 if it stands for none."""
    return exit_code - SHELL if exit_code is not None and SHELL < exit_code <= SHELL + 64 else 0
