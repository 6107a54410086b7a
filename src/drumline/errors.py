"""Every deliberate exception of Drumline, one class per reaction.

    DrumlineError            exit 1   something was refused; `hint` says what to type next
    ├── InvalidInput         exit 3   a plan, flow, setting or argument is wrong
    │   ├── InvalidPlan      exit 3   …with the list of problems found in the plan
    │   ├── InvalidFlow      exit 3   …with the list of problems found in the flow
    │   └── NotNow           exit 3   a plan's file is not written while this process stops: the next start writes it
    ├── NeedsPerson          exit 2   nothing is wrong, but a person has to say something first
    ├── StoreError           exit 1   the journal could not be read or written
    │   ├── Conflict                  somebody else appended first: read again and decide again
    │   ├── StaleToken                the claim was taken over: stop driving this step
    │   └── UnknownEvent              another version has written this run: all others can be read
    ├── NotAllowed           exit 1   the protocol does not know this move
    ├── SystemRefused        exit 1   the machine refused a file or folder: full, read-only, not permitted, gone
    ├── ChildKilled          exit 1   an agent, a check or its supervisor was killed from outside: do it again
    └── GitError             exit 1   git refused
        └── GitKilled        exit 1   git was ended by a signal: nobody refused anything, the same call may succeed
            └── GitStuck     exit 1   …by ours, because it was stopped or hung

A message says what was refused, the value and what would be legal; `hint` is the next command to type.
Bugs are not in this tree and keep their traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drumline.core.plan import Problem


class DrumlineError(Exception):
    """Something was refused."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def with_hint(self) -> str:
        """Message and hint in one text, for where a journal or an answer has room for one only."""
        return f"{self}; {self.hint}" if self.hint else str(self)


class InvalidInput(DrumlineError):
    """A plan, flow, setting or argument is wrong."""

    exit_code = 3


class InvalidPlan(InvalidInput):
    """The plan has problems; all of them are listed."""

    def __init__(self, message: str, problems: Sequence[Problem], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)


class InvalidFlow(InvalidInput):
    """The flow has problems; all of them are listed."""

    def __init__(self, message: str, problems: Sequence[Problem], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)


class NotNow(InvalidInput):
    """A plan's file cannot be written at once, and this process is to stop: the next start writes it."""


class NeedsPerson(DrumlineError):
    """Nothing is wrong, but a person has to say something first."""

    exit_code = 2


class StoreError(DrumlineError):
    """The journal could not be read or written."""


class Conflict(StoreError):
    """Somebody else appended first: read again and decide again."""


class UnknownEvent(StoreError):
    """The journal of a run has what this version does not know: another one has written it."""


class StaleToken(StoreError):
    """The claim was taken over: stop driving this step."""


class NotAllowed(DrumlineError):
    """The protocol does not know this move."""


class SystemRefused(DrumlineError):
    """The machine refused a file or folder."""


class ChildKilled(DrumlineError):
    """An agent, a check, a setup command or its supervisor was killed from outside."""


class GitError(DrumlineError):
    """Git refused."""


class GitKilled(GitError):
    """Git was ended by a signal from elsewhere."""


class GitStuck(GitKilled):
    """Git did not end in time and was killed."""
