"""A store in memory that keeps every promise but the disk's: what it holds outlives a driver, not the process.

Events pass through the codec on their way in and out, as they do on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence

import anyio.lowlevel

from drumline.core import codec
from drumline.core.ids import DriverId, RunId, StepId, Stream, Token
from drumline.core.seal import Seal, extend
from drumline.errors import Conflict, StaleToken
from drumline.ports.journal import UNSEALED, Addition, Checkpoint, Claim, Message, Recorded
from drumline.record import Record


class _Row(Record):
    """An event as a disk would keep it."""

    seq: int
    stream: Stream
    version: int
    at: float
    kind: str
    body: str


class MemoryStore:
    """Journal, claims and inbox in memory; a new driver simply uses the same object.

    `before` and `after` are called with the running number of each append (1, 2, …), refused ones counted, just
    before and just after it is applied. They may raise, to act out a death: before, nothing is written; after, it is
    written but the caller never learns.
    """

    def __init__(self, on_append: Callable[[int], None] | None = None) -> None:
        self.before: Callable[[int], None] | None = on_append
        self.after: Callable[[int], None] | None = None
        self.appends = 0
        self._rows: list[_Row] = []
        self._streams: dict[Stream, list[_Row]] = {}
        self._claims: dict[tuple[RunId, StepId], Claim] = {}
        self._last_token = 0
        self._inbox: list[tuple[RunId, Message]] = []
        self._settled: set[int] = set()
        self._writes = 0
        self._checkpoints: dict[RunId, Checkpoint] = {}

    async def append(
        self, batch: Mapping[Stream, Addition], *, token: Token | None = None, settles: Sequence[int] = ()
    ) -> int:
        """Add to all streams of the batch at once, or to none; return the last sequence number."""
        encoded = {s: [(type(e).__name__, codec.encode(e)) for e in a.events] for s, a in batch.items()}
        await anyio.lowlevel.checkpoint()
        self.appends += 1
        number = self.appends
        if self.before is not None:
            self.before(number)
        self._fence(token, batch)
        self._check(batch, settles)
        self._apply(encoded, settles)
        if self.after is not None:
            self.after(number)
        return len(self._rows)

    def append_now(self, batch: Mapping[Stream, Addition], *, token: Token) -> int | None:
        """None: here everybody waits for a turn, at which hooks are called."""
        return None

    def read(self, stream: Stream, *, after: int = 0, kinds: Sequence[str] = ()) -> Sequence[Recorded]:
        """The stream's events with a version above `after`, oldest first; only the given kinds if any are given."""
        rows = self._streams.get(stream, [])[after:]
        return [_record(row) for row in rows if not kinds or row.kind in kinds]

    def tail(self, run: RunId, *, after: int = 0) -> Sequence[Recorded]:
        """Events of all streams of a run with a sequence number above `after`, in order."""
        return [_record(row) for row in self._rows[after:] if row.stream.run == run]

    def seal(self, run: RunId, start: Seal = UNSEALED, *, upto: int | None = None) -> Seal:
        """The seal over all events of a run, or those up to a sequence number; `start` is one that is known already."""
        rows = [row for row in self._rows[start.seq : upto] if row.stream.run == run]
        return extend(start, [(r.seq, r.stream.step, r.version, r.at, r.kind, 1, r.body) for r in rows])

    def last_at(self, run: RunId, *, before: int) -> float | None:
        """When the run's last event with a sequence number below `before` was recorded; None if there is none."""
        return next((_record(row).at for row in reversed(self._rows[: before - 1]) if row.stream.run == run), None)

    def runs(self) -> Sequence[RunId]:
        """Every run that has events, oldest first."""
        return list(dict.fromkeys(row.stream.run for row in self._rows))

    def position(self) -> int:
        """A number that grows whenever anything was written."""
        return self._writes

    def checkpoint(self, run: RunId) -> Checkpoint | None:
        """The checkpoint kept last for the run, if there is one."""
        return self._checkpoints.get(run)

    def keep_checkpoint(self, run: RunId, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of an older one; a newer one that is there stays."""
        known = self._checkpoints.get(run)
        if known is None or known.version < checkpoint.version:
            self._checkpoints[run] = checkpoint
            self._writes += 1

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
        """Claim a step in one compare-and-set; None if somebody has it."""
        held = self._claims.get((run, step))
        if (held.token if held else None) != over:
            return None
        others = self.list_claims(run).keys() - {step}
        if (at_most is not None and len(others) >= at_most) or (seen is not None and others - set(seen)):
            return None
        self._last_token += 1
        self._claims[run, step] = Claim(driver=driver, token=Token(self._last_token))
        self._writes += 1
        return Token(self._last_token)

    def release(self, run: RunId, step: StepId, token: Token) -> None:
        """Give the claim back; nothing happens if it was taken over."""
        held = self._claims.get((run, step))
        if held is not None and held.token == token:
            del self._claims[run, step]
            self._writes += 1

    def list_claims(self, run: RunId) -> Mapping[StepId, Claim]:
        """All claims of a run."""
        return {step: claim for (owner, step), claim in self._claims.items() if owner == run}

    def put(self, run: RunId, message: Message) -> Message | None:
        """Keep the message; None if it was taken. An answer to a gate that has one returns that earlier answer."""
        if message.kind == "answer":
            for owner, earlier in self._inbox:
                if (owner, earlier.kind, earlier.subject) == (run, message.kind, message.subject):
                    return earlier
        self._inbox.append((run, message))
        self._writes += 1
        return None

    def unread(self, run: RunId) -> Sequence[tuple[int, Message]]:
        """Messages no driver has settled yet, oldest first."""
        numbered = enumerate(self._inbox, 1)
        return [(number, m) for number, (owner, m) in numbered if owner == run and number not in self._settled]

    def close(self) -> None:
        """Nothing to let go of: the next driver finds everything in this object."""

    def _fence(self, token: Token | None, streams: Mapping[Stream, Addition]) -> None:
        """Refuse a token under which a step of the batch is not, or no longer, claimed."""
        for stream in streams:
            held = self._claims.get((stream.run, stream.step))
            if token is not None and stream.step and (held is None or held.token != token):
                raise StaleToken(f"step {stream.step!r} is not claimed under token {token}", hint="drumline status")

    def _check(self, batch: Mapping[Stream, Addition], settles: Sequence[int]) -> None:
        for stream, addition in batch.items():
            version = len(self._streams.get(stream, ()))
            if addition.expected not in (None, version):
                raise Conflict(
                    f"the stream {tuple(stream)!r} is at version {version}, not at {addition.expected} as expected",
                    hint="drumline status",
                )
        for message in settles:
            if message in self._settled or not 1 <= message <= len(self._inbox):
                raise Conflict(
                    f"the message {message} is not in the inbox or was settled before", hint="drumline status"
                )

    def _apply(self, encoded: Mapping[Stream, Sequence[tuple[str, str]]], settles: Sequence[int]) -> None:
        at = time.time()
        for stream, entries in encoded.items():
            rows = self._streams.setdefault(stream, [])
            for kind, body in entries:
                seq, version = len(self._rows) + 1, len(rows) + 1
                row = _Row(seq=seq, stream=stream, version=version, at=at, kind=kind, body=body)
                rows.append(row)
                self._rows.append(row)
        self._settled.update(settles)
        self._writes += 1


def _record(row: _Row) -> Recorded:
    event = codec.decode(row.kind, codec.VERSION, row.body)
    return Recorded(seq=row.seq, stream=row.stream, version=row.version, at=row.at, event=event)
