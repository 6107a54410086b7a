"""One connection to the store's file: opening, waiting for the lock, transactions. Knows no event and no claim.

A transaction is written completely or not at all, and has reached the disk when `transact` returns.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from drumline.errors import StoreError
from drumline.store.faults import (
    is_busy,
    is_damage,
    report_damage,
    report_lost_log,
    report_replaced,
    report_unreachable,
    translate,
)
from drumline.store.place import Places
from drumline.store.schema import MIGRATIONS, READABLE, create_schema, migrate, read_version

T = TypeVar("T")

# Between two tries somebody may look who holds the lock; so SQLite itself waits only this long.
_TRY_SECONDS = 0.25

# Deleting the log of a dead process loses at most what was written since: the rest is in the file.
_COPY_SECONDS = 2.0


class Database:
    """A connection for one process and one thread. Errors of SQLite leave it only as StoreError."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, *, on_busy: Callable[[], None] | None, busy_limit: float
    ) -> None:
        self.path = path
        self.commits = 0
        self.execute = connection.execute
        self._connection = connection
        self._on_busy = on_busy
        self._busy_limit = busy_limit
        self._places = Places()
        self._file = self._places.add(str(path))
        self._copied = 0.0
        self._behind = False

    @classmethod
    def open(
        cls, path: Path, *, read_only: bool, on_busy: Callable[[], None] | None = None, busy_limit: float = 60.0
    ) -> Database:
        """Open the file, made or migrated first if need be; a reader does neither."""
        _ensure_file(path, read_only=read_only)
        connection = _connect(path, mode="ro" if read_only else "rw")
        database = cls(connection, path, on_busy=on_busy, busy_limit=busy_limit)
        try:
            database.patiently(lambda: _prepare(connection, read_only=read_only))
            if not read_only:
                database._places.add(f"{path}-wal")
                database._places.watch()
        except BaseException:
            database.close()
            raise
        return database

    def fetch(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a query."""
        self._require_place(time.monotonic())
        return self.patiently(lambda: self.execute(statement, tuple(values)).fetchall())

    def transact_unsynced(self, work: Callable[[], T]) -> T:
        """The same for what need not survive a power cut by itself; the next transaction that is synced covers it."""
        self.execute("PRAGMA synchronous = NORMAL")
        try:
            return self.transact(work)
        finally:
            self.execute("PRAGMA synchronous = FULL")

    def transact(self, work: Callable[[], T]) -> T:
        """Run `work` in one write transaction; on any error nothing of it is kept.

        A broken constraint is for the caller to judge and stays an sqlite3.IntegrityError.
        """
        self.patiently(lambda: self.execute("BEGIN IMMEDIATE"))
        before = self._connection.total_changes
        try:
            result = work()
            self.execute("COMMIT")
        except BaseException as error:
            # SQLite has already rolled back after some errors, for example a full disk.
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                raise translate(error, self.path) from error
            raise
        if self._connection.total_changes != before:
            self._note_commit()
        return result

    def change(self, statement: str, values: Sequence[object]) -> int | None:
        """Run one statement as a transaction of its own; the last rowid it wrote, or None if it wrote nothing.

        Neither a broken constraint nor a lock in other hands is an error here: the long way judges, and waits.
        """
        try:
            cursor = self.execute(statement, values)
        except sqlite3.IntegrityError:
            return None
        except sqlite3.Error as error:
            if is_busy(error):
                return None
            raise translate(error, self.path) from error
        if cursor.rowcount < 1:
            return None
        self._note_commit()
        return cursor.lastrowid

    def patiently(self, call: Callable[[], T]) -> T:
        """Do `call`, again and again while another process has the lock, up to the busy limit."""
        deadline = 0.0
        while True:
            try:
                return call()
            except sqlite3.Error as error:
                deadline = deadline or time.monotonic() + self._busy_limit
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise translate(error, self.path) from error
            if self._on_busy is not None:
                self._on_busy()

    def position(self) -> int:
        """Grows with every commit: SQLite counts those of other connections, we count our own."""
        self._copy_log(time.monotonic())
        ((foreign,),) = self.fetch("PRAGMA data_version")
        return int(foreign) + self.commits

    def find_damage(self) -> Sequence[str]:
        """Everything SQLite's own integrity check finds wrong with the file; empty if it is sound."""
        try:
            found = [str(row[0]) for row in self.fetch("PRAGMA integrity_check")]
        except StoreError as error:
            if not is_damage(error.__cause__):
                raise
            found = [str(error.__cause__)]  # too broken for the check itself
        return () if found == ["ok"] else tuple(found)

    def read_version(self) -> int:
        """The version of the file's schema; that of one that is only read may be an older one."""
        return read_version(self._connection, len(MIGRATIONS))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
        self._places.close()

    def _note_commit(self) -> None:
        """Count a commit, and refuse to believe it if it went into a file that nobody will find."""
        self.commits += 1
        self._behind = True
        now = time.monotonic()
        self._require_place(now)
        self._copy_log(now)

    def _require_place(self, now: float) -> None:
        """Refuse to go on if the file or its log is not what was opened: SQLite would write on into nothing."""
        lost = self._places.find_lost(now)
        if lost is None:
            return
        if lost is self._file:
            raise report_replaced(self.path)
        # Our connection is one of the last that still have what the log held.
        with suppress(sqlite3.Error):
            self.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
        raise report_lost_log(self.path)

    def _copy_log(self, now: float) -> None:
        """Copy the log into the file every now and then, so that the file alone has nearly everything."""
        if self._behind and now - self._copied >= _COPY_SECONDS:
            self._behind, self._copied = False, now
            # A refusal loses nothing: the log still has it all, and the next commit tells of a disk that is full.
            with suppress(sqlite3.Error):
                self.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _ensure_file(path: Path, *, read_only: bool) -> None:
    """See to it that there is a file which is not plainly broken."""
    try:
        if not path.exists():
            _refuse_reader(path, read_only=read_only)
            _create(path)
        elif path.stat().st_size == 0:
            # We never make an empty file, and SQLite would take it for a new database.
            raise report_damage(path, "the file is empty")
    except OSError as error:
        raise report_unreachable(path, error) from error


def _refuse_reader(path: Path, *, read_only: bool) -> None:
    if read_only:
        raise StoreError(f"there is no store at {str(path)!r} yet", hint="drumline run PLAN")


def _create(path: Path) -> None:
    """Make the store beside its place and link it in whole, so that nobody ever sees half of it."""
    if Path(f"{path}-wal").exists():
        # SQLite would replay the log of the lost file into the new one.
        raise report_damage(path, "its log '-wal' is there but the file itself is gone")
    import tempfile  # who only reads does without it

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        fresh = Path(folder) / path.name
        connection = _connect(fresh, mode="rwc")
        try:
            _set_durability(connection)
            create_schema(connection)
        except sqlite3.Error as error:
            raise translate(error, path) from error
        finally:
            connection.close()
        _link(fresh, path)


def _link(fresh: Path, path: Path) -> None:
    try:
        os.link(fresh, path)
    except FileExistsError:
        return  # another process made it first; theirs counts
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _connect(path: Path, *, mode: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=_TRY_SECONDS
        )
    except sqlite3.Error as error:
        raise translate(error, path) from error


def _prepare(connection: sqlite3.Connection, *, read_only: bool) -> None:
    version = read_version(connection, len(MIGRATIONS))
    if not read_only:
        _set_durability(connection)
        migrate(connection)
    elif version < READABLE:
        raise StoreError(
            f"the store has the older schema version {version}; a reader does not change it to {len(MIGRATIONS)}",
            hint="drumline resume",
        )


def _set_durability(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    # On macOS a plain fsync leaves the data in the drive's cache; elsewhere this changes nothing.
    connection.execute("PRAGMA fullfsync = ON")
