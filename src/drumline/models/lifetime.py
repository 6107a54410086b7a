"""Things that are open while a question is asked. The rule: they are closed to the end, also when it is cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import anyio

CLOSING = 15.0
"""Seconds that closing may take; a server that does not go by itself is killed after a few."""
T = TypeVar("T")


@asynccontextmanager
async def hold(thing: AbstractAsyncContextManager[T, bool | None]) -> AsyncIterator[T]:
    """Open a thing for a while. Cancellation waits until it is closed, because half-closed is left behind."""
    entered = await thing.__aenter__()
    try:
        yield entered
    finally:
        await shield(lambda: thing.__aexit__(None, None, None))


async def shield(act: Callable[[], Awaitable[object]]) -> None:
    """Do something to its end, even if we are cancelled meanwhile."""
    with anyio.move_on_after(CLOSING, shield=True):
        await act()
