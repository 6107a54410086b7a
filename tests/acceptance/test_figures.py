"""Attempts, fixes, cost and time through interruptions, kills, cancels, skips and retries: they never shrink or lie."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, step_text, wait_for
from tests.warm import Started

HOLD = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch $DRUMLINE_STEP.txt"
USED = {"input": 1200, "output": 300, "cost_usd": 0.25}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Two steps; the agent of the first has used something, and works until it is let go."""
    made = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
    made.play({"match": {"step": "step-1"}, "run": HOLD, "usage": USED})
    with leaving_nothing(tmp_path):
        yield made
        (tmp_path / "home" / "go").touch()


def begin(user: User, *more: str) -> Started:
    """A run in the middle of its first attempt."""
    (user.folder / "home" / "started").unlink(missing_ok=True)
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", *more)
    wait_for((user.folder / "home" / "started").exists, "the agent did not start")
    return process


def finish(process: Started) -> int:
    """Wait for its end."""
    process.communicate(timeout=60)
    return process.returncode


def count(user: User) -> tuple[object, object, object]:
    """Attempts and lost ones of the first step, and what the run has cost."""
    status, step = user.status(), user.step("step-1")
    usage = status["usage"]
    assert isinstance(usage, dict)
    return step["attempts"], step["lost"], usage["cost_usd"]


def test_an_interrupted_attempt_has_cost_what_its_agent_had_used_and_the_next_adds_to_it(user: User) -> None:
    process = begin(user)
    os.kill(process.pid, signal.SIGINT)
    assert finish(process) == 130
    interrupted = count(user)
    (user.folder / "home" / "go").touch()
    resumed = user.drumline("resume")
    logs = user.drumline("logs", "step-1", "--json").json["attempts"]
    shown = user.drumline("logs", "step-1").out

    assert interrupted == (1, 1, 0.25)
    assert isinstance(logs, list)
    assert [(log["attempt"], log["lost"], log["usage"]["cost_usd"]) for log in logs] == [
        (1, True, 0.25),
        (1, False, 0.25),
    ]
    assert shown.index("attempt-1.lost-1.log") < shown.index("was cut short") < shown.index("(attempt-1.log) <==")
    assert resumed.code == 0, resumed.text
    assert count(user) == (1, 1, 0.5)
    assert ", checks 2/2, 2 attempts, 1 cut short," in resumed.out
    assert "  2,400 input and 600 output tokens, $0.50\n" in resumed.out


def test_an_attempt_that_was_killed_with_its_driver_costs_what_was_heard_of_it(user: User) -> None:
    process = begin(user)
    wait_for(lambda: "AttemptUsed" in journal(user), "what the agent used was not kept")
    process.kill()
    finish(process)
    killed = count(user)
    (user.folder / "home" / "go").touch()
    resumed = user.drumline("resume")

    assert killed == (1, 0, 0.25)
    assert resumed.code == 0, resumed.text
    assert count(user) == (1, 1, 0.5)


def test_a_cancelled_attempt_has_its_cost(user: User) -> None:
    process = begin(user)
    cancelled = user.drumline("cancel")
    finish(process)

    assert cancelled.code == 0, cancelled.text
    assert count(user) == (1, 1, 0.25)


def test_a_cancelled_run_is_resumed_with_all_it_had(user: User) -> None:
    process = begin(user)
    user.drumline("cancel", "--reason", "wrong day")
    out, err = process.communicate(timeout=60)
    (user.folder / "home" / "go").touch()
    resumed = user.drumline("resume")
    again = user.drumline("resume")

    assert process.returncode == 1
    assert f"drumline resume {user.status()['run']}" in out + err
    assert resumed.code == 0, resumed.text
    assert count(user) == (1, 1, 0.5)
    assert user.status()["state"] == "done"
    assert again.code == 3


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_goes_away_does_not_stop_the_run(user: User, more: tuple[str, ...]) -> None:
    (user.folder / "home" / "go").touch()
    command = [sys.executable, "-m", "drumline", "run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", *more]
    reading, writing = os.pipe()
    process = subprocess.Popen(
        command, cwd=user.repo, env=user.env, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing
    )
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)

    assert process.wait(timeout=60) == 0
    assert user.status()["state"] == "done"


def test_a_step_that_is_skipped_in_the_middle_keeps_its_figures_and_is_not_counted_as_done(user: User) -> None:
    process = begin(user)
    user.drumline("skip", "step-1", "--reason", "not now")
    out, err = process.communicate(timeout=60)
    listed = user.drumline("runs")

    assert process.returncode == 0, out + err
    assert count(user) == (1, 1, 0.25)
    assert "run done, 1 of 2 steps done, 1 skipped" in err
    assert "1 of 2 steps landed, 1 proved, 1 skipped" in out
    assert " 1/2 " in listed.out


def test_attempts_and_fixes_go_on_counting_through_a_retry_and_a_skip(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"wrong.txt": "x\n"}, "usage": USED})
    first = user.run("--step", "step-1")
    blocked = user.step("step-1")
    user.drumline("retry", "step-1")
    waiting = user.step("step-1")
    again = user.drumline("resume")
    retried = user.step("step-1")
    user.drumline("skip", "step-1")
    skipped = user.step("step-1")

    assert (first.code, again.code) == (2, 2)
    assert [(step["attempts"], step["fixes"]) for step in (blocked, waiting, retried, skipped)] == [
        (3, 2),
        (3, 2),
        (6, 4),
        (6, 4),
    ]
    # The diagnosis of the first round counts as well: it was asked three times for an answer that fits.
    assert user.status()["usage"] == {
        "input": 10800,
        "output": 2700,
        "cached": 0,
        "cost_usd": 2.25,
        "attempts": 7,
        "unpriced": 0,
        "replayed": 0,
    }


def test_the_time_at_a_gate_is_no_time_of_the_run_and_its_checks_are_told_there(user: User) -> None:
    (user.folder / "home" / "go").touch()
    parked = user.run("--autonomy", "verbose")
    before = user.status()["seconds"]
    shift_clock(user, 3600.0)
    after = user.status()["seconds"]
    gate = user.drumline("answer", "approve-step-1", "approve", "--resume")

    assert parked.code == 2
    assert "checks 1/1" in parked.out
    assert before == after
    assert gate.code == 2, gate.text
    seconds = user.status()["seconds"]
    assert isinstance(seconds, float)
    assert seconds < 3000


def test_one_failure_is_told_once_on_the_way_and_once_at_the_end(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "permanent", "message": "the moon is missing"}})

    ran = user.run()

    assert ran.code == 1
    assert ran.err.count("the moon is missing") == 1, ran.err
    assert ran.out.count("the moon is missing") == 1, ran.out


def test_an_agent_that_is_refused_again_and_again_is_asked_later_and_later_and_then_the_run_parks(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "quota", "message": "429 too many requests"}})

    ran = user.run()

    assert ran.code == 2, ran.text
    assert [word for word in ("waits for 2.0s", "waits for 4.0s", "waits for 8.0s") if word not in ran.err] == []
    assert ran.err.count("429 too many requests") == 4, ran.err  # each refusal is told once
    assert user.status()["state"] == "parked"
    assert user.step("step-1")["fixes"] == 0


def test_the_cost_of_a_replay_is_marked(user: User) -> None:
    (user.folder / "home" / "go").touch()
    recorded = user.run("--record", "told.yaml")
    user.git("checkout", "--", "plans")
    replayed = user.run("--new", agent="scripted:told.yaml")

    assert (recorded.code, replayed.code) == (0, 0), replayed.text
    assert "$0.25\n" in recorded.out
    assert "$0.25 (replayed)\n" in replayed.out


def journal(user: User) -> str:
    """The kinds of all events."""
    with sqlite3.connect(user.repo / ".git" / "drumline" / "state.db") as database:
        return " ".join(kind for (kind,) in database.execute("SELECT kind FROM events"))


def shift_clock(user: User, seconds: float) -> None:
    """Let everything that was recorded have happened earlier."""
    with sqlite3.connect(user.repo / ".git" / "drumline" / "state.db") as database:
        database.execute("UPDATE events SET at = at - ?", (seconds,))
