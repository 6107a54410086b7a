"""The statements of the store, of which none is built from what anybody said."""

from __future__ import annotations

EVENTS = """
    SELECT seq, run, step, version, at, kind, v, coalesce(events.body, blobs.body)
    FROM events LEFT JOIN blobs ON blobs.digest = events.blob
"""
READ = f"{EVENTS} WHERE run = ? AND step = ? AND version > ? ORDER BY version"
READ_KINDS = f"""
    {EVENTS} WHERE run = ? AND step = ? AND version > ? AND kind IN (SELECT value FROM json_each(?)) ORDER BY version
"""  # noqa: S608 - constant
# The plus keeps SQLite from the (run, step, version) index: walking on from `after` is what a poller needs.
TAIL = f"{EVENTS} WHERE +run = ? AND seq > ? ORDER BY seq"
SEALED = """
    SELECT seq, step, version, at, kind, v, coalesce(events.body, blobs.body)
    FROM events LEFT JOIN blobs ON blobs.digest = events.blob
    WHERE +run = ? AND seq > ? AND (? IS NULL OR seq <= ?) ORDER BY seq
"""
LAST_AT = "SELECT at FROM events WHERE +run = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
VERSION = "SELECT version FROM events WHERE run = ? AND step = ? ORDER BY version DESC LIMIT 1"
INSERT_MESSAGE = """
    INSERT INTO inbox (run, kind, subject, value, comment, said_by, channel, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
"""
MESSAGE = "kind, subject, value, comment, said_by, channel"
ANSWER = f"SELECT {MESSAGE} FROM inbox WHERE run = ? AND subject = ? AND kind = 'answer'"  # noqa: S608 - constant
UNREAD = f"SELECT id, {MESSAGE} FROM inbox WHERE run = ? AND settled = 0 ORDER BY id"  # noqa: S608 - constant
CHECKPOINT = (
    "INSERT INTO checkpoints (run, version, seq, body) VALUES (?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET "
    "version = excluded.version, seq = excluded.seq, body = excluded.body WHERE excluded.version > version"
)
