"""Checks that agents must not know: they lie outside of the repository, and only their numbers are told.

The rule: neither a prompt nor an event says what such a check executes, prints or finds; its log does, for people.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from drumline.core.plan import Check
from drumline.core.testids import Difference
from drumline.patterns import compile_late
from drumline.record import replace

HIDDEN, SHOWN = "held_out", "held_out_shown"
"""The sources of such checks: no agent of the step can read them, or one could; then they raise no level."""
HELD_OUT = frozenset({HIDDEN, SHOWN})
_NAME = "held-out check "
_NAMED = compile_late(rf"{_NAME}(\d+)")


def name_held_out(files: Sequence[str], *, hidden: bool) -> tuple[Check, ...]:
    """The checks for these files; each is known by its number alone."""
    source = HIDDEN if hidden else SHOWN
    return tuple(Check(command=f"{_NAME}{number}", source=source) for number, _ in enumerate(files, 1))


def is_named(command: str) -> bool:
    """Whether this is the name of a held-out check, and no command."""
    return _NAMED.fullmatch(command) is not None


def list_seen(checks: Iterable[Check]) -> list[Check]:
    """The checks that agents may know."""
    return [check for check in checks if check.source not in HELD_OUT]


def find_file(check: Check, files: Sequence[str]) -> str:
    """The file that a held-out check executes; empty for any other check, and for one that is not there any more."""
    named = _NAMED.fullmatch(check.command) if check.source in HELD_OUT else None
    number = int(named[1]) if named else 0
    return files[number - 1] if 0 < number <= len(files) else ""


def spell_held_out(file: str) -> str:
    """The command that executes the file."""
    return shlex.quote(file)


def leave_out_names(difference: Difference | None) -> Difference | None:
    """The same difference without the names of tests."""
    return difference and replace(difference, lost=(), broken=())
