"""Running a plan: what lands, what goes back to the agent, and how failures end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    User,
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


# --- what lands -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_a_run_lands_every_step_once_with_its_trailers_and_leaves_the_checkout_alone(user: User, mode: str) -> None:
    head = user.git("rev-parse", "HEAD")

    ran = user.run("--mode", mode)

    status = user.status()
    assert ran.code == 0
    assert set(states_of(status).values()) == {"done"}
    branch = str(status["branch"])
    trailers = user.git("log", "--format=%(trailers:key=Drumline-Step,valueonly,separator=%x2C)", f"main..{branch}")
    assert sorted(trailers.split()) == ["step-1", "step-2", "step-3"]
    assert str(status["run"]) in user.git("log", "-1", "--format=%(trailers:key=Drumline-Run)", branch)
    assert user.git("ls-tree", "--name-only", branch, "step-1.txt", "step-2.txt", "step-3.txt").count("\n") == 2
    assert user.git("rev-parse", "HEAD") == head
    assert not (user.repo / "step-1.txt").exists()


def test_sequential_mode_follows_the_plan_one_by_one(user: User) -> None:
    user.run("--mode", "sequential", "--jobs", "4")

    subjects = user.git("log", "--reverse", "--format=%s", f"main..{user.branch()}").splitlines()
    assert subjects == ["[step-1] Make step-1", "[step-2] Make step-2", "[step-3] Make step-3"]


def test_parallel_mode_works_on_independent_steps_at_the_same_time(user: User) -> None:
    meet = "touch $HOME/$DRUMLINE_STEP; for i in $(seq 1200); do [ -e $HOME/{} ] && exit 0; sleep 0.05; done; exit 1"
    user.play(
        {"match": {"step": "step-1"}, "run": meet.format("step-3"), "write": {"step-1.txt": "1\n"}},
        {"match": {"step": "step-3"}, "run": meet.format("step-1"), "write": {"step-3.txt": "3\n"}},
    )

    ran = user.run("--mode", "parallel", "--jobs", "2")

    assert ran.code == 0


def test_one_job_is_one_step_at_a_time_even_in_parallel_mode(user: User) -> None:
    alone = "mkdir $HOME/busy && sleep 0.2 && rmdir $HOME/busy"
    write_files(user, {".drumline/config.toml": '[agents.command]\nfolders = ["~"]\n'})

    ran = user.run("--mode", "parallel", "--jobs", "1", agent=f"command:{alone} && touch $DRUMLINE_STEP.txt")

    assert ran.code == 0


def test_a_command_agent_gets_its_prompt_on_stdin_and_in_a_file(user: User) -> None:
    command = 'command:cat > $DRUMLINE_STEP.txt && diff $DRUMLINE_STEP.txt "$DRUMLINE_PROMPT_FILE" && echo all well'

    ran = user.run(agent=command)

    assert ran.code == 0
    assert "Write the file of step-2." in user.landed("step-2.txt")
    assert "all well" in user.drumline("logs", "step-2").out


def test_a_check_from_the_configuration_judges_every_step(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text('checks = ["test ! -f step-3.txt"]\nretries = 0\n', encoding="utf-8")

    ran = user.run()

    assert ran.code == 2
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done", "step-3": "blocked"}


@pytest.mark.parametrize("given", ["text", "file"])
def test_context_reaches_every_prompt(user: User, given: str) -> None:
    (user.repo / "context.md").write_text("Mind the gap.\n", encoding="utf-8")

    ran = user.run("--context", "Mind the gap." if given == "text" else "@context.md")

    assert ran.code == 0
    for step in ("step-1", "step-2", "step-3"):
        assert "Mind the gap." in user.prompt(step)


def test_a_step_knows_its_plan_its_place_in_it_and_what_the_step_before_left(user: User) -> None:
    root = "---\nplan_type: dag\nstatus: in-progress\n---\n# A small plan\n\n## Overview\n\nThree files.\n"
    write_files(user, {f"{PLAN}/root.md": root})
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "say": "The file is called step-1.txt."})

    ran = user.run()

    told = user.prompt("step-2")
    assert ran.code == 0, ran.text
    assert "Agent: scripted\nPhase: step-2/3\nBatch: single\n" in told
    assert "Progress: Phase 2 of 3: " in told
    assert "## The plan in its own words\n\n#### Overview\n\nThree files.\n" in told
    assert re.search(r"### step-1: .*\n\nLanded as [0-9a-f]{12}\. It changed `step-1\.txt`\.\n\nIts agent rep", told)
    assert "The file is called step-1.txt." in told
    first = user.prompt("step-1")
    assert "Its agent reported" not in first
    assert "- Do the work of other steps: step-2 (" in first


# --- failures ---------------------------------------------------------------------------------------------------


def test_a_failing_check_goes_back_with_its_output_until_it_passes(user: User) -> None:
    user.edit("step-1", "`test -f step-1.txt`", "`echo so-it-says; grep right step-1.txt`")
    user.play(
        {"match": {"step": "step-1", "attempt": 3}, "write": {"step-1.txt": "right\n"}},
        {"match": {"step": "step-1"}, "write": {"step-1.txt": "wrong\n"}},
    )

    ran = user.run()

    assert ran.code == 0
    assert "fix 1 of 2" in ran.err
    assert "fix 2 of 2" in ran.err
    assert "failed this check" not in user.prompt("step-1", 1)
    assert "so-it-says\n" in user.prompt("step-1", 2)
    assert user.step("step-1")["attempts"] == 3
    assert user.landed("step-1.txt") == "right"


def test_after_two_fixes_the_step_is_blocked_and_the_rest_goes_on(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})

    ran = user.run()

    status = user.status()
    assert ran.code == 2
    assert status["state"] == "blocked"
    assert states_of(status) == {"step-1": "blocked", "step-2": "waiting", "step-3": "done"}
    assert user.step("step-1")["attempts"] == 3
    assert "still failing after 2 fixes" in user.drumline("why", "step-1").out
    assert "step-1" in user.drumline("why", "step-2").out
    assert "status: blocked\n" in user.file("step-1")
    assert "test -f step-1.txt" in user.file("step-1").partition("---\n# ")[0]
    assert "status: ready\n" in user.file("step-2")


def test_a_blocked_run_is_continued_by_retry(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")
    user.play()

    retried = user.drumline("retry", "step-1", "--resume")

    assert retried.code == 0
    assert set(states_of(user.status()).values()) == {"done"}
    assert "status: done\n" in user.file("step-1")


def test_retry_without_resume_waits_for_resume(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")
    user.play()

    retried = user.drumline("retry", "step-1")
    resumed = user.drumline("resume")

    assert (retried.code, resumed.code) == (0, 0)
    assert "next: drumline resume" in retried.err


def test_resume_may_name_the_step_to_retry(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")
    user.play()

    assert user.drumline("resume").code == 2
    assert user.drumline("resume", "--step", "step-1").code == 0


def test_skip_needs_a_reason_and_lets_dependents_go_on(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "say": "I think it is done"})
    user.run("--retries", "0")

    without = user.drumline("skip", "step-1")
    skipped = user.drumline("skip", "step-1", "--reason", "not needed: yet", "--resume")

    assert (without.code, skipped.code) == (3, 0)
    assert states_of(user.status()) == {"step-1": "skipped", "step-2": "done", "step-3": "done"}
    assert "not needed: yet" in user.drumline("why", "step-1").out
    assert "status: skipped\n" in user.file("step-1")


def test_what_passes_by_itself_is_waited_for_and_uses_up_no_fix(user: User) -> None:
    user.play(
        {"match": {"step": "step-1", "attempt": 1}, "fail": {"class": "transient", "message": "429 slow down"}},
        {"match": {"step": "step-1", "attempt": 2}, "say": "forgot the file"},
    )

    ran = user.run("--retries", "1")

    assert ran.code == 0
    assert "attempt 2 in 2" in ran.err
    assert "fix 1 of 1" in ran.err
    assert user.step("step-1")["attempts"] == 3


def test_while_a_step_waits_why_names_the_timer(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "transient", "message": "429 slow down"}})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")

    wait_for(
        lambda: user.drumline("why", "step-1", "--json").out.find('"kind":"timer"') > 0 or process.poll() is not None,
        "no timer was named",
    )
    told = user.drumline("why", "step-1")
    process.communicate()

    assert "waits before the next try" in told.out
    assert process.returncode == 2
    assert "3 times in a row: 429 slow down" in user.drumline("why", "step-1").out


def test_what_cannot_be_helped_fails_the_step_and_the_run(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "permanent", "message": "no such model"}})

    ran = user.run()

    assert ran.code == 1
    assert user.status()["state"] == "failed"
    assert "no such model" in user.drumline("why", "step-1").out
    assert "status: failed\n" in user.file("step-1")
    assert states_of(user.status())["step-3"] == "done"


def test_an_agent_that_is_not_logged_in_blocks_the_step(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "fail": {"class": "auth", "message": "401"}})

    ran = user.run()

    assert ran.code == 2
    assert "not logged in: 401" in user.drumline("why", "step-1").out


def test_a_command_that_does_not_exist_fails_clearly(user: User) -> None:
    ran = user.run("--step", "step-1", agent="command:no-such-agent --now")

    assert ran.code == 1
    assert "no-such-agent" in ran.text
    assert "not found" in user.drumline("why", "step-1").out
    assert user.step("step-1")["attempts"] == 1


def test_a_check_whose_program_is_missing_is_not_passed(user: User) -> None:
    user.edit("step-1", "`test -f step-1.txt`", "`no-such-linter .`")

    ran = user.run("--step", "step-1", "--retries", "0")

    assert ran.code == 2
    assert user.step("step-1")["proved"] is False
