"""A store of the first version: its runs are listed and looked at as they are, resumed, and their marks are known."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, states_of, step_text

from drumline.store.schema import APPLICATION_ID, MIGRATIONS

EVENTS = Path(__file__).with_name("oldstore.jsonl")
"""What a Drumline of that time recorded of two runs: one is parked at a gate, one was killed as it had begun a step."""
GATE, OPEN = "old-gate", "old-open"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
        base = made.git("rev-parse", "HEAD")
        for run in (GATE, OPEN):
            made.git("branch", f"drumline/{run}", base)
            made.git("update-ref", f"refs/drumline/{run}/@head", base)
        write_store(made, base)
        yield made


def store_of(user: User) -> Path:
    return user.repo / ".git" / "drumline" / "state.db"


def write_store(user: User, base: str) -> None:
    store_of(user).parent.mkdir()
    connection = sqlite3.connect(store_of(user))
    for statement in MIGRATIONS[0]:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    versions: dict[tuple[str, str], int] = {}
    for number, line in enumerate(EVENTS.read_text(encoding="utf-8").splitlines()):
        run, step, kind, body = json.loads(line)
        versions[run, step] = version = versions.get((run, step), 0) + 1
        text = json.dumps(body).replace("BASE", base)
        values = (run, step, version, kind, 1, 1e9 + number, text)
        connection.execute(
            "INSERT INTO events (run, step, version, kind, v, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)", values
        )
        connection.execute("INSERT OR IGNORE INTO runs (run) VALUES (?)", (run,))
    connection.commit()
    connection.close()


def list_states(user: User) -> dict[str, tuple[object, object]]:
    found = user.type("runs", "--json").json["runs"]
    assert isinstance(found, list)
    return {row["run"]: (row["state"], row["branch"]) for row in found}


def test_its_runs_are_listed_and_looked_at_without_a_change_of_the_file(user: User) -> None:
    before = hashlib.sha256(store_of(user).read_bytes()).digest()

    listed = list_states(user)
    gate = user.type("status", GATE)
    cause = user.type("why", "step-1", "--run", OPEN)
    newest = user.type()

    assert listed == {GATE: ("parked", f"drumline/{GATE}"), OPEN: ("interrupted", f"drumline/{OPEN}")}
    assert (gate.code, "drumline answer approve-step-1" in gate.out) == (0, True), gate.text
    assert (cause.code, "interrupted" in cause.out) == (0, True), cause.text
    assert newest.out.startswith(f"run {OPEN} "), newest.text
    assert hashlib.sha256(store_of(user).read_bytes()).digest() == before


def test_a_run_of_it_is_resumed_to_its_end(user: User) -> None:
    resumed = user.type("resume", OPEN)

    assert resumed.code == 0, resumed.text
    assert states_of(user.status(OPEN)) == {"step-1": "done", "step-2": "done"}
    assert list_states(user)[GATE] == ("parked", f"drumline/{GATE}")


def test_its_marks_do_not_hold_up_a_new_run(user: User) -> None:
    user.edit(
        "step-1", "status: ready", f"status: claimed\nassignee: drumline/{OPEN}\nclaimed_at: 2026-11-19T02:30:18Z"
    )

    ran = user.type("run", "plans/p", "--agent", "scripted:agent.yaml", "--autonomy", "autopilot", "--new")

    assert ran.code == 0, ran.text
    assert len(list_states(user)) == 3


def test_a_run_that_another_version_has_written_is_listed_and_keeps_nothing_else_from_being_used(user: User) -> None:
    connection = sqlite3.connect(store_of(user))
    connection.execute("UPDATE events SET kind = 'GateForeseen' WHERE run = ? AND kind = 'GateOpened'", (GATE,))
    connection.execute("UPDATE events SET kind = 'StepFinished', body = '{\"odd\": 1}' WHERE kind = 'StepStarted'")
    connection.commit()
    connection.close()

    listed = user.type("runs")
    ran = user.type("run", "plans/p", "--agent", "scripted:agent.yaml", "--autonomy", "autopilot", "--new")
    swept = user.type("gc")

    assert list_states(user)[GATE] == ("unreadable", f"drumline/{GATE}")
    assert "another version of Drumline" in listed.out
    assert ran.code == 0, ran.text
    assert swept.code == 0, swept.text
    assert user.type("status", GATE).code == 1
