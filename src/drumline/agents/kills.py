"""Agents that were killed from outside, because memory ran out for example: their work is lost, not failed.

The rule: SIGKILL or the loss of the supervisor counts, and the exit code by which a sandbox tells the same. The exit
code of a shell that was not started in a sandbox is the command's own.
"""

from __future__ import annotations

from drumline.core.leftovers import tell_left
from drumline.core.taxonomy import KILLED_CODE
from drumline.ports.agents import Outcome
from drumline.ports.processes import Ended
from drumline.record import replace


def was_killed(ended: Ended) -> bool:
    """Whether an agent program, or what a sandbox held, did not end by itself."""
    return ended.killed or (ended.exit_code == KILLED_CODE and not ended.timed_out)


def describe_kill(ended: Ended) -> str:
    """What was killed, in words."""
    return "its supervisor was killed" if ended.exit_code is None else "it was killed by signal 9"


def add_left(outcome: Outcome, ended: Ended) -> Outcome:
    """The outcome with a notice of what could not be ended."""
    return replace(outcome, notices=(*outcome.notices, tell_left(ended.left))) if ended.left else outcome
