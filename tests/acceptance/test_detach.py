"""Runs that go on without their terminal, and runs that were left behind: detach, attach, wait, join, resume."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    User,
    leaving_nothing,
    make_user,
    processes_of,
    states_of,
    step_text,
    wait_for,
)
from tests.warm import Started

HOLD = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch $DRUMLINE_STEP.txt"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Two steps; the first waits until it is let go."""
    made = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
    made.play({"match": {"step": "step-1"}, "run": HOLD})
    with leaving_nothing(tmp_path):
        yield made
        let_go(made)


def let_go(user: User) -> None:
    """End what the holding agent waits for."""
    (user.folder / "home" / "go").touch()


def await_start(user: User) -> None:
    """Until the agent of step-1 is at work."""
    wait_for((user.folder / "home" / "started").exists, "the agent did not start")


def begin(user: User, *more: str) -> Started:
    """A run in the middle of its first step."""
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", *more)
    await_start(user)
    return process


# --- detached ---------------------------------------------------------------------------------------------------


def test_a_detached_run_goes_on_alone_and_wait_exits_as_it_did(user: User) -> None:
    detached = user.run("--detach")
    await_start(user)
    early = user.drumline("wait", "--timeout", "0.2")
    live = user.status()
    let_go(user)
    waited = user.drumline("wait")

    assert detached.code == 0
    assert detached.out.strip() == live["run"]
    assert live["state"] == "running"
    assert early.code == 1
    assert f"next: drumline wait {live['run']}, or to see it work: drumline attach {live['run']}" in early.err
    assert (waited.code, waited.out) == (0, "done\n")


def test_detach_in_json_names_the_run_and_its_process(user: User) -> None:
    detached = user.run("--detach", "--json")
    await_start(user)

    assert detached.json["run"] == user.status()["run"]
    assert detached.json["pid"] in processes_of(user.folder)
    let_go(user)
    user.drumline("wait")


def test_attach_follows_a_detached_run_to_its_end(user: User) -> None:
    user.run("--detach")
    await_start(user)
    attached = user.start("attach")
    let_go(user)

    out, err = attached.communicate()

    assert attached.returncode == 0
    assert "step 2 of 2 done" in err
    assert "2 of 2 steps landed" in out


def test_leaving_attach_does_not_stop_the_run(user: User) -> None:
    user.run("--detach")
    await_start(user)
    attached = user.start("attach")
    assert attached.stderr is not None
    attached.stderr.readline()

    attached.send_signal(signal.SIGINT)
    _, err = attached.communicate()

    assert "goes on" in err
    assert "Traceback" not in err
    assert user.status()["state"] == "running"
    let_go(user)
    assert user.drumline("wait").code == 0


def test_wait_exits_with_2_when_the_run_needs_a_person(user: User) -> None:
    user.run("--detach", "--autonomy", "verbose")
    let_go(user)

    waited = user.drumline("wait")

    assert (waited.code, waited.out) == (2, "parked\n")


# --- joining ----------------------------------------------------------------------------------------------------


def test_a_second_run_joins_a_live_one_on_the_same_terms(user: User) -> None:
    first = begin(user)
    second = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
    wait_for(lambda: str(user.status()["drivers"]).count("d-") == 2, "did not join")
    let_go(user)

    _, told = second.communicate()
    first.communicate()

    assert (first.returncode, second.returncode) == (0, 0)
    assert "joining run" in told
    assert user.git("log", "--format=%s", f"main..{user.branch()}").count("[step-") == 2


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (("--agent", "command:true"), "agent"),
        (("--autonomy", "verbose"), "autonomy"),
        (("--mode", "parallel"), "mode"),
        (("--step", "step-2"), "selection"),
        (("--context", "be quick"), "context"),
    ],
)
def test_a_second_run_on_other_terms_is_refused_naming_the_difference(
    user: User, typed: tuple[str, str], named: str
) -> None:
    first = begin(user, "--mode", "sequential")

    second = user.drumline("run", PLAN, *typed)
    let_go(user)
    first.communicate()

    assert second.code == 3
    assert f"{named} is" in second.err


# --- left behind ------------------------------------------------------------------------------------------------


@pytest.fixture
def heir(user: User) -> User:
    """Somebody who finds a run whose driver was killed in the middle of its first step."""
    process = begin(user)
    process.kill()
    process.communicate()
    wait_for(lambda: not processes_of(user.folder), "the agent outlived its driver")
    user.play()
    return user


def test_a_run_left_behind_is_not_picked_up_silently(heir: User) -> None:
    ran = heir.run()

    assert ran.code == 2
    assert f"drumline resume {heir.status()['run']}" in ran.err
    assert f"drumline run {PLAN} --new" in ran.err
    assert "interrupted" in ran.err
    assert " ago" in ran.err
    assert heir.status()["state"] == "interrupted"


def test_resume_takes_up_a_run_that_was_left_behind(heir: User) -> None:
    resumed = heir.drumline("resume")

    assert resumed.code == 0
    assert "cut short" in resumed.err
    assert states_of(heir.status()) == {"step-1": "done", "step-2": "done"}
    assert heir.step("step-1")["attempts"] == 1


def test_a_new_run_starts_fresh_and_takes_the_dead_ones_steps(heir: User) -> None:
    claimed = heir.file("step-1")

    ran = heir.run("--new")

    assert "status: claimed" in claimed
    assert ran.code == 0
    assert len(heir.drumline("runs").out.splitlines()) == 3


def test_why_says_that_nobody_drives_a_run_left_behind(heir: User) -> None:
    told = heir.drumline("why", "step-1")

    assert "no driver is running" in told.out
    assert "next: drumline resume" in told.err


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))


def test_a_parked_run_is_not_picked_up_silently(plain: User) -> None:
    plain.run("--autonomy", "verbose")

    ran = plain.run("--autonomy", "verbose")

    assert ran.code == 2
    assert "parked" in ran.err
    assert "drumline resume" in ran.err


def test_a_blocked_run_is_not_picked_up_silently(plain: User) -> None:
    plain.play({"match": {"step": "step-1"}, "say": "no idea"})
    plain.run("--retries", "0")

    ran = plain.run()
    fresh = plain.run("--new", "--retries", "0")

    assert (ran.code, fresh.code) == (2, 2)
    assert "blocked" in ran.err
    assert "--new" in ran.err


def test_what_an_earlier_run_landed_must_be_merged_first(plain: User) -> None:
    plain.run("--step", "step-1")
    refused = plain.run()
    branch = plain.branch()
    plain.git("merge", "-q", branch)

    ran = plain.run()

    assert refused.code == 2
    assert "next: drumline merge " in refused.err
    assert ran.code == 0
    assert plain.step("step-1")["declared"] is True
    assert plain.landed("step-2.txt") == "2"


def test_the_first_interrupt_stops_cleanly_and_the_run_can_be_resumed(user: User) -> None:
    process = begin(user)

    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    let_go(user)
    resumed = user.drumline("resume")

    assert process.returncode == 130
    assert "Traceback" not in err
    assert resumed.code == 0
