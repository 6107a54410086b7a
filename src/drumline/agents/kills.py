"""Agents that were killed from outside, because memory ran out for example: their work is lost, not failed.

The rule: SIGKILL or the loss of the supervisor counts, and the exit code by which a sandbox tells the same. The exit
code of a shell that was not started in a sandbox is the command's own.
"""

from __future__ import annotations

from drumline.core.taxonomy import KILLED_CODE
from drumline.ports.processes import Ended


def was_killed(ended: Ended) -> bool:
    """Whether an agent program, or what a sandbox held, did not end by itself."""
    return ended.killed or (ended.exit_code == KILLED_CODE and not ended.timed_out)


def describe_kill(ended: Ended) -> str:
    """What was killed, in words."""
    return "its supervisor was killed" if ended.exit_code is None else "it was killed by signal 9"
