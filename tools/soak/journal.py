"""The journal read with SQLite alone: what the program has recorded, without any of its own code."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

CODES = {"done": 0, "failed": 1, "cancelled": 1, "rejected": 1, "parked": 2, "blocked": 2, "interrupted": 130}
"""The exit code that belongs to each state of a run."""

_EVENTS = """
    SELECT seq, run, step, kind, coalesce(events.body, blobs.body)
    FROM events LEFT JOIN blobs ON blobs.digest = events.blob ORDER BY seq
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finish:
    """How a step ended by the journal."""

    state: str
    commit: str
    reason: str = ""


@dataclass(kw_only=True, slots=True)
class Record:
    """One run as its events tell it; `state` is `interrupted` where neither an end nor a parking came last."""

    run: str
    branch: str = ""
    base: str = ""
    state: str = "interrupted"
    reason: str = ""
    ended_at: int = 0
    first: int = 0
    last: int = 0
    finished: dict[str, Finish] = field(default_factory=dict)
    redone: dict[str, int] = field(default_factory=dict)
    landed: dict[str, list[str]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    visits: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """How often each visit of a flow was concluded, by scope, node and number."""


def read_records(store: Path) -> list[Record]:
    """Every run of the store, oldest first; none if there is no store yet."""
    if not store.exists():
        return []
    records: dict[str, Record] = {}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30) as connection:
        rows = connection.execute(_EVENTS).fetchall()
    connection.close()
    for seq, run, step, kind, body in rows:
        record = records.setdefault(run, Record(run=run, first=seq))
        record.last = seq
        _apply(record, seq, step, kind, json.loads(body))
    return list(records.values())


def count_events(store: Path) -> int:
    """How far the journal has come; 0 if it cannot be read."""
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5) as connection:
            (found,) = connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()
        connection.close()
    except sqlite3.Error:
        return 0
    return int(found)


def _apply(record: Record, seq: int, step: str, kind: str, body: dict[str, object]) -> None:
    name = str(body.get("step") or step)
    match kind:
        case "RunStarted":
            record.branch, record.base = str(body["branch"]), str(body["base"])
        case "RunResumed":
            record.state, record.reason = "interrupted", ""
        case "RunParked":
            record.state = "parked"
        case "RunEnded":
            record.state, record.reason, record.ended_at = str(body["state"]), str(body.get("reason") or ""), seq
        case "StepFinished":
            commit, reason = str(body.get("commit") or ""), str(body.get("reason") or "")
            record.finished[name] = Finish(state=str(body["state"]), commit=commit, reason=reason)
        case "StepReopened":
            gone = record.finished.pop(name, None)
            if gone is not None and gone.commit:
                record.redone[name] = record.redone.get(name, 0) + 1
        case "StepLanded":
            record.landed.setdefault(step, []).append(str(body.get("commit") or ""))
        case "NodeEnded":
            record.visits[str(body.get("scope") or ""), str(body["node"]), int(str(body["visit"]))] += 1
        case "BranchSettled" if body.get("how") == "kept":
            record.kept.append(str(body.get("new") or ""))
        case _:
            pass
