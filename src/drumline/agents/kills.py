"""Agents that were killed from outside, because memory ran out for example: their work is lost, not failed.

The rule: a signal that was sent to it or the loss of the supervisor counts, and the exit code by which a sandbox or a
program that handles the signal tells the same. The exit code of a shell that was not started in a sandbox is the
command's own.
"""

from __future__ import annotations

from drumline.core.leftovers import tell_left
from drumline.core.signals import is_sent, read_signal
from drumline.ports.agents import Outcome
from drumline.ports.processes import Conversation, Ended
from drumline.record import replace


def was_killed(ended: Ended) -> bool:
    """Whether an agent program, or what a sandbox held, did not end by itself."""
    return ended.killed or (is_sent(read_signal(ended.exit_code)) and not ended.timed_out)


def describe_kill(ended: Ended) -> str:
    """What was killed, in words."""
    if ended.exit_code is None:
        return "its supervisor was killed"
    return f"it was killed by signal {read_signal(ended.exit_code)}"


def add_left(outcome: Outcome, ended: Ended | Conversation) -> Outcome:
    """The outcome with a notice of what could not be ended."""
    return replace(outcome, notices=(*outcome.notices, tell_left(ended.left))) if ended.left else outcome
