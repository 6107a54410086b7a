"""The store's three faces: the journal of events, the claims on steps, and the inbox of what people say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from drumline.core.events import Event
from drumline.core.ids import DriverId, RunId, StepId, Stream, Token
from drumline.core.recorded import Recorded as Recorded
from drumline.core.seal import Seal
from drumline.record import Record

UNSEALED = Seal()
"""Where every chain begins."""


class Addition(Record):
    """Events for one stream. `expected` is the version it must have now; None adds whatever the version is."""

    events: Sequence[Event]
    expected: int | None = None


class Checkpoint(Record):
    """A cached fold of a run's stream up to `version`, whose last event is at `seq`."""

    version: int
    seq: int
    body: str


class Journal(Protocol):
    """Append-only record of every stream."""

    async def append(
        self, batch: Mapping[Stream, Addition], *, token: Token | None = None, settles: Sequence[int] = ()
    ) -> int:
        """Add to all streams of the batch at once, or to none; return the last sequence number.

        Returns only once the events would survive a power cut. With a token, every step stream of the batch must be
        claimed under exactly that token, else StaleToken. A stream at another version than expected: Conflict.
        `settles` marks inbox messages as read in the same transaction; one settled before: Conflict.
        """
        ...

    def append_now(self, batch: Mapping[Stream, Addition], *, token: Token) -> int | None:
        """Append at once, as `append` would; None if that has to wait for others, or to refuse: nothing is written."""
        ...

    def read(self, stream: Stream, *, after: int = 0, kinds: Sequence[str] = ()) -> Sequence[Recorded]:
        """The stream's events with a version above `after`, oldest first; only the given kinds if any are given."""
        ...

    def tail(self, run: RunId, *, after: int = 0) -> Sequence[Recorded]:
        """Events of all streams of a run with a sequence number above `after`, in order."""
        ...

    def seal(self, run: RunId, start: Seal = UNSEALED, *, upto: int | None = None) -> Seal:
        """The seal over all events of a run, or those up to a sequence number; `start` is one that is known already."""
        ...

    def last_at(self, run: RunId, *, before: int) -> float | None:
        """When the run's last event with a sequence number below `before` was recorded; None if there is none."""
        ...

    def runs(self) -> Sequence[RunId]:
        """Every run that has events, oldest first."""
        ...

    def checkpoint(self, run: RunId) -> Checkpoint | None:
        """The checkpoint kept last for the run, if there is one."""
        ...

    def keep_checkpoint(self, run: RunId, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of an older one; a newer one that is there stays."""
        ...

    def position(self) -> int:
        """A number that changes whenever anything was written, by any process. Cheap enough to poll."""
        ...


class Claim(Record):
    """The right to drive a step."""

    driver: DriverId
    token: Token


class Claims(Protocol):
    """Who may drive which step."""

    def take(
        self,
        run: RunId,
        step: StepId,
        driver: DriverId,
        *,
        over: Token | None = None,
        at_most: int | None = None,
        seen: Collection[StepId] | None = None,
    ) -> Token | None:
        """Claim a step in one compare-and-set; None if somebody has it.

        `over` is the token of the dead owner whose claim is taken over; if that claim is gone, nothing is taken.
        `at_most` refuses when the run already has that many other claims, `seen` when it has a claim on any other
        step than these. Tokens only grow, so the old owner's appends are refused from here on.
        """
        ...

    def release(self, run: RunId, step: StepId, token: Token) -> None:
        """Give the claim back; nothing happens if it was taken over."""
        ...

    def list_claims(self, run: RunId) -> Mapping[StepId, Claim]:
        """All claims of a run."""
        ...


class Message(Record):
    """What a person said: an answer, or the request to cancel, pause, retry, skip or change the mode."""

    kind: str
    subject: str = ""
    value: str = ""
    comment: str = ""
    by: str = ""
    channel: str = ""


class Inbox(Protocol):
    """What people say, from processes that hold no claim."""

    def put(self, run: RunId, message: Message) -> Message | None:
        """Keep the message; None if it was taken. An answer to a gate that has one returns that earlier answer."""
        ...

    def unread(self, run: RunId) -> Sequence[tuple[int, Message]]:
        """Messages no driver has settled yet, oldest first."""
        ...


class Store(Journal, Claims, Inbox, Protocol):
    """Everything durable that the engine shares between processes."""

    def close(self) -> None:
        """Let go of the files; nothing can be read or written afterwards."""
        ...
