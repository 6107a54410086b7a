"""Git killed from outside, because memory ran out for example: nobody refused anything, so the call is repeated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from drumline.core.taxonomy import MOST_KILLS
from drumline.errors import GitKilled
from drumline.ports.clock import Clock

T = TypeVar("T")
KILL_WAIT = 1.0
"""Seconds before something that was killed is done again: memory that ran out is free by then, if it ever is."""


async def repeat_killed(call: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Make a call that may be repeated; raise GitKilled if git is killed in it too often in a row."""
    for _ in range(MOST_KILLS - 1):
        try:
            return await call()
        except GitKilled:
            await clock.sleep(KILL_WAIT)
    return await call()
