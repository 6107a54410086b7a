"""The store port on SQLite. What is appended in one turn of the event loop shares one transaction and one fsync.

Every request of such a group is judged on its own and applied completely or not at all.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from drumline.core import codec
from drumline.core.events import Event
from drumline.core.ids import DriverId, RunId, StepId, Stream, Token
from drumline.core.seal import Seal, extend
from drumline.errors import Conflict, StaleToken, StoreError
from drumline.garbage import uncollected
from drumline.ports.journal import UNSEALED, Addition, Checkpoint, Claim, Message, Recorded
from drumline.store.database import Database
from drumline.store.faults import copy_fault, report_damage
from drumline.store.requests import (
    MOST_AT_ONCE,
    ROW,
    Part,
    Request,
    insert_claimed,
    insert_rows,
    prepare,
    row_values,
    small_rows,
)
from drumline.store.schema import CHECKPOINTED
from drumline.store.statements import (
    ANSWER,
    CHECKPOINT,
    INSERT_MESSAGE,
    LAST_AT,
    READ,
    READ_KINDS,
    SEALED,
    TAIL,
    UNREAD,
    VERSION,
)

PATIENCE, PROBE = 3, 32
"""Who was alone for the last appends looks for company only at every so many-th: a turn of the loop is not free."""

_Row = tuple[int, RunId, StepId, int, float, str, int, str]
_UNREADABLE = (ValueError, TypeError, AttributeError, KeyError)


class SqliteStore:
    """Journal, claims and inbox in one file. For one thread: that of the event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: list[Request] = []
        # The version each stream had when we last saw it; if others added since, the UNIQUE index says so.
        self._versions: dict[Stream, int] = {}
        self._listed: set[RunId] = set()
        self._wary = False
        self._alone = 0
        self._loop: object = None

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        on_busy: Callable[[], None] | None = None,
        busy_limit: float = 60.0,
    ) -> Self:
        """Open the store, made if it is not there; with `read_only` it must be there and is only read.

        While another process has the write lock, `on_busy` is called between tries, for `busy_limit` seconds.
        """
        return cls(Database.open(path, read_only=read_only, on_busy=on_busy, busy_limit=busy_limit))

    @property
    def commits(self) -> int:
        """How many transactions this object has written."""
        return self._database.commits

    # --- journal ------------------------------------------------------------------------------------------------

    async def append(
        self, batch: Mapping[Stream, Addition], *, token: Token | None = None, settles: Sequence[int] = ()
    ) -> int:
        """Add to all streams of the batch at once, or to none; return the last sequence number."""
        last = None if settles or token is None else self.append_now(batch, token=token)
        if last is not None:
            return last
        parts = [Part(s, a.expected, [prepare(e) for e in a.events]) for s, a in batch.items()]
        import asyncio  # who only reads does without it

        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # A loop that ended with requests queued took those who awaited them along.
            self._loop, self._queue = loop, []
        request = Request(parts=parts, token=token, settles=settles)
        self._queue.append(request)
        if self._is_patient:
            await self._share_turn()
        if request.outcome is None:
            self._flush()
        if isinstance(request.outcome, int):
            return request.outcome
        raise request.outcome or AssertionError("a flush leaves no request without an outcome")

    def append_now(self, batch: Mapping[Stream, Addition], *, token: Token) -> int | None:
        """Append at once; None, and nothing is written, if others may want a share of the turn, or it is refused."""
        if self._is_patient or self._queue or len(batch) != 1:
            return None
        last = self._write_alone(batch, token)
        self._alone += last is not None
        return last

    def read(self, stream: Stream, *, after: int = 0, kinds: Sequence[str] = ()) -> Sequence[Recorded]:
        """The stream's events with a version above `after`, oldest first; only the given kinds if any are given."""
        if not kinds:
            return self._record(self._database.fetch(READ, (*stream, after)))
        return self._record(self._database.fetch(READ_KINDS, (*stream, after, json.dumps(list(kinds)))))

    def tail(self, run: RunId, *, after: int = 0) -> Sequence[Recorded]:
        """Events of all streams of a run with a sequence number above `after`, in order."""
        return self._record(self._database.fetch(TAIL, (run, after)))

    def seal(self, run: RunId, start: Seal = UNSEALED, *, upto: int | None = None) -> Seal:
        """The seal over all events of a run, or those up to a sequence number; `start` is one that is known already."""
        return extend(start, self._database.fetch(SEALED, (run, start.seq, upto, upto)))

    def last_at(self, run: RunId, *, before: int) -> float | None:
        """When the run's last event with a sequence number below `before` was recorded; None if there is none."""
        return next((at for (at,) in self._database.fetch(LAST_AT, (run, before))), None)

    def runs(self) -> Sequence[RunId]:
        """Every run that has events, oldest first."""
        return [RunId(run) for (run,) in self._database.fetch("SELECT run FROM runs ORDER BY place")]

    def checkpoint(self, run: RunId) -> Checkpoint | None:
        """The checkpoint kept last for the run, if there is one."""
        if self._database.read_version() < CHECKPOINTED:
            return None
        rows = self._database.fetch("SELECT version, seq, body FROM checkpoints WHERE run = ?", (run,))
        return next((Checkpoint(version=version, seq=seq, body=body) for version, seq, body in rows), None)

    def keep_checkpoint(self, run: RunId, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of an older one; a newer one that is there stays."""
        values = (run, checkpoint.version, checkpoint.seq, checkpoint.body)
        self._database.transact(lambda: self._database.execute(CHECKPOINT, values))

    def position(self) -> int:
        """A number that grows whenever anything was written, by any process."""
        return self._database.position()

    # --- claims -------------------------------------------------------------------------------------------------

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

        def is_free() -> bool:
            held = self.list_claims(run)
            owner = held.get(step)
            others = held.keys() - {step}
            crowded = at_most is not None and len(others) >= at_most
            surprised = seen is not None and bool(others - set(seen))
            return (owner.token if owner else None) == over and not crowded and not surprised

        # Looking first spares the many who come too late the wait for the write lock.
        if not is_free():
            return None

        def claim() -> Token | None:
            if not is_free():
                return None
            self._database.execute("UPDATE tokens SET last = last + 1")
            self._database.execute("REPLACE INTO claims SELECT ?, ?, last, ? FROM tokens", (run, step, driver))
            ((token,),) = self._database.execute("SELECT last FROM tokens").fetchall()
            return Token(token)

        # A power cut ends all drivers: a claim that it swallows binds nobody, one that it leaves is a dead driver's.
        # What is appended under the claim is synced, and the claim with it.
        return self._database.transact_unsynced(claim)

    def release(self, run: RunId, step: StepId, token: Token) -> None:
        """Give the claim back; nothing happens if it was taken over."""
        statement = "DELETE FROM claims WHERE run = ? AND step = ? AND token = ?"
        self._database.transact_unsynced(lambda: self._database.execute(statement, (run, step, token)))

    def list_claims(self, run: RunId) -> Mapping[StepId, Claim]:
        """All claims of a run."""
        rows = self._database.fetch("SELECT step, driver, token FROM claims WHERE run = ? ORDER BY token", (run,))
        return {StepId(step): Claim(driver=DriverId(driver), token=Token(token)) for step, driver, token in rows}

    # --- inbox --------------------------------------------------------------------------------------------------

    def put(self, run: RunId, message: Message) -> Message | None:
        """Keep the message; None if it was taken. An answer to a gate that has one returns that earlier answer."""
        m = message
        values = (run, m.kind, m.subject, m.value, m.comment, m.by, m.channel, time.time())

        def keep() -> Message | None:
            if self._database.execute(INSERT_MESSAGE, values).rowcount:
                return None
            (row,) = self._database.execute(ANSWER, (run, m.subject)).fetchall()
            return _message(row)

        return self._database.transact(keep)

    def unread(self, run: RunId) -> Sequence[tuple[int, Message]]:
        """Messages no driver has settled yet, oldest first."""
        return [(row[0], _message(row[1:])) for row in self._database.fetch(UNREAD, (run,))]

    # --- upkeep -------------------------------------------------------------------------------------------------

    def find_damage(self) -> Sequence[str]:
        """Everything that is wrong with the file; empty if it is sound. Reads all of it."""
        return self._database.find_damage()

    def close(self) -> None:
        """Write what is still queued, then let go of the files."""
        self._flush()
        self._database.close()

    # --- group commit -------------------------------------------------------------------------------------------

    @property
    def _is_patient(self) -> bool:
        """Whether others may be about to append, too: they are asked for at first, and now and then."""
        return self._alone < PATIENCE or self._alone % PROBE == 0

    async def _share_turn(self) -> None:
        """Let everybody who is ready queue up, too; whoever comes back first writes for all."""
        import asyncio

        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._flush()
            raise

    def _flush(self) -> None:
        """Write every queued request in one transaction and note with each how it fared."""
        queue, self._queue = self._queue, []
        if not queue:
            return
        self._alone = self._alone + 1 if len(queue) == 1 else 0
        outcomes: Sequence[int | Exception]
        try:
            outcomes = self._write_group(queue)
        except Exception as error:
            outcomes = [copy_fault(error) for _ in queue]
        for request, outcome in zip(queue, outcomes, strict=True):
            request.outcome = outcome
            if isinstance(outcome, int):
                self._listed.update(part.stream.run for part in request.parts if part.entries)

    def _write_alone(self, batch: Mapping[Stream, Addition], token: Token) -> int | None:
        """Write the commonest append, a claimed step's next events, as one statement that is a transaction by itself.

        None if it is another kind of append, or if it would be refused: then `_judge` says why.
        """
        ((stream, addition),) = batch.items()
        version = self._versions.get(stream)
        if version is None or version != addition.expected or not stream.step:
            return None
        values = small_rows(stream, version, addition.events)
        if not values:
            return None
        values += (*stream, token)
        last = self._database.change(insert_claimed(len(addition.events)), values)
        if last is not None:
            self._versions[stream] = version + len(addition.events)
        return last

    def _write_group(self, queue: Sequence[Request]) -> Sequence[int | StoreError]:
        try:
            return self._database.transact(lambda: [self._judge(request) for request in queue])
        except sqlite3.IntegrityError:
            self._versions.clear()
            self._wary = True
            try:
                return self._database.transact(lambda: [self._judge(request) for request in queue])
            finally:
                self._wary = False
        except BaseException:
            self._versions.clear()
            raise

    def _judge(self, request: Request) -> int | StoreError:
        """Apply one request, or say why it is refused; a refused one has written nothing."""
        try:
            if request.token is not None:
                self._fence(request.token, [part.stream for part in request.parts])
            versions = [self._check_version(part) for part in request.parts]
            self._check_unsettled(request.settles)
        except (Conflict, StaleToken) as refusal:
            return refusal
        last = None
        for part, version in zip(request.parts, versions, strict=True):
            last = self._write(part, version) or last
        for message in request.settles:
            self._database.execute("UPDATE inbox SET settled = 1 WHERE id = ?", (message,))
        return last or self._last_seq()

    def _fence(self, token: Token, streams: Iterable[Stream]) -> None:
        """Refuse a token under which a step of the batch is not, or no longer, claimed."""
        statement = "SELECT 1 FROM claims WHERE run = ? AND step = ? AND token = ?"
        for run, step in streams:
            if step and not self._database.execute(statement, (run, step, token)).fetchall():
                raise StaleToken(
                    f"step {step!r} is not claimed under token {token}: the claim was taken over or given back",
                    hint="drumline status",
                )

    def _check_version(self, part: Part) -> int:
        version = self._versions.get(part.stream)
        if version is None and part.expected == 0 and part.entries and not self._wary:
            # Taken for new at its word: if it is not, the index refuses the row and everything is judged warily.
            return 0
        if version is None or not part.entries or part.expected not in (None, version):
            rows = self._database.execute(VERSION, part.stream).fetchall()
            version = self._versions[part.stream] = int(rows[0][0]) if rows else 0
        if part.expected is not None and part.expected != version:
            raise Conflict(
                f"the stream {tuple(part.stream)!r} is at version {version}, not at {part.expected} as expected",
                hint="drumline status",
            )
        return version

    def _check_unsettled(self, messages: Sequence[int]) -> None:
        statement = "SELECT 1 FROM inbox WHERE id = ? AND settled = 0"
        for message in messages:
            if not self._database.execute(statement, (message,)).fetchall():
                raise Conflict(
                    f"the message {message} is not in the inbox or was settled before", hint="drumline status"
                )

    def _write(self, part: Part, version: int) -> int | None:
        """Write one part and return the last sequence number it got."""
        run = part.stream.run
        last = None
        if version == 0 and part.entries and run not in self._listed:
            self._database.execute("INSERT OR IGNORE INTO runs (run) VALUES (?)", (run,))
        for _, body, digest in part.entries:
            if digest is not None:
                self._database.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (digest, body))
        values = row_values(part, version)
        for first in range(0, len(values), MOST_AT_ONCE * len(ROW)):
            rows = values[first : first + MOST_AT_ONCE * len(ROW)]
            last = self._database.execute(insert_rows(len(rows) // len(ROW)), rows).lastrowid
        self._versions[part.stream] = version + len(part.entries)
        return last

    def _last_seq(self) -> int:
        ((last,),) = self._database.execute("SELECT coalesce(max(seq), 0) FROM events").fetchall()
        return int(last)

    def _record(self, rows: Sequence[_Row]) -> Sequence[Recorded]:
        with uncollected():
            try:
                events = codec.decode_all([row[5:] for row in rows])
            except _UNREADABLE:
                events = [self._decode(row) for row in rows]
            return [
                Recorded(seq=row[0], stream=Stream(row[1], row[2]), version=row[3], at=row[4], event=event)
                for row, event in zip(rows, events, strict=True)
            ]

    def _decode(self, row: _Row) -> Event:
        """One event by itself, so that the one that cannot be read is named."""
        try:
            return codec.decode(*row[5:])
        except _UNREADABLE as error:
            raise report_damage(self._database.path, f"event {row[0]} cannot be read: {error}") from error


def _message(row: Sequence[str]) -> Message:
    kind, subject, value, comment, by, channel = row
    return Message(kind=kind, subject=subject, value=value, comment=comment, by=by, channel=channel)
