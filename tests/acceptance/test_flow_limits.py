"""Limits of flows by the command line: caps of maps, timeouts of nodes and runs, large states."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user, read_journal, run_flow, write_files
from tests.acceptance.cli_user import User


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with flow_user(tmp_path, {"play.yaml": "default: {say: done}\n"}) as user:
        yield user


ITEM = """\
import json, os, time
item = json.loads(os.environ["GRAPH_STATE"])["n"]
for word in ("in", "out"):
    with open("log", "a") as log:
        log.write(word + "\\n")
    time.sleep(0.2 if word == "in" else 0)
print(json.dumps({"output": item * item}))
"""


def test_a_map_of_many_items_keeps_its_cap_and_its_order(user: User) -> None:
    nodes = {
        "each": {
            "type": "map",
            "over": "{{items}}",
            "as": "n",
            "branch": "square",
            "collect_into": "all",
            "max_concurrency": 3,
            "next": "end",
        },
        "square": {"type": "script", "script": "item.py"},
        "end": {"type": "end", "output": "{{all}}"},
    }
    write_files(user, {"map.yaml": flow_text("each", nodes, initial_state={"items": list(range(20))}), "item.py": ITEM})

    ran = run_flow(user, "map.yaml")

    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == [n * n for n in range(20)]
    assert read_journal(user).concluded[("each#1[19]", "square", 1)] == 1
    most = now = 0
    for word in (user.repo / "log").read_text().split():
        now += 1 if word == "in" else -1
        most = max(most, now)
    assert 1 < most <= 3


def sleeper(**more: object) -> dict[str, str]:
    """A flow with a script that sleeps much longer than it may."""
    nodes = {
        "nap": {"type": "script", "script": "nap.sh", "next": "end", **more},
        "end": {"type": "end"},
        "late": {"type": "end", "status": "blocked", "output": "too late"},
    }
    return {"nap.sh": "sleep 300 & sleep 301\n", "nap.yaml": flow_text("nap", nodes)}


def test_a_node_that_takes_too_long_is_ended_with_all_it_started(user: User) -> None:
    write_files(user, sleeper(timeout=1))

    ran = run_flow(user, "nap.yaml")

    assert (ran.code, ran.out) == (1, "")
    assert "timed out after 1s" in str(user.status()["reason"])


def test_a_node_that_takes_too_long_follows_its_fallback(user: User) -> None:
    write_files(user, sleeper(timeout=1, fallback="late"))

    assert (run_flow(user, "nap.yaml").code, user.status()["output"]) == (2, "too late")


def test_a_run_that_takes_too_long_is_ended(user: User) -> None:
    files = sleeper(timeout=200)
    write_files(user, files | {"nap.yaml": files["nap.yaml"] + "settings: {timeout: 1}\n"})

    ran = run_flow(user, "nap.yaml")

    assert (ran.code, ran.out) == (1, "")
    reason = str(user.status()["reason"])
    assert "timed out after 1s" in reason
    assert "nap" in reason


BIG = 40_000
GROW = f'print(\'{{"blob": "\' + "é" * {BIG} + \'"}}\')\n'
WEIGH = """\
import json, os
assert "GRAPH_STATE" not in os.environ
state = json.load(open(os.environ["GRAPH_STATE_FILE"], encoding="utf-8"))
print(json.dumps({"length": len(state["blob"])}))
"""


@pytest.mark.long
def test_a_large_state_reaches_scripts_as_a_file_and_the_journal_as_a_blob(user: User) -> None:
    nodes = {
        "grow": {"type": "script", "script": "grow.py", "next": "weigh"},
        "weigh": {"type": "script", "script": "weigh.py", "next": "ask"},
        "ask": {
            "type": "approval",
            "question": "Is {{length}} right?",
            "options": ["yes"],
            "routes": {"yes": "end"},
            "on_other": "end",
        },
        "end": {"type": "end", "output": "{{length}} {{blob}}"},
    }
    write_files(user, {"big.yaml": flow_text("grow", nodes), "grow.py": GROW, "weigh.py": WEIGH})
    parked = run_flow(user, "big.yaml")

    ran = user.drumline("answer", "ask", "yes", "--resume")

    assert parked.code == 2, parked.err
    assert (ran.code, ran.out) == (0, f"{BIG} {'é' * BIG}\n"), ran.err
    state = user.repo / ".git" / "drumline"
    assert list(state.rglob("*.tmp")) == []
    with closing(sqlite3.connect(state / "state.db")) as database:
        sizes = [size for (size,) in database.execute("SELECT length(body) FROM blobs")]
    assert max(sizes) > BIG
