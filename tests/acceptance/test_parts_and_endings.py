"""Parts of a plan, their reports, and the ends a run can come to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    User,
    gates_of,
    leaving_nothing,
    make_user,
    states_of,
    step_text,
    wait_for,
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]), step_text("step-3"))


# --- parts of a plan --------------------------------------------------------------------------------------------


def test_a_single_step_ends_with_a_report(user: User) -> None:
    user.edit("step-3", "it holds: `test -f step-3.txt`\n", "it holds: `test -f step-3.txt`\n- [ ] also: `true`\n")

    ran = user.run("--step", "step-3")

    assert ran.code == 0
    for found in ("step-3", "done", "step-3.txt", "2/2", "1"):
        assert found in ran.out
    assert states_of(user.status()) == {"step-1": "waiting", "step-2": "waiting", "step-3": "done"}


def test_a_single_steps_report_is_also_json(user: User) -> None:
    ran = user.run("--step", "step-3", "--json")

    report = next(line for line in ran.lines if line.get("event") == "report")
    assert report["step"] == "step-3"
    assert report["result"] == "done"
    assert report["files"] == ["step-3.txt"]
    assert report["checks"] == {"passed": 1, "total": 1}
    assert report["manual"] == []
    assert report["attempts"] == 1


def test_step_next_takes_the_first_that_is_pending(user: User) -> None:
    user.edit("step-1", "status: ready", "status: done")

    ran = user.run("--step", "next")

    assert ran.code == 0
    assert states_of(user.status())["step-2"] == "done"
    assert states_of(user.status())["step-3"] != "done"


def test_step_next_prefers_a_step_left_in_progress(user: User) -> None:
    user.edit("step-3", "status: ready", "status: claimed\nassignee: gone\nclaimed_at: 2020-01-01T00:00:00Z")

    ran = user.run("--step", "next")

    assert ran.code == 0
    assert states_of(user.status())["step-3"] == "done"
    assert states_of(user.status())["step-1"] != "done"


def test_step_next_says_when_nothing_is_left(user: User) -> None:
    for step in ("step-1", "step-2", "step-3"):
        user.edit(step, "status: ready", "status: done")

    ran = user.run("--step", "next")

    assert ran.code == 3
    assert "no step is left" in ran.err


def test_only_and_from_choose_steps(user: User) -> None:
    only = user.run("--only", "step-3,step-1")
    chosen = states_of(user.status())
    rest = user.run("--from", "step-2", "--new")

    assert (only.code, rest.code) == (0, 0)
    assert chosen == {"step-1": "done", "step-2": "waiting", "step-3": "done"}
    assert states_of(user.status())["step-2"] == "done"
    assert "not part of this run" in user.drumline("why", "step-2", "--run", str(_older(user))).out


def test_a_fresh_run_names_what_counts_as_done_and_is_on_a_branch_that_was_not_merged(user: User) -> None:
    first = user.run("--only", "step-1")
    fresh = user.run("--new")

    assert first.code == 0, first.text
    assert "which this checkout does not contain" not in first.err
    assert "the plan calls step-1 done; that work is on drumline/" in fresh.err
    assert "which this checkout does not contain" in fresh.err


def test_unmet_needs_of_a_named_step_are_asked_about_and_yes_goes_on(user: User) -> None:
    ran = user.run("--step", "step-2")

    assert ran.code == 2
    assert gates_of(user.status()) == ["proceed-step-2"]
    assert "step-2 needs step-1" in ran.text
    answered = user.drumline("answer", "proceed-step-2", "yes", "--resume")
    assert answered.code == 0
    assert states_of(user.status())["step-2"] == "done"


def test_unmet_needs_of_a_named_step_and_no_blocks_it(user: User) -> None:
    user.run("--step", "step-2")

    answered = user.drumline("answer", "proceed-step-2", "no", "--resume")

    assert answered.code == 2
    assert states_of(user.status())["step-2"] == "blocked"
    assert "said not to proceed" in user.drumline("why", "step-2").out


# --- the end of a run -------------------------------------------------------------------------------------------


def test_cancel_stops_a_parked_run_until_it_is_resumed(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    cancelled = user.drumline("cancel", "--reason", "changed my mind")

    assert cancelled.code == 0
    assert user.status()["state"] == "cancelled"
    assert "changed my mind" in str(user.status()["reason"])
    assert "status: ready\n" in user.file("step-3")
    assert user.drumline("cancel").code == 3
    assert user.drumline("answer", "approve-step-3", "approve").code == 3
    assert user.drumline("resume").code == 2
    assert user.status()["state"] == "parked"


def test_cancel_stops_a_live_run_and_its_agent(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "sleep": 600})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")
    wait_for(lambda: "status: claimed" in user.file("step-1"), "never claimed")

    cancelled = user.drumline("cancel", "--reason", "changed my mind")
    process.communicate()

    assert cancelled.code == 0
    assert process.returncode == 1
    assert user.status()["state"] == "cancelled"
    assert "status: ready\n" in user.file("step-1")


def test_pause_lets_the_agent_end_and_resume_goes_on_from_there(user: User) -> None:
    home = user.folder / "home"
    hold = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch step-1.txt"
    user.play({"match": {"step": "step-1"}, "run": hold})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")
    wait_for((home / "started").exists, "the agent did not start")

    paused = user.drumline("pause", "--reason", "lunch")
    wait_for(lambda: user.drumline("pause").code == 3, "the driver did not hear it")
    again = user.drumline("pause")
    why = user.drumline("why")
    (home / "go").touch()
    said = process.communicate()[1]
    status = user.status()
    idle = user.drumline("pause")
    resumed = user.drumline("resume")

    assert (paused.code, again.code, idle.code) == (0, 3, 3)
    assert "drumline resume" in idle.err
    assert why.code == 0
    assert (process.returncode, status["state"]) == (2, "parked"), said
    assert "lunch" in str(status["reason"])
    assert resumed.code == 0, resumed.text
    assert status["steps"][0]["attempts"] == user.status()["steps"][0]["attempts"] == 1  # type: ignore[index]


def test_runs_lists_the_newest_first_and_a_run_may_be_named_by_its_end(user: User) -> None:
    user.run("--step", "step-1")
    first = user.status()["run"]
    user.run("--step", "step-3", "--new")
    second = user.status()["run"]

    listed = user.drumline("runs", "--json").json["runs"]
    assert isinstance(listed, list)
    names = [str(run["run"]) for run in listed]
    shown = user.drumline("status", names[1][-3:], "--json").json

    assert names == [second, first]
    assert shown["run"] == first


def test_logs_show_what_agent_and_check_said(user: User) -> None:
    user.edit("step-1", "`test -f step-1.txt`", "`echo checked-it`")
    user.play({"match": {"step": "step-1"}, "say": "hello from the agent"})
    user.run("--step", "step-1")

    shown = user.drumline("logs", "step-1")
    listed = user.drumline("logs", "step-1", "--json").json["logs"]

    assert "hello from the agent" in shown.out
    assert "checked-it" in shown.out
    assert "# Task" not in shown.out
    assert isinstance(listed, list)
    assert len(listed) == 2


def test_a_done_step_is_neither_retried_nor_skipped(user: User) -> None:
    user.run("--step", "step-1", "--autonomy", "autopilot")

    assert user.drumline("retry", "step-1").code == 3
    assert user.drumline("skip", "step-1", "--reason", "x").code == 3
    assert user.drumline("why", "step-9").code == 3


def _older(user: User) -> object:
    listed = user.drumline("runs", "--json").json["runs"]
    assert isinstance(listed, list)
    return listed[-1]["run"]


@pytest.mark.parametrize(
    ("typed", "named"), [(("--step", "step-9"), "no step 'step-9'"), (("--agent", "wizard:x"), "'wizard")]
)
def test_what_is_typed_wrong_is_told_before_what_has_to_be_merged(
    user: User, typed: tuple[str, str], named: str
) -> None:
    assert user.run("--only", "step-1").code == 0

    ran = user.drumline("run", PLAN, *typed)

    assert ran.code == 3
    assert named in ran.err
