"""Words for tests of the store: a run, two steps, two drivers, and short ways to append and to claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio

from drumline.core.events import CancelRequested
from drumline.core.ids import DriverId, RunId, StepId, Stream, Token
from drumline.ports.journal import Addition, Message, Recorded, Store

RUN = RunId("r1")
A, B = StepId("a"), StepId("b")
OF_RUN, OF_A, OF_B = Stream(RUN), Stream(RUN, A), Stream(RUN, B)
ME, YOU = DriverId("me"), DriverId("you")
YES = Message(kind="answer", subject="g1", value="yes", comment="fine", by="ann", channel="cli")
NO = Message(kind="answer", subject="g1", value="no", by="bob", channel="web")


def mode(name: str) -> CancelRequested:
    """An event that is easy to tell from others."""
    return CancelRequested(reason=name)


def add(*names: str, expected: int | None = None) -> Addition:
    """Such events for one stream."""
    return Addition(events=[mode(name) for name in names], expected=expected)


def append(
    store: Store, batch: Mapping[Stream, Addition], *, token: Token | None = None, settles: Sequence[int] = ()
) -> int:
    """Append from outside of any loop."""

    async def work() -> int:
        return await store.append(batch, token=token, settles=settles)

    return anyio.run(work)


def names_in(records: Sequence[Recorded]) -> list[str]:
    """The names that `mode` gave."""
    return [r.event.reason for r in records if isinstance(r.event, CancelRequested)]


def claim(store: Store, step: StepId = A) -> Token:
    """Claim a free step."""
    token = store.take(RUN, step, ME)
    assert token is not None
    return token
