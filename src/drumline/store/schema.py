"""The tables of the store and how older files reach them. A migration that was released is never edited."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from drumline.errors import StoreError

APPLICATION_ID = 0x44524D4C  # "DRML": tells our file from any other SQLite file

# `runs` gets one row per run, so that listing runs does not walk every event.
# Events and messages are never deleted, so the next rowid is never one given out before; AUTOINCREMENT would promise
# the same at the price of one more page in every commit.
_FIRST = (
    """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        run TEXT NOT NULL, step TEXT NOT NULL, version INTEGER NOT NULL,
        kind TEXT NOT NULL, v INTEGER NOT NULL, at REAL NOT NULL,
        body TEXT, blob TEXT REFERENCES blobs (digest),
        UNIQUE (run, step, version)
    )
    """,
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE runs (place INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE)",
    """
    CREATE TABLE claims (
        run TEXT NOT NULL, step TEXT NOT NULL, token INTEGER NOT NULL, driver TEXT NOT NULL,
        PRIMARY KEY (run, step)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE tokens (last INTEGER NOT NULL)",
    "INSERT INTO tokens (last) VALUES (0)",
    """
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY,
        run TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, value TEXT NOT NULL,
        comment TEXT NOT NULL, said_by TEXT NOT NULL, channel TEXT NOT NULL,
        at REAL NOT NULL, settled INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE UNIQUE INDEX inbox_first_answer ON inbox (run, subject) WHERE kind = 'answer'",
    "CREATE INDEX inbox_unread ON inbox (run) WHERE settled = 0",
)

_CHECKPOINTS = ("CREATE TABLE checkpoints (run TEXT PRIMARY KEY, version INTEGER, seq INTEGER, body TEXT NOT NULL)",)

READABLE = 1
"""The oldest version that a reader reads as it is: what is newer than that is asked for only where it can be."""
CHECKPOINTED = 2
"""The version from which on there are checkpoints."""
MIGRATIONS: tuple[Sequence[str], ...] = (_FIRST, _CHECKPOINTS)


def read_version(connection: sqlite3.Connection, known: int) -> int:
    """The file's schema version, or StoreError if the file is not ours or newer than `known`."""
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    if application != APPLICATION_ID:
        raise StoreError(
            "the file is an SQLite database of another program, not a Drumline store; nothing was changed",
            hint="move it away, then: drumline run PLAN",
        )
    if version > known:
        raise StoreError(
            f"the store has schema version {version}, this Drumline knows versions up to {known}; nothing was changed",
            hint="upgrade Drumline, then: drumline status",
        )
    return int(version)


def create_schema(connection: sqlite3.Connection) -> None:
    """Turn an empty database into a store of the newest schema."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(connection)


def migrate(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the file to the newest schema in one transaction; nothing happens if it is there already."""
    if read_version(connection, len(migrations)) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again under the lock: another process may have migrated in the meantime.
        for statements in migrations[read_version(connection, len(migrations)) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
